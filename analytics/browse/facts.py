"""What the filters of a study's data choose from, by a few quick queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from django.db import DatabaseError, connection

from analytics.data.open_answers import OpenQuestion, open_questions
from analytics.data.questions import MeasuredQuestion, measured_questions
from analytics.overview.scorers import study_parts
from annotation.models import Question, Rater, Study, System
from annotation.studies.protocols import load_protocol
from scoring.models import Scorer, ScoringRun

# A list of more raters is typed, not chosen.
MOST_RATERS = 500
# Of more systems a list of who was preferred would hold little else.
MOST_SYSTEMS = 30


class RatersByPseudonym:
    """Ids of a study's raters, each looked up by pseudonym when it is needed: a study may have many."""

    def __init__(self, study: Study) -> None:
        self.study = study

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name) is not None

    def __getitem__(self, name: str) -> int:
        rater_id = self.find(name)
        if rater_id is None:
            raise KeyError(name)
        return rater_id

    def find(self, name: str) -> int | None:
        rater = Rater.objects.filter(study=self.study, pseudonym=name).values_list("pk", flat=True)
        return rater.first()

    def choices(self) -> list[str]:
        """Pseudonyms of raters with judgments, for a list to choose from."""
        raters = Rater.objects.filter(study=self.study, last_judgment_at__isnull=False)
        return list(raters.order_by("pseudonym").values_list("pseudonym", flat=True)[:MOST_RATERS])


@dataclass(frozen=True)
class ChosenAnswer:
    """An answer that a question lets raters choose: one of its options, a system that they prefer or place first, or a
    label of events. `number`: of the option, or the system's id."""

    title: str
    kind: str
    question_ids: Sequence[int]
    number: int = 0
    label: str = ""


@dataclass(frozen=True)
class Facts:
    """What the filters of one study choose from. `text_search`: "words" where they begin with what is typed, "parts"
    where any part of a text matches (pg_trgm)."""

    systems: Mapping[str, int]
    strata: Mapping[str, Sequence[str]]
    codes: Mapping[str, str]
    # By key of each measured question: its title and ids.
    questions: Mapping[str, tuple[str, Sequence[int]]]
    # By digest: name, and its outputs' usual one.
    scorers: Mapping[str, tuple[str, int]]
    raters: RatersByPseudonym
    # By question and option, system or label, as "question:option".
    chosen: Mapping[str, ChosenAnswer] = field(default_factory=dict)
    text_search: str = "words"


def study_facts(study: Study, *, language: str = "en") -> Facts:
    strata: dict[str, list[str]] = defaultdict(list)
    for name, value in study_parts(study).strata:
        strata[name].append(value)
    systems = dict(System.objects.filter(study=study).order_by("name").values_list("name", "pk"))
    scored = ScoringRun.objects.filter(study=study, scorer__isnull=False).values("scorer")
    scorers = Scorer.objects.filter(pk__in=scored) | Scorer.objects.filter(learned_models__study=study)
    measured = measured_questions(study, language=language)
    return Facts(
        systems=systems,
        strata=strata,
        codes=_codes(study, language),
        questions={
            question.key: (question.title, question.ids) for question in measured if question.option is None
        },
        scorers={one.digest: (str(one), one.pk) for one in scorers.distinct().order_by("-pk")},
        raters=RatersByPseudonym(study),
        chosen=dict(_chosen(measured, open_questions(study, language=language), systems)),
        text_search=text_search(),
    )


def _codes(study: Study, language: str) -> dict[str, str]:
    """Titles by key, of all versions: judgments keep the codes of the version that they were made under."""
    versions = study.protocol_versions.order_by("-number").values_list("pk", flat=True)
    codes: dict[str, str] = {}
    for version in versions:
        for code in load_protocol(version).spec.codes:
            codes.setdefault(code.key, code.title.in_language(language))
    return codes


def _chosen(
    measured: Sequence[MeasuredQuestion], open_ones: Sequence[OpenQuestion], systems: Mapping[str, int]
) -> Iterator[tuple[str, ChosenAnswer]]:
    for question in measured:
        title, kind, ids = question.title, question.kind, question.ids
        if question.option is not None:
            yield question.key, ChosenAnswer(title, kind, ids, question.option)
        elif kind == Question.Kind.CHOICE:
            keys = Question.objects.get(pk=ids[0]).options
            for number, (key, option) in enumerate(zip(keys, question.options, strict=True), start=1):
                yield f"{question.key}:{key}", ChosenAnswer(f"{title} {option}", kind, ids, number)
        elif (question.is_preference or question.is_ranking) and len(systems) <= MOST_SYSTEMS:
            for name, pk in systems.items():
                yield f"{question.key}:{name}", ChosenAnswer(f"{title} {name}", kind, ids, pk)
    for asked in open_ones:
        for label, title in asked.labels if asked.marks_events else ():
            key = f"{asked.key}:{label}"
            yield key, ChosenAnswer(f"{asked.title} {title}", asked.kind, asked.ids, label=label)


def text_search() -> str:
    """ "parts" where the server has trigrams and the texts are indexed by them; else "words"."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('item_text_by_trigrams')"
        )
        return "parts" if cursor.fetchone() == (True,) else "words"


def index_by_trigrams() -> None:
    """Index the texts by trigrams where the server has them by now: an operator may have installed pg_trgm since the
    migration looked. After each `migrate`; raters work meanwhile."""
    if connection.in_atomic_block:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT to_regclass('analytics_itemtext') IS NOT NULL"
            " AND EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_trgm')"
        )
        if not cursor.fetchone()[0] or text_search() == "parts":
            return
        with suppress(DatabaseError):  # the account may create no extension: words it is
            cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
            # One that was interrupted.
            cursor.execute("DROP INDEX CONCURRENTLY IF EXISTS item_text_by_trigrams")
            cursor.execute(
                "CREATE INDEX CONCURRENTLY item_text_by_trigrams ON analytics_itemtext USING gin (text gin_trgm_ops)"
            )
