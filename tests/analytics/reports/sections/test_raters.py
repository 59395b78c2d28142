"""What is printed of single raters: the same as leaving them out by hand, and nothing of people nobody named."""

from __future__ import annotations

import numpy as np
import pytest

from analytics.data.votes import COUNTED, EXCLUDED, NOBODY, Votes
from analytics.reports.document import Section
from analytics.reports.sections.material import ReportData, ReportSettings
from analytics.reports.sections.raters import raters_section
from analytics.statistics.agreement.alpha import krippendorff_alpha
from analytics.statistics.agreement.patterns import patterns_from_long
from annotation.models import Demographics, Rater, Study
from annotation.onboarding.onboarding_settings import set_onboarding
from tests.analytics.reports.reading import rows_of, tables_of, text_of
from tests.analytics.vote_columns import made_votes, preference_question, rating_question
from tests.factories import StudyFactory


def section(votes: Votes) -> Section | None:
    return raters_section(ReportData(Study(), (votes,), ReportSettings()))


def rows(votes: Votes) -> list[dict]:
    (table,) = tables_of(section(votes)).values()
    return rows_of(table)


def rated(*, unnamed: bool) -> Votes:
    rng = np.random.default_rng(5)
    unit = np.repeat(np.arange(20), 4)
    value = np.clip(rng.integers(1, 6, 20)[unit] + rng.integers(-1, 2, 80), 1, 5)
    people = [0, 1, NOBODY, NOBODY] if unnamed else [0, 1, 2, 3]
    return made_votes(rating_question(), unit.tolist(), value.tolist(), rater=np.tile(people, 20).tolist())


@pytest.mark.parametrize("unnamed", [False, True], ids=["all named", "with unnamed ones"])
def test_alpha_without_a_rater_is_alpha_of_everybody_elses_votes(unnamed):
    votes = rated(unnamed=unnamed)
    whole = krippendorff_alpha(patterns_from_long(votes.unit, votes.value), level="ordinal").alpha
    found = rows(votes)
    assert [row["rater"] for row in found] == ["R0", "R1"] if unnamed else ["R0", "R1", "R2", "R3"]
    for number, row in enumerate(found):
        others = votes.select(votes.rater != number)
        by_hand = krippendorff_alpha(patterns_from_long(others.unit, others.value), level="ordinal").alpha
        assert row["alpha_without"].value == pytest.approx(by_hand, abs=1e-12)
        assert row["change"] == pytest.approx(by_hand - whole, abs=1e-12)


def test_how_high_a_rater_rates_is_told_against_the_others_in_the_same_units():
    votes = made_votes(rating_question(), [0, 0, 1, 1, 2], [5, 3, 4, 3, 1], rater=[0, 1, 0, 1, 0])
    first, second = rows(votes)
    assert (first["above_others"], second["above_others"]) == (1.5, -1.5)
    assert (first["votes"], first["pairs"], first["equal"]) == (3, 2, 0.0)


def test_preferences_for_the_side_shown_first_and_ties_are_told():
    votes = made_votes(
        preference_question(),
        [0, 1, 2, 3, 4],
        [1, 2, 1, 3, 1],
        rater=[0] * 5,
        second=[1] * 5,
        shown_first=np.array([0, 1, 1, 0, NOBODY]),
    )
    (row,) = rows(votes)
    assert row["shown_first"] == pytest.approx(2 / 3)
    assert row["ties"] == pytest.approx(1 / 5)


def test_excluded_votes_are_counted_apart_and_weigh_nothing():
    votes = made_votes(
        rating_question(), [0, 0, 1, 1], [1, 1, 5, 2], rater=[0, 1, 0, 2],
        status=np.array([COUNTED, COUNTED, COUNTED, EXCLUDED]), seconds=np.array([4.0, 9.0, 6.0, 1.0]),
    )  # fmt: skip
    found = rows(votes)
    assert [(row["votes"], row["excluded"]) for row in found] == [(2, 0), (1, 0), (0, 1)]
    assert found[0]["seconds"] == 5.0
    assert (found[2]["seconds"], found[2]["equal"]) == (None, None)


def test_without_names_it_says_so_and_without_votes_there_is_no_section():
    assert "without saying who" in text_of(section(made_votes(rating_question(), [0, 0], [1, 2])))
    assert section(made_votes(rating_question(), [], [])) is None


@pytest.mark.django_db
def test_groups_of_raters_are_shown_only_where_they_are_large_enough():
    study = StudyFactory(slug="s")
    options = [{"key": key, "texts": {"en": key.title()}} for key in ("young", "old", "older")]
    question = {"key": "age", "texts": {"en": "How old are you?"}, "options": options}
    study = set_onboarding(study, actor=None, questions=[question])
    for number in range(13):
        answer = "young" if number < 6 else "old" if number < 11 else "older"
        person = Rater.objects.create(study=study, pseudonym=f"R{number}")
        Demographics.objects.create(rater=person, answers={"age": answer})
    votes = made_votes(rating_question(), [0] * 13 + [1] * 13, [3] * 26, rater=[*range(13), *range(13)])
    tables = tables_of(raters_section(ReportData(study, (votes,), ReportSettings())))
    (row,) = rows_of(tables["raters-by-age"])
    # Two are too few; the next group goes with them, as the total would tell how many they are.
    assert (row["group"], row["raters"], row["votes"], row[f"equal-{votes.question.key}"]) == (
        "Young",
        6,
        12,
        1.0,
    )
