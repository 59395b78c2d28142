"""Listening checks: a study's settings, the trials of headphone screening, their scoring, and where a rater stands.

The tests of headphones are those of Woods et al. (2017, Attention, Perception, & Psychophysics 79) and Milne et al.
(2021, Behavior Research Methods 53): six trials of three intervals, five of which must be right. Guessing passes
1.8 % of the time.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise, permutations, takewhile
from typing import Any, Literal

from annotation.studies.settings import from_stored, setting
from annotation.studies.settings import gettext_noop as _

MAX_FAILURES = 3
FAILURES_FORGOTTEN_AFTER = timedelta(hours=24)
# Nobody listens all through a longer gap between two judgments.
LONGEST_WORK_GAP = timedelta(minutes=5)

Trial = dict[str, Any]


@dataclass(frozen=True)
class CheckKind:
    """A check of `n_trials` with `n_choices` each. `needed` right answers pass; None where no answer is wrong."""

    n_trials: int
    n_choices: int
    needed: int | None


# In the order in which they are taken: every other check is heard at the volume set in the first.
KINDS: dict[str, CheckKind] = {
    "level": CheckKind(n_trials=1, n_choices=1, needed=None),
    "left_right": CheckKind(n_trials=4, n_choices=2, needed=4),
    "antiphase": CheckKind(n_trials=6, n_choices=3, needed=5),
    "huggins": CheckKind(n_trials=6, n_choices=3, needed=5),
}


@dataclass(frozen=True)
class CheckRules:
    """A check holds for `valid_hours`, and for `recheck_minutes` of work where that is not zero.

    `gate`: only who passed may work. Without it a failed check is a fact about the rater like any other.
    """

    require: tuple[str, ...] = setting(
        (),
        label=_("Before the work, raters"),
        help_text=_(
            "The two last ones tell headphones from loudspeakers; together they are stricter than either."
        ),
        choices=(
            ("level", _("set the volume with a noise at -23 LUFS")),
            ("left_right", _("tell left from right (4 of 4)")),
            ("antiphase", _("find the quietest of three tones, one of them antiphase (5 of 6)")),
            ("huggins", _("find a tone that only headphones let through (5 of 6)")),
        ),
        description="The listening checks that raters take before their first task.",
    )
    valid_hours: int = setting(24, label=_("Hours until a check is due again"), least=1, most=24 * 31)
    recheck_minutes: int = setting(
        0,
        label=_("Minutes of work until a check is due again"),
        help_text=_("Enter 0 to use the hours only."),
        least=0,
        most=600,
    )
    gate: bool = setting(
        True,
        label=_("Only raters who pass may work"),
        help_text=_("Otherwise the result is recorded and the rater continues."),
    )

    @classmethod
    def of(cls, rules: Mapping[str, Any]) -> CheckRules:
        """From a study's `rules`, in which only what differs from the defaults need stand."""
        settings = from_stored(cls, rules.get("checks", {}))
        return replace(settings, require=tuple(kind for kind in KINDS if kind in settings.require))


def draw_trials(kind: str, *, seed: int) -> list[Trial]:
    """The trials of one run, each with the seed of its sound, its right answer as `key`, and no `answer` yet."""
    rng = random.Random(seed)
    return [{"seed": rng.getrandbits(48), "answer": None, **drawn} for drawn in _DRAWS.get(kind, _level)(rng)]


def _level(rng: random.Random) -> list[Trial]:
    return [{"key": None}]


def _left_right(rng: random.Random) -> list[Trial]:
    """Each ear at least once: who hears everything in one ear must not pass."""
    keys = [0, 1, *rng.choices((0, 1), k=2)]
    rng.shuffle(keys)
    return [{"key": key} for key in keys]


def _antiphase(rng: random.Random) -> list[Trial]:
    """Every order of quiet, antiphase and plain tone once."""
    orders = list(permutations(range(3), 2))
    rng.shuffle(orders)
    return [{"key": quiet, "antiphase": antiphase} for quiet, antiphase in orders]


def _huggins(rng: random.Random) -> list[Trial]:
    keys = [0, 0, 1, 1, 2, 2]
    rng.shuffle(keys)
    return [{"key": key} for key in keys]


_DRAWS = {"level": _level, "left_right": _left_right, "antiphase": _antiphase, "huggins": _huggins}


def score_trials(kind: str, trials: Sequence[Trial]) -> tuple[bool, int | None]:
    """Whether a run that is answered is passed, and how many answers are right; None where none is wrong."""
    needed = KINDS[kind].needed
    if needed is None:
        return True, None
    n_correct = sum(trial["answer"] == trial["key"] for trial in trials)
    return n_correct >= needed, n_correct


@dataclass(frozen=True)
class CheckRun:
    """A check that was taken to its end."""

    kind: str
    passed: bool
    finished_at: datetime


State = Literal["valid", "due", "exhausted"]


@dataclass(frozen=True)
class CheckStanding:
    """Where a rater stands with one required check. `until`: when it ends to hold, or may be tried again."""

    kind: str
    state: State
    until: datetime | None
    tries_left: int


def standings(
    rules: CheckRules, runs: Iterable[CheckRun], *, worked: Sequence[datetime], now: datetime
) -> list[CheckStanding]:
    """One for each required check, in the order of `KINDS`. `worked`: when the rater's judgments were submitted."""
    by_kind: dict[str, list[CheckRun]] = {kind: [] for kind in KINDS}
    for run in sorted(runs, key=lambda run: run.finished_at):
        by_kind[run.kind].append(run)
    return [_standing(kind, rules, by_kind[kind], worked, now) for kind in rules.require]


def is_due(checks: Iterable[CheckStanding]) -> bool:
    """Whether something has to be done before more work."""
    return any(standing.state != "valid" for standing in checks)


def work_since(moment: datetime, worked: Sequence[datetime], *, now: datetime) -> timedelta:
    """How long somebody has been at work since then: the time between judgments, of pauses only their beginning."""
    moments = [moment, *sorted(at for at in worked if at > moment), now]
    gaps = (later - earlier for earlier, later in pairwise(moments))
    return sum((min(gap, LONGEST_WORK_GAP) for gap in gaps), timedelta())


def _standing(
    kind: str, rules: CheckRules, runs: Sequence[CheckRun], worked: Sequence[datetime], now: datetime
) -> CheckStanding:
    latest = runs[-1] if runs else None
    if latest and (latest.passed or not rules.gate) and _holds(latest, rules, worked, now):
        return CheckStanding(kind, "valid", _ends(latest, rules), MAX_FAILURES)
    failures = _failures(runs, now) if rules.gate else []
    if len(failures) >= MAX_FAILURES:
        return CheckStanding(
            kind, "exhausted", failures[-MAX_FAILURES].finished_at + FAILURES_FORGOTTEN_AFTER, 0
        )
    return CheckStanding(kind, "due", None, MAX_FAILURES - len(failures))


def _failures(runs: Sequence[CheckRun], now: datetime) -> list[CheckRun]:
    """Those since the last time it was passed that are not yet forgotten."""
    since = list(takewhile(lambda run: not run.passed, reversed(runs)))
    return [run for run in reversed(since) if run.finished_at > now - FAILURES_FORGOTTEN_AFTER]


def _holds(run: CheckRun, rules: CheckRules, worked: Sequence[datetime], now: datetime) -> bool:
    if now >= _ends(run, rules):
        return False
    most = timedelta(minutes=rules.recheck_minutes)
    return not most or work_since(run.finished_at, worked, now=now) < most


def _ends(run: CheckRun, rules: CheckRules) -> datetime:
    return run.finished_at + timedelta(hours=rules.valid_hours)
