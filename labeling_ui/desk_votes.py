"""The votes, distributions and scores of a case in words, as the desk shows them after the expert's own judgment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import get_language
from django.utils.translation import gettext as _

from analytics.reports.case_votes import TaskVotes, Vote
from annotation.models import Answer, Judgment, Task
from annotation.protocols.schema import Point, Protocol, QuestionSpec, Text
from annotation.rules.presentation import labels
from annotation.services.protocols import loaded
from labeling_ui.run_lines import title_of
from scoring.models import Score

# How many numbers behind a score are shown.
NUMBERS_SHOWN = 10


@dataclass(frozen=True)
class AnswerLine:
    """`of`: the label of the candidate it is about, where the task has several. `is_text`: something written."""

    title: str
    of: str
    said: str
    sure: str
    is_text: bool


@dataclass(frozen=True)
class VoteLine:
    judgment: Judgment
    who: str
    is_mine: bool
    is_experts: bool
    at: datetime
    answers: tuple[AnswerLine, ...]
    codes: tuple[tuple[str, str], ...]
    # It came from a rater of this study by an assignment: they can be asked to look once more.
    returnable: bool


@dataclass(frozen=True)
class Bar:
    label: str
    n: int
    length: float
    share: float | None = None


@dataclass(frozen=True)
class Distribution:
    title: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class CandidateLine:
    """`clip`: the name under which the expert's assignment plays it."""

    label: str
    system: str
    take: int
    text: str
    clip: str


@dataclass(frozen=True)
class ScoreLine:
    scorer: str
    version: str
    of: str
    output: str
    value: float | None
    numbers: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class TaskCard:
    task: Task
    candidates: tuple[CandidateLine, ...]
    votes: tuple[VoteLine, ...]
    distributions: tuple[Distribution, ...]
    scores: tuple[ScoreLine, ...]


def task_card(found: TaskVotes, *, protocol: Protocol, mine: Judgment | None) -> TaskCard:
    """`mine`: the reader's own blind judgment: its order of the candidates names them for the whole card."""
    order = list(range(len(found.candidates)))
    if mine is not None and mine.task_id == found.task.pk and mine.presentation:
        order = list(mine.presentation)
    letters = labels(protocol.layout)
    by_slot = {slot: letter for letter, slot in zip(letters, order, strict=False)}
    names = {candidate.pk: by_slot.get(slot, "?") for slot, candidate in enumerate(found.candidates)}
    several = len(found.candidates) > 1
    return TaskCard(
        task=found.task,
        candidates=tuple(
            CandidateLine(
                label=by_slot.get(slot, "?") if several else "",
                system=(candidate := found.candidates[slot]).system.name,
                take=candidate.take,
                text=candidate.text,
                clip=by_slot.get(slot, "?").lower() if candidate.clip_id else "",
            )
            for slot in order
        ),
        votes=tuple(
            _vote(vote, names=names if several else {}, by_slot=by_slot, mine=mine) for vote in found.votes
        ),
        distributions=tuple(_distributions(found, names=names if several else {}, by_slot=by_slot)),
        scores=tuple(_score(score, names=names if several else {}) for score in found.scores),
    )


def _vote(
    vote: Vote, *, names: Mapping[int, str], by_slot: Mapping[int, str], mine: Judgment | None
) -> VoteLine:
    judgment = vote.judgment
    protocol = loaded(judgment.protocol_version_id).spec
    titles = {code.key: _in_language(code.title) for code in protocol.codes}
    return VoteLine(
        judgment=judgment,
        who=judgment.rater.pseudonym if judgment.rater else _("an imported rater"),
        is_mine=mine is not None and judgment.pk == mine.pk,
        is_experts=vote.is_experts,
        at=judgment.submitted_at,
        answers=tuple(
            _answer(answer, spec, names=names, by_slot=by_slot)
            for answer in vote.answers
            if (spec := protocol.question(answer.question.key)) is not None
        ),
        codes=tuple((key, titles.get(key, key)) for key in judgment.codes),
        returnable=judgment.origin == Judgment.Origin.RATED
        and judgment.assignment_id is not None
        and not judgment.excluded,
    )


def _answer(
    answer: Answer, spec: QuestionSpec, *, names: Mapping[int, str], by_slot: Mapping[int, str]
) -> AnswerLine:
    confidence = spec.confidence.points if spec.confidence else ()
    return AnswerLine(
        title=_in_language(spec.title),
        of=names.get(answer.candidate_id or 0, ""),
        said=_said(answer, spec, by_slot=by_slot),
        sure="" if answer.confidence is None else _point(answer.confidence, confidence),
        is_text=spec.kind == "text",
    )


def _said(answer: Answer, spec: QuestionSpec, *, by_slot: Mapping[int, str]) -> str:
    if answer.choice is not None:
        return _choice(answer.choice, by_slot=by_slot)
    if answer.value is not None:
        return _point(answer.value, spec.points)
    return answer.text


def _choice(choice: int, *, by_slot: Mapping[int, str]) -> str:
    if choice == Answer.Choice.TIE:
        return _("Tie")
    if choice == Answer.Choice.BOTH_BAD:
        return _("Both bad")
    return by_slot.get(0 if choice == Answer.Choice.FIRST else 1, "?")


def _point(value: float, points: Sequence[Point]) -> str:
    label = next((_in_language(point.label) for point in points if point.value == value), "")
    return f"{value:g} · {label}" if label else f"{value:g}"


def _distributions(
    found: TaskVotes, *, names: Mapping[int, str], by_slot: Mapping[int, str]
) -> Iterator[Distribution]:
    """Of what counts: raters' answers that are neither excluded nor surplus, by question and candidate."""
    counted: dict[tuple[str, int], list[Answer]] = {}
    specs: dict[str, QuestionSpec] = {}
    for vote in found.votes:
        if vote.is_experts or vote.judgment.excluded or vote.judgment.surplus:
            continue
        protocol = loaded(vote.judgment.protocol_version_id).spec
        for answer in vote.answers:
            spec = protocol.question(answer.question.key)
            if spec is None or (answer.choice is None and answer.value is None):
                continue
            specs[spec.key] = spec
            counted.setdefault((spec.key, answer.candidate_id or 0), []).append(answer)
    for (key, candidate), answers in counted.items():
        title = _in_language(specs[key].title)
        if of := names.get(candidate):
            title = f"{of}: {title}"
        yield Distribution(title, tuple(_bars(answers, specs[key], by_slot=by_slot)))


def _bars(answers: Sequence[Answer], spec: QuestionSpec, *, by_slot: Mapping[int, str]) -> Iterator[Bar]:
    said = Counter(_said(answer, spec, by_slot=by_slot) for answer in answers)
    if spec.kind == "preference":
        kinds = [Answer.Choice.FIRST, Answer.Choice.SECOND]
        kinds += [Answer.Choice.TIE] if spec.tie else []
        kinds += [Answer.Choice.BOTH_BAD] if spec.both_bad else []
        faces = [_choice(kind, by_slot=by_slot) for kind in kinds]
        faces = sorted(faces[:2]) + faces[2:]
    elif spec.points:
        faces = [_point(point.value, spec.points) for point in spec.points]
    else:
        faces = [
            f"{value:g}" for value in sorted({answer.value for answer in answers if answer.value is not None})
        ]
    for face in faces:
        yield Bar(face, said[face], 100 * said[face] / len(answers))


def _score(score: Score, *, names: Mapping[int, str]) -> ScoreLine:
    of = names.get(score.candidate_id, "")
    if score.other_id is not None:
        of = _("%(one)s against %(other)s") % {"one": of, "other": names.get(score.other_id, "?")}
    return ScoreLine(
        scorer=title_of(score.scorer.key),
        version=score.scorer.digest[:8],
        of=of,
        output="" if score.output == "value" else score.output,
        value=score.value,
        numbers=tuple(_numbers(score.distribution))[:NUMBERS_SHOWN],
    )


def _numbers(distribution: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Whatever a scorer keeps behind its value, as names and numbers."""
    if isinstance(distribution, Mapping):
        for name, part in distribution.items():
            yield from _numbers(part, f"{prefix}.{name}" if prefix else str(name))
    elif isinstance(distribution, list):
        for place, part in enumerate(distribution, start=1):
            yield from _numbers(part, f"{prefix}.{place}" if prefix else str(place))
    elif isinstance(distribution, int | float):
        yield prefix, f"{distribution:.3g}".replace("-", "−")


def _in_language(text: Text) -> str:
    return text.in_language(get_language() or "en")
