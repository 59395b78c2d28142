"""What the filters of a study's data choose from, by a few quick queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db import connection

from analytics.data.questions import measured_questions
from analytics.overview.scorers import study_parts
from annotation.models import Rater, Study, System
from annotation.studies.protocols import load_protocol
from scoring.models import Scorer, ScoringRun

# A list of more raters is typed, not chosen.
MOST_RATERS = 500


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
    skip_reasons: Sequence[str] = ()
    text_search: str = "words"


def study_facts(study: Study, *, language: str = "en") -> Facts:
    strata: dict[str, list[str]] = defaultdict(list)
    for name, value in study_parts(study).strata:
        strata[name].append(value)
    systems = dict(System.objects.filter(study=study).order_by("name").values_list("name", "pk"))
    scored = ScoringRun.objects.filter(study=study, scorer__isnull=False).values("scorer")
    scorers = Scorer.objects.filter(pk__in=scored) | Scorer.objects.filter(learned_models__study=study)
    spec = load_protocol(study.protocol_version_id).spec if study.protocol_version_id else None
    codes = {code.key: code.title.in_language(language) for code in spec.codes} if spec else {}
    return Facts(
        systems=systems,
        strata=strata,
        codes=codes,
        questions={
            question.key: (question.title, question.ids)
            for question in measured_questions(study, language=language)
        },
        scorers={one.digest: (str(one), one.pk) for one in scorers.distinct().order_by("-pk")},
        raters=RatersByPseudonym(study),
        text_search=text_search(),
    )


def text_search() -> str:
    """ "parts" where the server has trigrams and the texts are indexed by them; else "words"."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('item_text_by_trigrams') IS NOT NULL")
        return "parts" if cursor.fetchone()[0] else "words"
