"""Which answers may be analysed together: a question through the protocol versions that ask it alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from annotation.models import Answer, ProtocolVersion, Question, Study
from annotation.protocols import Protocol, QuestionSpec
from annotation.protocols.changes import is_same_scale
from annotation.rating.rules import stopping
from annotation.studies.protocols import load_protocol


@dataclass(frozen=True)
class MeasuredQuestion:
    """A question on one scale in all of `versions`, whatever its wording was: see `annotation.protocols.changes`.

    A question with several answers is several: one for each option, whose values are 1 (ticked) and 0; `option` is the
    number of it, and `key` names question and option. A ranking's values are places, 1 the best.

    width: from the lowest value to the highest; None for preferences, choices and scales without ends.
    options: the titles of what can be chosen, by number from 1.
    first_votes: agreement rests on so many of each task's votes where more are asked for while they differ; else None.
    `other_versions` ask under the same key on another scale; their answers are not comparable and are left out.
    """

    study_id: int
    key: str
    title: str
    kind: str
    level: str
    points: tuple[float, ...]
    width: float | None
    per_candidate: bool
    one_candidate: bool
    ids: tuple[int, ...]
    versions: tuple[int, ...]
    other_versions: tuple[int, ...]
    first_votes: int | None = None
    options: tuple[str, ...] = ()
    option: int | None = None

    @property
    def is_preference(self) -> bool:
        return self.kind == Question.Kind.PREFERENCE

    @property
    def is_rating(self) -> bool:
        """Numbers on a scale, of which models can learn and raters be more or less severe."""
        return self.kind in (Question.Kind.RATING, Question.Kind.CORRECTNESS)

    @property
    def is_ranking(self) -> bool:
        return self.kind == Question.Kind.RANKING

    @property
    def has_means(self) -> bool:
        """Whether a mean of its values is meaningful: the number of a chosen option is only its name."""
        return self.is_rating or self.is_ranking or self.option is not None

    @property
    def question_key(self) -> str:
        """The key that the protocol knows: without the option."""
        return self.key.partition(":")[0]

    @property
    def value_sql(self) -> str:
        """The value of an answer `a` as a number; null where it has none."""
        if self.option is not None:
            return f"({self.option:d} = ANY(a.selected))::int::float8"
        return "a.choice" if self.is_preference else "a.value"

    def label(self, value: float) -> str:
        """A category in words, where it is an option."""
        if self.kind == Question.Kind.CHOICE and 1 <= value <= len(self.options):
            return self.options[int(value) - 1]
        return f"{value:g}"

    @property
    def categories(self) -> tuple[float, ...]:
        """The values an answer can have, as stored; empty on a continuous scale."""
        return tuple(float(choice) for choice in Answer.Choice) if self.is_preference else self.points


def measured_questions(study: Study, *, language: str = "en") -> list[MeasuredQuestion]:
    """The study's questions that have a level of measurement, as the newest version that asks each has them; one with
    several answers once for each option. A question that was taken out before anybody answered it is left out. Titles
    are in the language, where the protocol has it."""
    answers = Answer.objects.filter(question=OuterRef("pk"), counted=True)
    in_force = Study.objects.filter(protocol_version=OuterRef("protocol_version"))
    rows = Question.objects.filter(protocol_version__study=study).exclude(level="")
    by_key: dict[str, list[Any]] = {}
    for question in (
        rows.annotate(is_answered=Exists(answers), is_in_force=Exists(in_force))
        .select_related("protocol_version")
        .order_by("-protocol_version__number", "position")
    ):
        by_key.setdefault(question.key, []).append(question)
    measured = [
        _measured(study, questions, language)
        for questions in by_key.values()
        if any(row.is_answered or row.is_in_force for row in questions)
    ]
    return [each for question in measured for each in _by_option(study, question)]


def scaled_questions(study: Study, *, language: str = "en") -> list[MeasuredQuestion]:
    """Those whose answers a model can learn or a plan can simulate: preferences, and numbers on a scale."""
    return [one for one in measured_questions(study, language=language) if one.is_preference or one.is_rating]


def _by_option(study: Study, question: MeasuredQuestion) -> list[MeasuredQuestion]:
    if question.kind != Question.Kind.CHOICES:
        return [question]
    rows = Question.objects.select_related("protocol_version").in_bulk(question.ids)
    keys = rows[question.ids[0]].options
    return [
        replace(
            question,
            **_offering(question, list(rows.values()), number),
            key=f"{question.key}:{key}",
            title=f"{question.title} {title}",
            option=number,
            points=(0.0, 1.0),
            width=1.0,
        )
        for number, (key, title) in enumerate(zip(keys, question.options, strict=True), start=1)
    ]


def _offering(question: MeasuredQuestion, rows: Sequence[Question], number: int) -> dict[str, Any]:
    """The versions in which an option could be ticked: a rater who did not see it has not left it out."""
    offer = [row for row in rows if len(row.options) >= number]
    versions = tuple(sorted(row.protocol_version.number for row in offer))
    others = {*question.other_versions, *question.versions} - set(versions)
    return {
        "ids": tuple(pk for pk in question.ids if pk in {row.pk for row in offer}),
        "versions": versions,
        "other_versions": tuple(sorted(others)),
    }


def _measured(study: Study, questions: Sequence[Question], language: str) -> MeasuredQuestion:
    newest = questions[0]
    spec, ends = _spec(newest), _scale_ends(newest)
    alike = [question for question in questions if is_same_scale(_spec(question), spec)]
    return MeasuredQuestion(
        study_id=study.pk,
        key=newest.key,
        title=spec.title.in_language(language),
        kind=newest.kind,
        level=newest.level,
        points=_points(newest, load_protocol(newest.protocol_version_id).spec),
        width=None if ends is None else ends[1] - ends[0],
        per_candidate=spec.per_candidate or spec.kind == Question.Kind.RANKING,
        options=tuple(option.title.in_language(language) for option in spec.options),
        one_candidate=load_protocol(newest.protocol_version_id).spec.candidates == (1, 1),
        ids=tuple(question.pk for question in alike),
        versions=tuple(sorted(question.protocol_version.number for question in alike)),
        other_versions=tuple(sorted({q.protocol_version.number for q in questions if q not in alike})),
        first_votes=stopping.first_votes(study.rules, overlap=study.overlap),
    )


def _points(question: Question, protocol: Protocol) -> tuple[float, ...]:
    """The values that an answer can have: points, numbers of options, places in a ranking."""
    if question.kind == Question.Kind.CHOICE:
        return tuple(float(number) for number in range(1, len(question.options) + 1))
    if question.kind == Question.Kind.RANKING:
        return tuple(float(place) for place in range(1, protocol.candidates[1] + 1))
    return tuple(question.points)


def scale_ends(question: MeasuredQuestion) -> tuple[float, float] | None:
    """The lowest and the highest value there can be; None for preferences and scales without ends."""
    return _scale_ends(Question.objects.get(pk=question.ids[0]))


def _scale_ends(question: Question) -> tuple[float, float] | None:
    spec = _spec(question)
    if question.kind == Question.Kind.RANKING:
        return 1.0, float(load_protocol(question.protocol_version_id).spec.candidates[1])
    low, high = (
        (min(question.points), max(question.points)) if question.points else (spec.minimum, spec.maximum)
    )
    return None if low is None or high is None or low == high else (float(low), float(high))


def _spec(question: Question) -> QuestionSpec:
    spec = load_protocol(question.protocol_version_id).spec.question(question.key)
    assert spec is not None  # the row was made from it
    return spec


def abx_questions(study: Study) -> list[int]:
    """The rows of questions that ask which of two X is. They have no level: what is right is drawn anew each time."""
    versions = study.protocol_versions.filter(definition__layout="abx")
    return _question_rows(versions, lambda question: question.kind == "preference")


def screening_questions(study: Study) -> list[int]:
    """The rows of questions that rate each candidate from 0 to 100 where a reference is hidden among them."""
    versions = study.protocol_versions.filter(definition__added__contains="hidden_reference")
    return _question_rows(
        versions, lambda spec: spec.per_candidate and (spec.minimum, spec.maximum) == (0, 100)
    )


def _question_rows(
    versions: QuerySet[ProtocolVersion], is_included: Callable[[QuestionSpec], bool]
) -> list[int]:
    protocols = (load_protocol(pk) for pk in versions.order_by("number").values_list("pk", flat=True))
    return [
        protocol.question_ids[question.key]
        for protocol in protocols
        for question in protocol.spec.questions
        if is_included(question)
    ]
