"""Maximum likelihood over individual ratings (ORCA §4.2), the best weights by Spearman on the development part."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import stats

from scoring.backbones.encoders.contract import AnswerEncoder, on_device
from scoring.metrics.orca.heads import RatingHead, RatingPrediction
from scoring.metrics.orca.scorer import predict
from scoring.training.checkpointing import CheckpointStore, TrainingState
from scoring.training.contract import TrainingError, TrainingObserver

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
class Progress:
    """Where a training stands after `step` steps. `looks` at the development part went by since the best one."""

    step: int = 0
    looks: int = 0
    best_step: int = 0
    best_spearman: float | None = None
    best_loss: float = math.inf

    def is_better(self, spearman: float | None, loss: float) -> bool:
        """By Spearman; where it is the same, or undefined, by the likelihood."""
        return (_known(spearman), -loss) > (_known(self.best_spearman), -self.best_loss)


class TrainingLoop:
    """`half` computes in bfloat16 where that is precise enough, with weights as they are."""

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
        keeping: CheckpointStore,
        watch: TrainingObserver,
    ) -> None:
        self._encoder, self._head = encoder, head
        self._train, self._dev = train, dev
        self._settings, self._seed = settings, seed
        self._device = head.linear.weight.device
        self._half, self._keeping, self._watch = half, keeping, watch
        self._targets = train.targets.to(self._device)
        self._sizes = np.array([encoder.size(part) for part in train.prepared])
        self._module = torch.nn.ModuleDict({"encoder": encoder, "head": head})
        self._learning = [weight for weight in self._module.parameters() if weight.requires_grad]
        self._optimizer = torch.optim.AdamW(
            self._learning, lr=settings.learning_rate, weight_decay=settings.weight_decay, fused=True
        )

    def run(self) -> Progress:
        """Train, and leave encoder and head with the best weights."""
        at = self._taken_up()
        loss, ratings = torch.zeros((), device=self._device), 0
        self._module.train()
        for batch in self._batches(at.step) if at.looks < self._settings.patience else ():
            loss += self._learn(at.step, batch)
            ratings += int(self._train.numbers[batch].sum())
            at.step += 1
            if at.step % max(1, self._settings.steps // 200) == 0:
                self._watch.progress(at.step, self._settings.steps, stage="training")
            if at.step % self._settings.validate_every and at.step < self._settings.steps:
                continue
            self._look(at, train_loss=loss.item() / ratings)
            if at.looks >= self._settings.patience:
                break
            loss, ratings = torch.zeros((), device=self._device), 0
        self._keeping.put_best(self._module)
        return at

    def foretold(self) -> RatingPrediction:
        """Of the development part."""
        return self._head.foretell(self._read())

    def _learn(self, step: int, batch: Sequence[int]) -> torch.Tensor:
        self._optimizer.param_groups[0]["lr"] = self._settings.learning_rate * learning_rate_share(
            step, self._settings
        )
        inputs = self._encoder.collate([self._train.prepared[place] for place in batch])
        with self._autocast():
            vectors = self._encoder(on_device(inputs, self._device))
        loss = self._head.negative_log_likelihood(self._head(vectors), self._targets[batch]).sum()
        self._optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self._learning, _CLIP)
        self._optimizer.step()
        return loss.detach()

    def _look(self, at: Progress, *, train_loss: float) -> None:
        raw = self._read()
        loss = (
            float(self._head.negative_log_likelihood(raw, self._dev.targets).sum()) / self._dev.numbers.sum()
        )
        if not (math.isfinite(train_loss) and math.isfinite(loss)):
            raise TrainingError(
                "diverged",
                f"The loss is no number after {at.step} steps. Train with a smaller learning_rate than "
                f"{self._settings.learning_rate:g}, or a longer warmup than {self._settings.warmup}.",
            )
        spearman = rank_correlation(np.asarray(self._head.foretell(raw).mean), self._dev.people)
        at.looks += 1
        if at.is_better(spearman, loss):
            at.looks, at.best_step, at.best_spearman, at.best_loss = 0, at.step, spearman, float(loss)
            self._keeping.keep_best(self._module)
        self._keeping.keep(TrainingState(asdict(at), self._module, self._optimizer))
        self._watch.point("train loss", at.step, train_loss)
        self._watch.point("dev loss", at.step, float(loss))
        if spearman is not None:
            self._watch.point("dev spearman", at.step, spearman)
        self._module.train()

    def _read(self) -> torch.Tensor:
        with self._autocast():
            return predict(self._encoder, self._head, self._dev.prepared, device=self._device)

    def _taken_up(self) -> Progress:
        kept = self._keeping.put(self._module, self._optimizer)
        if kept is None:
            return Progress()
        at = Progress(**kept)
        self._watch.taken_up(at.step)
        return at

    def _batches(self, step: int) -> Iterator[list[int]]:
        """From this step on, until there are no more steps. The order is a function of the seed and the epoch alone."""
        epoch = -1
        batches: list[list[int]] = []
        while step < self._settings.steps:
            per_epoch = _number_of_batches(len(self._sizes), self._settings.batch)
            if epoch != step // per_epoch:
                epoch = step // per_epoch
                batches = shuffled_batches(self._sizes, self._settings.batch, seed=self._seed, epoch=epoch)
            yield batches[step % per_epoch]
            step += 1

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
    """Of the learning rate: rising from the first step over the warm-up, then falling in a line to a hundredth."""
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
