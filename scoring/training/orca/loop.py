"""Maximum likelihood over individual ratings (ORCA §4.2), the best weights by Spearman on the development part."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import stats

from scoring.backbones.encoders.contract import AnswerEncoder, on_device
from scoring.metrics.orca.heads import RatingHead, RatingPrediction
from scoring.metrics.orca.scorer import predict
from scoring.training.checkpointing import CheckpointStore
from scoring.training.contract import TrainingObserver
from scoring.training.loop import EarlyStoppingLoop, Progress

# As in the released code: the norm of the gradient of a batch's sum, and where the learning rate ends.
_CLIP, _LEAST = 5.0, 0.01
# Batches of even length are formed within so many batches drawn at random.
_POOL = 50


@dataclass(frozen=True)
class Settings:
    learning_rate: float
    weight_decay: float
    steps: int
    batch: int
    warmup: int
    validate_every: int
    patience: int


@dataclass(frozen=True)
class EncodedPart:
    """Answers as the network is fed them. Of each one: its ratings as the head wants them (a row), how many they are,
    and their mean, from 0 to 1."""

    prepared: Sequence[Any]
    targets: torch.Tensor
    numbers: NDArray[np.int64]
    people: NDArray[np.float64]


@dataclass
class SpearmanProgress(Progress):
    """The best weights are those of the best Spearman; where it is the same, or undefined, of the best likelihood."""

    best_spearman: float | None = None

    def is_better(self, score: float | None, loss: float) -> bool:
        return (_known(score), -loss) > (_known(self.best_spearman), -self.best_loss)

    def record_best(self, score: float | None, loss: float) -> None:
        super().record_best(score, loss)
        self.best_spearman = score


class TrainingLoop(EarlyStoppingLoop[SpearmanProgress]):
    """`half` computes in bfloat16 where that is precise enough, with weights as they are."""

    progress, score_curve = SpearmanProgress, "dev spearman"

    def __init__(
        self,
        encoder: AnswerEncoder,
        head: RatingHead,
        *,
        train: EncodedPart,
        dev: EncodedPart,
        settings: Settings,
        seed: int,
        half: bool,
        store: CheckpointStore,
        observer: TrainingObserver,
    ) -> None:
        self._encoder, self._head = encoder, head
        self._train, self._dev = train, dev
        self._settings, self._seed = settings, seed
        self._device = head.linear.weight.device
        self._half = half
        self._targets = train.targets.to(self._device)
        self._sizes = np.array([encoder.size(part) for part in train.prepared])
        self._epoch, self._batches = -1, list[list[int]]()
        module = torch.nn.ModuleDict({"encoder": encoder, "head": head})
        self._trainable = [weight for weight in module.parameters() if weight.requires_grad]
        self.divergence_remedy = f", or a longer warmup than {settings.warmup}"
        super().__init__(
            module,
            torch.optim.AdamW(
                self._trainable, lr=settings.learning_rate, weight_decay=settings.weight_decay, fused=True
            ),
            steps=settings.steps,
            learning_rate=settings.learning_rate,
            validate_every=settings.validate_every,
            patience=settings.patience,
            store=store,
            observer=observer,
        )

    def predictions(self) -> RatingPrediction:
        """The predictions for the development part."""
        return self._head.predict_ratings(self._read())

    def optimize(self, step: int) -> tuple[torch.Tensor, int]:
        """The loss of a batch, still on the device, and the number of its ratings."""
        batch = self._batch(step)
        inputs = self._encoder.collate([self._train.prepared[place] for place in batch])
        with self._autocast():
            vectors = self._encoder(on_device(inputs, self._device))
        loss = self._head.negative_log_likelihood(self._head(vectors), self._targets[batch]).sum()
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self._trainable, _CLIP)
        self.optimizer.step()
        return loss.detach(), int(self._train.numbers[batch].sum())

    def train_loss(self, losses: Sequence[tuple[torch.Tensor, int]]) -> float:
        total = torch.zeros((), device=self._device)
        for loss, _ in losses:
            total += loss
        return total.item() / sum(n for _, n in losses)

    def validate(self) -> tuple[float | None, float]:
        raw = self._read()
        likelihood = self._head.negative_log_likelihood(raw, self._dev.targets).sum()
        loss = float(float(likelihood) / self._dev.numbers.sum())
        self.module.train()
        if not math.isfinite(loss):
            return None, loss
        return rank_correlation(np.asarray(self._head.predict_ratings(raw).mean), self._dev.people), loss

    def learning_rate_share(self, step: int) -> float:
        return learning_rate_share(step, self._settings)

    def _read(self) -> torch.Tensor:
        with self._autocast():
            return predict(self._encoder, self._head, self._dev.prepared, device=self._device)

    def _batch(self, step: int) -> list[int]:
        """The batch of a step. The order is a function of the seed and the epoch alone."""
        epoch, place = divmod(step, _number_of_batches(len(self._sizes), self._settings.batch))
        if epoch != self._epoch:
            self._epoch = epoch
            self._batches = shuffled_batches(self._sizes, self._settings.batch, seed=self._seed, epoch=epoch)
        return self._batches[place]

    def _autocast(self) -> torch.autocast:
        return torch.autocast(self._device.type, torch.bfloat16, enabled=self._half)


def shuffled_batches(sizes: NDArray[np.int64], batch: int, *, seed: int, epoch: int) -> list[list[int]]:
    """The batches of an epoch: each answer once, those of like size together, all in random order."""
    chance = np.random.default_rng([seed, epoch])
    order = chance.permutation(len(sizes))
    batches = []
    for start in range(0, len(order), batch * _POOL):
        pool = order[start : start + batch * _POOL]
        pool = pool[np.argsort(sizes[pool], kind="stable")]
        batches += [pool[first : first + batch].tolist() for first in range(0, len(pool), batch)]
    return [batches[place] for place in chance.permutation(len(batches))]


def _number_of_batches(answers: int, batch: int) -> int:
    whole, rest = divmod(answers, batch * _POOL)
    return whole * _POOL + -(-rest // batch)


def learning_rate_share(step: int, settings: Settings) -> float:
    """The share of the learning rate: rising from the first step over the warm-up, then falling in a line to a
    hundredth."""
    if step < settings.warmup:
        return (step + 1) / settings.warmup
    left = (settings.steps - step) / max(1, settings.steps - settings.warmup)
    return _LEAST + (1 - _LEAST) * left


def rank_correlation(means: NDArray[np.float64], people: NDArray[np.float64]) -> float | None:
    """Spearman's; None where one of the two does not vary."""
    if np.ptp(means) == 0 or np.ptp(people) == 0:
        return None
    return float(stats.spearmanr(means, people).statistic)


def _known(spearman: float | None) -> float:
    return -2.0 if spearman is None else spearman
