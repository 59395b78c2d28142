"""Figures of some raters of one study: from the arrays of `analytics.data.rater_answers` to rows of `RaterQuality`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from analytics.data import rater_answers
from analytics.data.questions import MeasuredQuestion, measured_questions, scale_ends
from analytics.data.rater_answers import Answered, CheckCounts, Judgments, OwnAnswers, UnitCounts
from analytics.reports.agreement import SIDES, leading_reading
from analytics.statistics.agreement.disagreement import MOST_SUMMED_VALUES, AnyLevel, pairs_of_values
from analytics.statistics.arrays import BoolArray, FloatArray, IntArray
from analytics.statistics.raters import quality
from analytics.statistics.raters.against_the_rest import (
    CONCENTRATIONS,
    RaterSums,
    content_evidence,
    rater_sums,
)
from analytics.statistics.raters.deviating_preference import (
    Deviation,
    most_deviating,
    preference_deviation,
    shift_deviation,
)
from annotation.models import Answer, Study, Task
from annotation.studies.protocols import load_protocol

# Scales of more values than this are compared in so many steps: the sums that are kept grow with the square.
STEPS = 11
# What the others' votes on a task are worth beside those on the same two systems elsewhere, in votes.
_PRIOR_VOTES = 2.0
MOST_CODES = 20
# Of the figures: rows of another are computed anew.
VERSION = 5


@dataclass(frozen=True)
class ComparedQuestion:
    """A question with the values on which raters are compared; none where it has a scale without ends."""

    question: MeasuredQuestion
    values: tuple[float, ...]
    level: AnyLevel
    steps: tuple[float, float] | None = None

    @property
    def n_sums(self) -> int:
        """Of each of both rows of sums of agreement."""
        return len(self.values) + len(pairs_of_values(len(self.values))[0]) if self.values else 0

    @property
    def n_stored(self) -> int:
        """Of all that is stored of a rater: both rows, and the evidence by concentration."""
        return 2 * self.n_sums + len(CONCENTRATIONS) if self.values else 0

    def codes(self, value: FloatArray) -> IntArray:
        """(n,) the place of each answer among the values; −1 for one that is compared with nothing."""
        if not self.values:
            return np.full(len(value), -1, dtype=np.int64)
        known = np.array(self.values)
        if self.steps is not None:
            low, high = self.steps
            place = np.rint((value - low) / (high - low) * (STEPS - 1)).astype(np.int64)
            return np.where((place >= 0) & (place < STEPS), place, -1)
        place = np.minimum(np.searchsorted(known, value), len(known) - 1)
        return np.where(known[place] == value, place, -1)


def compared_questions(study: Study) -> list[ComparedQuestion]:
    return [_compared(one) for one in measured_questions(study)]


def _compared(question: MeasuredQuestion) -> ComparedQuestion:
    reading = leading_reading(question)
    level: AnyLevel = "symmetric" if reading.symmetric else reading.level
    if reading.symmetric:
        return ComparedQuestion(question, tuple(sorted(SIDES.values())), level)
    points = tuple(sorted(question.points))
    if 1 < len(points) <= (MOST_SUMMED_VALUES if level == "nominal" else STEPS):
        return ComparedQuestion(question, points, level)
    ends = scale_ends(question)
    if ends is None or level == "nominal":
        return ComparedQuestion(question, (), level)
    return ComparedQuestion(question, tuple(np.linspace(*ends, STEPS).tolist()), level, ends)


def layout_json(questions: Sequence[ComparedQuestion]) -> list[list[Any]]:
    """What the stored sums depend on."""
    return [
        [one.question.key, one.level, list(one.values), list(one.question.ids), VERSION] for one in questions
    ]


@dataclass(frozen=True, eq=False)
class RaterFigures:
    """`values`: columns of `RaterQuality`. `sums`: by question; None where the rater was compared with nobody."""

    rater: int
    values: dict[str, Any]
    sums: list[QuestionSums | None]


@dataclass(frozen=True, eq=False)
class QuestionSums:
    """Sums of one rater that those of all are made of: see `against_the_rest` and `content_evidence`."""

    against: RaterSums
    content: FloatArray


def load_answered(
    study: Study, questions: Sequence[ComparedQuestion], raters: Sequence[int] | None
) -> Answered:
    """Of these raters; of all for None."""
    wanted = [(one.question, one.codes, len(one.values)) for one in questions]
    if raters is None:
        return rater_answers.of_study(study.pk, wanted)
    return rater_answers.of_raters(study.pk, wanted, raters)


def rater_figures(
    study: Study, questions: Sequence[ComparedQuestion], raters: Sequence[int], answered: Answered
) -> list[RaterFigures]:
    checks = rater_answers.check_counts(raters)
    ends = [confidence_ends(study, one.question) for one in questions]
    found = []
    for rater in raters:
        rows = slice(0, 0) if rater in answered.withdrawn else answered.judgments.rows(rater)
        by_question = [
            _QuestionAnswers.of(compared, answered.units[n], answered, answered.own[n].of(rows), ends[n])
            for n, compared in enumerate(questions)
        ]
        found.append(
            _of_rater(
                rater,
                answered.judgments,
                rows,
                by_question,
                checks=checks.get(rater, {}),
                codes=answered.codes.get(rater, {}),
            )
        )
    return found


def _of_rater(
    rater: int, work: Judgments, own: slice, by_question: Sequence[_QuestionAnswers], *,
    checks: dict[int, CheckCounts], codes: Mapping[str, int],
) -> RaterFigures:  # fmt: skip
    n_counted = int(work.counted[own].sum())
    rows = _of_standing(np.arange(own.start, own.stop), work.counted, counts=n_counted > 0)
    parts = [one.figures(counts=n_counted > 0) for one in by_question]
    speed = quality.speed(work.seconds[rows], sound=work.sound[rows], heard=work.heard[rows])
    check, answer = _check_values(checks), _answer_values(parts)
    details = {
        **check.pop("details"),
        **answer.pop("details"),
        "codes": list(codes.items())[:MOST_CODES],
        "hasty": asdict(speed.hasty),
    }
    values = {
        "n_judgments": n_counted, "n_excluded": own.stop - own.start - n_counted,
        **_work_values(speed, coded=work.coded[rows]), **check, **answer, "details": details,
    }  # fmt: skip
    return RaterFigures(rater, values, [part.sums for part in parts])


def _of_standing(rows: IntArray, counted: IntArray, *, counts: bool) -> IntArray:
    """The rows of judgments that count; of a rater of whom none does, all."""
    return rows[counted[rows] == 1] if counts else rows


def _work_values(speed: quality.Speed, *, coded: IntArray) -> dict[str, Any]:
    return {
        "n_timed": speed.n, "seconds": speed.seconds, "n_sounded": speed.hasty.n, "hasty": speed.hasty.value,
        "n_heard": speed.n_heard, "heard": speed.heard,
        "code_share": float(coded.mean()) if len(coded) else None,
    }  # fmt: skip


def _check_values(counts: dict[int, CheckCounts]) -> dict[str, Any]:
    none = CheckCounts(0, 0, 0, None)
    kinds = {"gold": (Task.Kind.GOLD,), "traps": (Task.Kind.TRAP, Task.Kind.IDENTICAL)}
    met = {name: [counts.get(int(kind), none) for kind in kinds[name]] for name in kinds}
    met["checks"] = [*met["gold"], *met["traps"]]
    repeats = counts.get(int(Task.Kind.REPEAT), none)
    shares = {
        name: quality.rater_share(sum(one.passed for one in some), sum(one.expected for one in some))
        for name, some in met.items()
    }
    return {
        "n_checks": shares["checks"].n, "n_failed": shares["checks"].n - shares["checks"].hits,
        "check_accuracy": shares["checks"].value, "n_gold": shares["gold"].n, "gold_accuracy": shares["gold"].value,
        "n_traps": shares["traps"].n, "trap_accuracy": shares["traps"].value,
        "n_repeats": repeats.n, "consistency": repeats.score,
        "details": {name: asdict(share) for name, share in shares.items()},
    }  # fmt: skip


# ── Answers ──────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class _QuestionFigures:
    """Of one rater's answers to one question."""

    question: MeasuredQuestion
    n: int
    sums: QuestionSums | None
    scale: quality.ScaleUse
    run: quality.Run
    sides: quality.RaterShare | None
    calibration: quality.Calibration
    deviation: Deviation
    histogram: tuple[tuple[float, int], ...]


@dataclass(frozen=True, eq=False)
class _QuestionAnswers:
    """All that one rater answered to one question, with what others answered to the same. `others`: (n, V) by own
    answer, how many others gave each value; `code`: −1 for an answer that is not compared; `counted`, `shown_first`: of
    its judgment."""

    compared: ComparedQuestion
    own: OwnAnswers
    counted: IntArray
    shown_first: IntArray
    code: IntArray
    others: IntArray
    mean_of_others: FloatArray
    confidence: FloatArray
    system: IntArray
    other_system: IntArray
    expected: FloatArray

    @classmethod
    def of(
        cls, compared: ComparedQuestion, units: UnitCounts, answered: Answered, own: OwnAnswers,
        confidence: tuple[float, float] | None,
    ) -> _QuestionAnswers:  # fmt: skip
        work, tasks = answered.judgments, answered.tasks
        code, task = compared.codes(own.value), work.task[own.judgment]
        counted = work.counted[own.judgment] == 1
        unit, known = units.places(task, own.candidate)
        others, total, n = (
            np.where(known if column.ndim == 1 else known[:, None], column[unit], 0)
            if len(units.key)
            else np.zeros((len(unit), *column.shape[1:]))
            for column in (units.counts, units.total, units.n)
        )
        others = others.astype(np.int64)
        mine = np.flatnonzero(counted & (code >= 0))
        others[mine, code[mine]] -= 1
        # A vote that was changed between the two queries would be subtracted from where it is not.
        others = np.maximum(others, 0)
        n = n - counted
        mean = np.divide(total - own.value * counted, n, out=np.full(len(n), np.nan), where=n > 0)
        system, other_system = _systems(own, task, tasks)
        surest = np.full(len(own.value), np.nan)
        if confidence is not None:
            low, high = confidence
            surest = np.clip((own.confidence - low) / (high - low), 0.0, 1.0)
        return cls(
            compared, own, work.counted[own.judgment], work.shown_first[own.judgment], code, others, mean, surest,
            system, other_system,
            _expected(own, counted, task, tasks, units, others)
            if compared.question.is_preference
            else mean,
        )  # fmt: skip

    def figures(self, *, counts: bool) -> _QuestionFigures:
        question = self.compared.question
        rows = _of_standing(np.arange(len(self.own.value)), self.counted, counts=counts)
        value, code = self.own.value[rows], self.code[rows]
        some = rows[code >= 0]
        others, mine = self.others[some], self.code[some]
        n_others = others.sum(axis=1)
        equal = np.divide(
            others[np.arange(len(some)), mine], n_others, out=np.full(len(some), np.nan), where=n_others > 0
        )
        shown = self._as_shown(rows) if question.is_preference else value
        points = len(question.categories)
        width = None if question.is_preference or question.kind == "choice" else question.width
        return _QuestionFigures(
            question, len(rows), self._sums(others, mine) if len(some) and self.compared.values else None,
            scale=quality.scale_use(shown, width=width, points=points),
            run=quality.longest_run(shown),
            sides=self._for_first_shown(rows) if question.is_preference else None,
            calibration=quality.calibration(self.confidence[some], equal),
            deviation=self._deviation(rows),
            histogram=tuple(zip(*(one.tolist() for one in np.unique(shown, return_counts=True)), strict=True))[:20],
        )  # fmt: skip

    def _sums(self, others: IntArray, code: IntArray) -> QuestionSums:
        ordered = self.compared.level in ("ordinal", "interval")
        return QuestionSums(rater_sums(others, code), content_evidence(others, code, ordered=ordered))

    def _as_shown(self, rows: IntArray) -> FloatArray:
        """Choices by the place of what was chosen: 1 for what stood first, 2 for the other, ties and the rest as
        stored."""
        value, first = self.own.value[rows], self.shown_first[rows]
        sided = np.isin(value, list(SIDES)) & (first >= 0)
        return np.where(sided, np.where(value - 1 == first, 1.0, 2.0), value)

    def _for_first_shown(self, rows: IntArray) -> quality.RaterShare:
        value, first = self.own.value[rows], self.shown_first[rows]
        sided = np.isin(value, list(SIDES)) & (first >= 0)
        return quality.rater_share(int((value[sided] - 1 == first[sided]).sum()), int(sided.sum()))

    def _deviation(self, rows: IntArray) -> Deviation:
        if self.compared.question.is_preference:
            sided = rows[np.isin(self.own.value[rows], list(SIDES)) & (self.other_system[rows] > 0)]
            won = self.own.value[sided] == Answer.Choice.FIRST
            return preference_deviation(
                self.system[sided], self.other_system[sided], won, self.expected[sided]
            )
        if not self.compared.question.is_rating:
            return Deviation(0.0, ())
        known = rows[np.isfinite(self.mean_of_others[rows]) & (self.system[rows] > 0)]
        return shift_deviation(self.system[known], self.own.value[known] - self.mean_of_others[known])


def _systems(own: OwnAnswers, task: IntArray, tasks: rater_answers.Tasks) -> tuple[IntArray, IntArray]:
    """By own answer: the systems of the first two slots, or that of the candidate it is about; 0 where there is
    none."""
    first, second = tasks.system[task, 0], tasks.system[task, 1]
    about = np.flatnonzero(own.candidate)
    if len(about) and len(tasks.candidate):
        place = np.minimum(np.searchsorted(tasks.candidate, own.candidate[about]), len(tasks.candidate) - 1)
        known = tasks.candidate[place] == own.candidate[about]
        first[about] = np.where(known, tasks.candidate_system[place], 0)
    return first, second


def _expected(
    own: OwnAnswers, counted: BoolArray, task: IntArray, tasks: rater_answers.Tasks, units: UnitCounts,
    others: IntArray,
) -> FloatArray:  # fmt: skip
    """The chance that the first wins, from the others' votes: those on the same task, and, as if they were two votes,
    those on the same two systems elsewhere, without the rater's own."""
    pairs = units.pairs_of(tasks)
    pair, lower_first = pairs.of_task[task], pairs.lower_first[task]
    sided = np.isin(own.value, list(SIDES)) & counted
    lower_won = (own.value == Answer.Choice.FIRST) == lower_first
    own_wins = np.bincount(pair[sided], weights=lower_won[sided], minlength=len(pairs.wins))
    own_votes = np.bincount(pair[sided], minlength=len(pairs.wins))
    share = (pairs.wins - own_wins + 1) / np.maximum(pairs.votes - own_votes + 2, 1)
    share = np.clip(share, 0.0, 1.0)[pair]
    share = np.where(lower_first, share, 1 - share)
    return np.asarray((others[:, 0] + _PRIOR_VOTES * share) / (others.sum(axis=1) + _PRIOR_VOTES))


def confidence_ends(study: Study, question: MeasuredQuestion) -> tuple[float, float] | None:
    """The ends of the question's scale of confidence."""
    spec = load_protocol(study.protocol_version_id).spec.question(question.question_key)
    if spec is None or spec.confidence is None or len(spec.confidence.values) < 2:
        return None
    return min(spec.confidence.values), max(spec.confidence.values)


def _answer_values(parts: Sequence[_QuestionFigures]) -> dict[str, Any]:
    """Of all questions: what is compared is pooled, the rest is of the first question that has it."""
    answered = [part for part in parts if part.n]
    compared = [part.sums for part in answered if part.sums is not None]
    sides = next((part.sides for part in answered if part.sides is not None), None) or quality.rater_share(
        0, 0
    )
    rated = [part.scale.variance for part in answered if part.scale.variance is not None]
    entropies = [part.scale.entropy for part in answered if part.scale.entropy is not None]
    surest = next((part.calibration for part in answered if part.calibration.n), None)
    run = answered[0].run if answered else quality.longest_run([])
    deviation = most_deviating(part.deviation for part in answered)
    return {
        "n_compared": sum(sums.against.ratings for sums in compared),
        "n_sided": sides.n, "first_share": sides.value, "position_bias": quality.position_bias(sides),
        "n_rated": max((part.n for part in answered if part.scale.variance is not None), default=0),
        "variance": float(np.mean(rated)) if rated else None,
        "n_answers": max((part.n for part in answered), default=0),
        "entropy": float(np.mean(entropies)) if entropies else None,
        "longest_run": run.length,
        "n_confident": surest.n if surest else 0, "overconfidence": surest.gap if surest else None,
        "deviation": deviation.log10_e if deviation.systems else None,
        "details": {
            "sides": asdict(sides), "run": asdict(run), "calibration": asdict(surest) if surest else None,
            "deviation": [asdict(one) for one in deviation.systems[:5]],
            "questions": list(_details(answered)),
        },
    }  # fmt: skip


def _details(answered: Sequence[_QuestionFigures]) -> Iterator[dict[str, Any]]:
    for part in answered:
        yield {
            "key": part.question.key, "title": part.question.title, "n": part.n, "scale": asdict(part.scale),
            "histogram": [list(one) for one in part.histogram],
            "equal": part.sums.against.equal / part.sums.against.pairs
            if part.sums and part.sums.against.pairs
            else None,
            "pairs": part.sums.against.pairs if part.sums else 0,
        }  # fmt: skip
