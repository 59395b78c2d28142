"""One question before and after the review: agreement and variance by part, histograms (ORCA, figure 5), systems (table
5), and how experts' blind answers stand to the raters'."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from analytics import case_frames, review_frames
from analytics.case_frames import BlindAnswer
from analytics.frames import CountRow
from analytics.questions import MeasuredQuestion
from analytics.reports.agreement import alpha_json, alphas
from analytics.reports.distribution import histograms
from analytics.review_frames import PARTS, SystemAnswers, UnitRow
from analytics.statistics.spread import spread


@dataclass(frozen=True)
class SystemSummary:
    """`answers`: how many different ones were rated; `mean` over ratings, `words` and `seconds` over answers."""

    system: str
    answers: int
    ratings: int
    mean: float
    words: float | None
    seconds: float | None


@dataclass(frozen=True)
class BlindAgreement:
    """Experts' own answers, given before they saw the raters'.

    with_majority: where one answer of the raters' is more frequent than any other; `agreed` of these are the expert's.
    mean_difference: expert less the raters' mean, on average over `with_raters`; None for preferences.
    """

    answers: int
    with_raters: int
    with_majority: int
    agreed: int
    mean_difference: float | None
    mean_distance: float | None


@dataclass(frozen=True)
class QuestionParts:
    """`parts`: by the names of `review_frames.PARTS`, alpha as `alpha_json` and, for ratings, `variance` as `Spread`.
    `histogram`: value or range, ratings before the review, ratings counted now."""

    key: str
    title: str
    kind: str
    level: str
    parts: Mapping[str, Mapping[str, Any]]
    histogram: tuple[tuple[str, int, int], ...]
    systems: tuple[SystemSummary, ...]
    blind: BlindAgreement


def question_parts(question: MeasuredQuestion) -> QuestionParts:
    units = review_frames.unit_rows(question)
    sets = [review_frames.count_rows(units, "before"), review_frames.count_rows(units, "after")]
    systems = [] if question.is_preference else review_frames.system_answers(question)
    return QuestionParts(
        key=question.key,
        title=question.title,
        kind=question.kind,
        level=question.level,
        parts=_parts(question, units),
        histogram=tuple((label, before, after) for label, (before, after) in histograms(question, sets)),
        systems=tuple(_system(row) for row in systems),
        blind=blind_agreement(
            case_frames.blind_answers(question), with_mean=question.level not in ("", "nominal")
        ),
    )


def blind_agreement(answers: Sequence[BlindAnswer], *, with_mean: bool) -> BlindAgreement:
    seen = [one for one in answers if one.raters]
    decided = [(one.expert, value) for one in seen if (value := _majority(one.raters)) is not None]
    differences = [one.expert - fmean(one.raters) for one in seen] if with_mean else []
    return BlindAgreement(
        answers=len(answers),
        with_raters=len(seen),
        with_majority=len(decided),
        agreed=sum(expert == value for expert, value in decided),
        mean_difference=fmean(differences) if differences else None,
        mean_distance=fmean(map(abs, differences)) if differences else None,
    )


def _parts(question: MeasuredQuestion, units: Sequence[UnitRow]) -> dict[str, dict[str, Any]]:
    return {part: _part(question, review_frames.count_rows(units, part)) for part in PARTS}


def _part(question: MeasuredQuestion, rows: Sequence[CountRow]) -> dict[str, Any]:
    patterns, alpha, symmetric = alphas(question, rows, level=question.level)
    width = question.width
    return {
        **alpha_json(alpha),
        **({} if symmetric is None else {"symmetric": alpha_json(symmetric)}),
        # A quarter of the scale squared: 1 on a scale from 1 to 5.
        "variance": None if width is None else asdict(spread(patterns, threshold=(width / 4) ** 2)),
    }


def _system(row: SystemAnswers) -> SystemSummary:
    return SystemSummary(
        row.system, row.answers, row.ratings, row.total / row.ratings, row.words, row.seconds
    )


def _majority(values: Iterable[float]) -> float | None:
    """The most frequent value; None where two share the first place."""
    (value, n), *others = Counter(values).most_common(2)
    return None if others and others[0][1] == n else value
