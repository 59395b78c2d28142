"""Training loop and losses of CMI-RM (CMI-RewardBench, §3.3.2): pairs that a model judged, then people's votes.

The best weights of the second stage are those with the lowest loss on dev, which is cross-entropy for pairs; the paper
stops by "validation performance". On the few pairs of a small study accuracy moves in large steps. The learning rate
rises and then falls along a cosine, anew in each stage; the paper does not tell its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from scoring.metrics.batching import group_by_length
from scoring.metrics.cmi_rm.inputs import collate
from scoring.metrics.cmi_rm.model import CmiRm
from scoring.training.checkpointing import CheckpointStore, TrainingState
from scoring.training.cmi_rm.examples import EncodedExample
from scoring.training.contract import TrainingError, TrainingObserver

# ── losses (CMI-RewardBench, §3.3.2 and Appendix C.1) ──
# Heads are columns, in the order of HEADS. Every vote weighs the same, and so does every rating: a pair with three
# votes adds three times its mean loss.


def preference_losses(leads: Tensor, shares: Tensor, *, smoothing: float = 0.0) -> Tensor:
    """Bradley and Terry's cross-entropy (equation 5) of each pair and head, (n, heads).

    leads: the first sound's score less the second's, their log-odds that the first is preferred. shares: of the votes,
    those for the first; ties are none. `smoothing` makes 0.9 and 0.1 of 1 and 0 where it is 0.2.
    """
    return binary_cross_entropy_with_logits(leads, (1 - smoothing) * shares + smoothing / 2, reduction="none")


class RatingScale(nn.Module):
    """From unbounded scores to ratings from 1 to 5 and their squared error (equation 6). Both numbers are learned, and
    dropped when the model is used."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Parameter(torch.tensor(0.2))
        self.b = nn.Parameter(torch.tensor(0.0))

    def forward(self, scores: Tensor) -> Tensor:
        return 2 * torch.tanh(self.a * scores + self.b) + 3

    def losses(self, scores: Tensor, ratings: Tensor) -> Tensor:
        """Of each clip and head, (n, heads)."""
        found: Tensor = self(scores) - ratings
        return found.square()


def total_loss(losses: Tensor, weights: Tensor) -> Tensor:
    """Half of each head's weighted mean (equation 4). losses, weights: (n, heads), of pairs and clips together; what
    nobody was asked about weighs nothing, and a head that nobody was asked about at all adds nothing."""
    sums, weight = (losses * weights).sum(dim=0), weights.sum(dim=0)
    return (sums / weight.clamp(min=1e-9)).mean()


_CLIP = 1.0
_WARMUP_SHARE = 0.1
# Tokens through the model in one pass, padding included. A batch of more takes several, with the same gradient.
_TOKENS_PER_PASS = 65_536
_REPORTS = 200


@dataclass(frozen=True)
class Settings:
    """`first_steps` of the first stage come before `steps` of the second."""

    learning_rate: float
    weight_decay: float
    dropout: float
    batch: int
    first_steps: int
    steps: int
    smoothing: float
    validate_every: int
    patience: int


@dataclass(frozen=True)
class DevFigures:
    """On dev. `accuracy`: over both heads, how often the score prefers the side with more votes; None where no pair is
    decided."""

    loss: float
    accuracy: float | None


@dataclass
class Progress:
    """Where a training stands after `step` steps of both stages. `looks` at dev went by since the best one."""

    step: int = 0
    looks: int = 0
    best_step: int = 0
    best_loss: float = math.inf


class TrainingLoop:
    """`started` says that the weights come from a training: then they may be the best there are."""

    def __init__(
        self,
        model: CmiRm,
        *,
        first: Sequence[EncodedExample],
        train: Sequence[EncodedExample],
        dev: Sequence[EncodedExample],
        settings: Settings,
        seed: int,
        started: bool,
        keeping: CheckpointStore,
        watch: TrainingObserver,
    ) -> None:
        self._model, self._scale = model, RatingScale().to(_device(model))
        self._first, self._train, self._dev = first, train, dev
        self._settings, self._seed, self._started = settings, seed, started
        self._keeping, self._watch = keeping, watch
        self._module = nn.ModuleDict({"model": self._model, "scale": self._scale})
        self._optimizer = torch.optim.AdamW(
            self._module.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
        )
        self._begins = settings.first_steps if first else 0
        self._ends = self._begins + settings.steps

    def run(self) -> Progress:
        """Train, and leave the model with the best weights."""
        at = self._taken_up()
        losses: list[float] = []
        while at.step < self._ends and (at.step <= self._begins or at.looks < self._settings.patience):
            losses.append(self._learn(at.step))
            at.step += 1
            if at.step % max(1, self._ends // _REPORTS) == 0:
                self._watch.progress(at.step, self._ends, stage=self._stage(at.step - 1))
            if self._is_look(at.step):
                self._look(at, train_loss=float(np.mean(losses)))
                losses = []
        self._keeping.put_best(self._module)
        return at

    def figures(self) -> DevFigures:
        """Of the model as it is, on dev."""
        leads, losses, weights, decided = [], [], [], []
        self._model.eval()
        with torch.inference_mode():
            for units in self._passes(self._dev):
                lead, loss, weight = self._losses(units, smoothing=0.0)
                losses.append(loss)
                weights.append(weight)
                pairs = torch.tensor([unit.is_pair for unit in units])
                decided.append(_decided_side(units)[pairs])
                leads.append(lead.cpu()[pairs])
        self._model.train()
        side, lead = torch.cat(decided), torch.cat(leads)
        right = ((1 + lead.sign() * side) / 2)[side != 0]
        return DevFigures(
            loss=float(total_loss(torch.cat(losses), torch.cat(weights))),
            accuracy=float(right.mean()) if len(right) else None,
        )

    def _taken_up(self) -> Progress:
        self._model.train()
        found = self._keeping.put(self._module, self._optimizer)
        if found is not None:
            at = Progress(**found)
            self._watch.taken_up(at.step)
            return at
        at = Progress()
        if self._started and not self._begins:
            at.best_loss = self.figures().loss
        self._keeping.keep_best(self._module)
        return at

    def _learn(self, step: int) -> float:
        """One step of optimisation; the loss before it."""
        is_first = step < self._begins
        if step == self._begins:
            # The second stage is a training of its own: what the optimizer gathered is of the other labels.
            self._optimizer.state.clear()
        self._optimizer.param_groups[0]["lr"] = self._settings.learning_rate * self._share(step)
        units = self._first if is_first else self._train
        batch = [units[place] for place in self._drawn(len(units), step if is_first else step - self._begins)]
        whole = torch.stack([unit.weight for unit in batch]).sum(dim=0).to(_device(self._model))
        self._optimizer.zero_grad()
        found = 0.0
        for part in self._passes(batch):
            _, losses, weights = self._losses(
                part, smoothing=self._settings.smoothing if is_first else 0.0, dropout=self._settings.dropout
            )
            loss = ((losses * weights).sum(dim=0) / whole.clamp(min=1e-9)).mean()
            loss.backward()  # type: ignore[no-untyped-call]
            found += float(loss.detach())
        torch.nn.utils.clip_grad_norm_(self._module.parameters(), _CLIP)
        self._optimizer.step()
        return found

    def _losses(
        self, units: Sequence[EncodedExample], *, smoothing: float, dropout: float = 0.0
    ) -> tuple[Tensor, Tensor, Tensor]:
        """(n, heads) each: the lead of the first sound, or the score of the only one; its loss; the loss's weight."""
        device = _device(self._model)
        batch = collate(
            [unit.prompt for unit in units for _ in unit.sounds],
            [sound for unit in units for sound in unit.sounds],
        )
        if dropout:
            batch = batch._replace(
                prompt_tokens=nn.functional.dropout(batch.prompt_tokens, dropout),
                eval_tokens=nn.functional.dropout(batch.eval_tokens, dropout),
            )
        scores = iter(torch.split(self._model(*batch.to(device)), [len(unit.sounds) for unit in units]))
        leads = torch.stack([one[0] - one[1] if len(one) == 2 else one[0] for one in scores])
        targets = torch.stack([unit.target for unit in units]).to(device)
        weights = torch.stack([unit.weight for unit in units]).to(device)
        is_pair = torch.tensor([[unit.is_pair] for unit in units], device=device)
        preferred = preference_losses(leads, targets.clamp(max=1.0), smoothing=smoothing)
        return leads, torch.where(is_pair, preferred, self._scale.losses(leads, targets)), weights

    def _look(self, at: Progress, *, train_loss: float) -> None:
        found = self.figures()
        if not (math.isfinite(train_loss) and math.isfinite(found.loss)):
            raise TrainingError(
                "diverged",
                f"The loss is no number after {at.step} steps. Train with a smaller learning_rate than "
                f"{self._settings.learning_rate:g}.",
            )
        at.looks += 1
        # At the end of the first stage the second begins: what it finds on its way is what counts.
        if at.step <= self._begins or found.loss < at.best_loss:
            at.looks, at.best_step, at.best_loss = 0, at.step, found.loss
            self._keeping.keep_best(self._module)
        self._keeping.keep(TrainingState(asdict(at), self._module, self._optimizer))
        self._watch.point("train loss", at.step, train_loss)
        self._watch.point("dev loss", at.step, found.loss)
        if found.accuracy is not None:
            self._watch.point("dev accuracy", at.step, found.accuracy)

    def _is_look(self, step: int) -> bool:
        return step % self._settings.validate_every == 0 or step in (self._begins, self._ends)

    def _stage(self, step: int) -> str:
        return "pairs judged by a model" if step < self._begins else "training"

    def _share(self, step: int) -> float:
        """Of the learning rate: up in a tenth of the stage's steps, then down to nothing."""
        done, of = (
            (step, self._begins) if step < self._begins else (step - self._begins, self._settings.steps)
        )
        warmup = max(1, round(of * _WARMUP_SHARE))
        return min(1.0, (done + 1) / warmup) * (1 + math.cos(math.pi * done / of)) / 2

    def _drawn(self, n: int, step: int) -> list[int]:
        """The places of a step's batch: every unit once before any comes again. Known from the step alone."""
        size = min(self._settings.batch, n)
        begin, end = step * size, (step + 1) * size
        epochs = range(begin // n, (end - 1) // n + 1)
        orders = [np.random.default_rng([self._seed, n, epoch]).permutation(n) for epoch in epochs]
        found: list[int] = np.concatenate(orders)[begin % n :][:size].tolist()
        return found

    def _passes(self, units: Sequence[EncodedExample]) -> Iterator[list[EncodedExample]]:
        """In groups of even length that fit through the model at once."""
        for members in group_by_length([unit.size for unit in units], n_tokens=_TOKENS_PER_PASS):
            yield [units[place] for place in members]


def _decided_side(units: Sequence[EncodedExample]) -> Tensor:
    """(n, heads): 1 where more votes are for the first sound, -1 for the second, 0 for neither."""
    target, weight = (torch.stack([getattr(unit, name) for unit in units]) for name in ("target", "weight"))
    return torch.where(weight > 0, (target - 0.5).sign(), 0.0)


def _device(model: nn.Module) -> torch.device:
    return next(model.parameters()).device
