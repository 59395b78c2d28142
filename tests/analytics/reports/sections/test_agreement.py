"""What the agreement section prints: the right alpha first, the same whatever side was stored first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from analytics.data.votes import COUNTED, EXCLUDED, EXCLUDED_BY_REVIEW, EXCLUDED_BY_RULE, NOBODY, Votes
from analytics.reports.document import Measured, Paragraph, Table
from analytics.reports.sections.agreement import agreement_section, vote_parts
from analytics.reports.sections.material import ReportData, ReportSettings
from analytics.statistics.agreement.alpha import krippendorff_alpha
from analytics.statistics.agreement.oracle import package_alpha
from analytics.statistics.agreement.patterns import patterns_from_long
from annotation.models import Study
from tests.analytics.reports.reading import tables_of
from tests.analytics.vote_columns import made_votes, preference_question, rating_question


def blocks(*votes: Votes) -> list:
    section = agreement_section(ReportData(Study(), votes, ReportSettings()))
    assert section is not None
    return list(section.blocks)


def table(key: str, *votes: Votes) -> Table:
    return tables_of(blocks(*votes))[key]


def ratings(seed: int = 1) -> Votes:
    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(30), 3)
    value = np.clip(rng.integers(1, 6, 30)[unit] + rng.integers(-1, 2, 90), 1, 5)
    return made_votes(rating_question(), unit.tolist(), value.tolist(), rater=np.tile([0, 1, 2], 30).tolist())


def test_every_level_is_what_the_package_computes():
    votes = ratings()
    patterns = patterns_from_long(votes.unit, votes.value)
    rows = {row[1]: row[2] for row in table("agreement-levels", votes).rows}
    assert set(rows) == {"nominal", "ordinal", "interval", "ratio"}
    for level, alpha in rows.items():
        assert alpha.value == pytest.approx(package_alpha(patterns, level=level), abs=1e-12)


def test_the_overview_leads_with_the_level_of_the_question_and_its_interval():
    votes = ratings()
    found = krippendorff_alpha(patterns_from_long(votes.unit, votes.value), level="ordinal")
    (row,) = table("agreement", votes).rows
    assert row[1] == "ordinal"
    assert row[2] == Measured(found.alpha, *found.ci)
    assert row[4:7] == (30, 90, 3)


@pytest.mark.parametrize("level", ["nominal", "ordinal"])
def test_what_leads_for_preferences_does_not_depend_on_the_sides_stored(level):
    rng = np.random.default_rng(3)
    unit, value = np.repeat(np.arange(20), 3), rng.integers(1, 4, 60)
    turned = np.where((unit % 2 == 0) & (value < 3), 3 - value, value)
    asked = replace(preference_question(), level=level)
    as_stored, otherwise = (made_votes(asked, unit.tolist(), v.tolist()) for v in (value, turned))
    assert table("agreement", as_stored).rows[0][2] == table("agreement", otherwise).rows[0][2]
    levels = [table("agreement-levels", votes).rows[1][2].value for votes in (as_stored, otherwise)]
    assert levels[0] != pytest.approx(levels[1])


def test_unnamed_raters_are_no_number_and_said():
    votes = made_votes(rating_question(), [0, 0, 1, 1], [1, 2, 5, 5])
    found = table("agreement", votes)
    assert found.rows[0][6] is None
    assert any("without saying who" in note for note in found.notes)


@pytest.mark.parametrize(
    ("unit", "value"),
    [([0, 1, 2], [1, 2, 3]), ([0, 0, 1, 1], [4, 4, 4, 4]), ([0, 0], [1, 5])],
    ids=["nothing to compare", "constant", "one unit"],
)
def test_what_is_undefined_says_why_and_is_no_number(unit, value):
    alpha = table("agreement", made_votes(rating_question(), unit, value)).rows[0][2]
    assert alpha.reason
    assert alpha.low is None


def test_a_single_rater_is_warned_of():
    votes = made_votes(rating_question(), [0, 1, 2], [1, 2, 3], rater=[0, 0, 0])
    assert any(isinstance(block, Paragraph) and block.warning for block in blocks(votes))


def test_where_votes_stop_early_agreement_rests_on_the_first_ones_and_says_so():
    votes = made_votes(rating_question(first_votes=2), [0, 0, 0, 1, 1], [1, 5, 1, 4, 4])
    first = krippendorff_alpha(patterns_from_long([0, 0, 1, 1], [1, 5, 4, 4]), level="ordinal")
    assert table("agreement", votes).rows[0][2].value == first.alpha
    assert table("agreement", votes).rows[0][5] == 4
    (said,) = [block for block in blocks(votes) if isinstance(block, Paragraph)]
    assert "the first 2" in said.text


def test_other_versions_of_a_question_are_named():
    votes = made_votes(rating_question(other_versions=(2, 3)), [0, 0], [1, 2], rater=[0, NOBODY])
    (warning,) = [block for block in blocks(votes) if isinstance(block, Paragraph)]
    assert "2, 3" in warning.text


def test_a_study_without_votes_has_no_section():
    nothing = (made_votes(rating_question(), [], []),)
    assert agreement_section(ReportData(Study(), nothing, ReportSettings())) is None


def test_equal_pairs_are_of_the_ratings_beside_them():
    votes = made_votes(preference_question(), [0, 0, 0, 1, 1, 1], [1, 1, 3, 2, 2, 4])
    (row,) = table("agreement", votes).rows
    assert row[3:6] == (1.0, 2, 4)
    percent = table("agreement-percent", votes)
    assert percent.rows[0][1].value == pytest.approx(2 / 6)
    assert "beside an alpha" in percent.notes[1]


# How a question's votes are cut: every vote is where it belongs, and no cut is made that tells nothing.

DAY = 86_400
MODALITIES = ("music", "speech")


def cut(votes: Votes) -> dict[tuple[str, str], list[float]]:
    return {(part.by, part.name): part.votes.value.tolist() for part in vote_parts(votes)}


RATED = {
    "votes go with the stratum of their unit": (
        {},
        ([0, 1, 2, 0], [1, 2, 3, 4], {"strata": {"modality": (MODALITIES, (0, 1, NOBODY))}}),
        {("modality", "music"): [1, 4], ("modality", "speech"): [2]},
    ),
    "one system or one stratum value is no cut": (
        {},
        ([0, 1], [1, 2], {"strata": {"split": (("test",), (0, 0))}}),
        {},
    ),
    "votes of one day are not cut by time": ({}, ([0, 0], [1, 2], {"at": [10.0, 20.0]}), {}),
    "the review is told by its parts": (
        {},
        (
            [0, 0, 1, 2],
            [1, 2, 3, 4],
            {
                "corrected": [False, False, True],
                "status": [COUNTED, EXCLUDED_BY_REVIEW, COUNTED, COUNTED],
            },
        ),
        {
            ("review", "before"): [1, 2, 3],
            ("review", "set aside by it"): [2],
            ("review", "kept"): [1, 3],
            ("review", "of corrected texts"): [4],
            ("review", "after"): [1, 3, 4],
        },
    ),
    "excluded votes can be put back and repeats cannot": (
        {},
        ([0, 0, 0], [1, 2, 3], {"status": [COUNTED, EXCLUDED, COUNTED], "again": [False, False, True]}),
        {
            ("exclusions", "without excluded votes"): [1],
            ("exclusions", "with excluded votes put back"): [1, 2],
        },
    ),
    "votes that quality rules exclude are put back apart": (
        {},
        ([0, 0, 0, 0], [1, 2, 3, 4], {"status": [COUNTED, EXCLUDED, EXCLUDED_BY_RULE, EXCLUDED_BY_REVIEW]}),
        {
            ("exclusions", "without excluded votes"): [1],
            ("exclusions", "with votes that rules excluded"): [1, 3],
            ("exclusions", "with excluded votes put back"): [1, 2, 3],
            ("review", "before"): [1, 4],
            ("review", "set aside by it"): [4],
            ("review", "kept"): [1],
            ("review", "of corrected texts"): [],
            ("review", "after"): [1],
        },
    ),
    "where votes stop early every part has the first votes of its units": (
        {"first_votes": 2},
        ([0, 1, 0, 0, 1], [1, 2, 3, 4, 5], {"strata": {"modality": (MODALITIES, (0, 1))}}),
        {
            ("modality", "music"): [1, 3],
            ("modality", "speech"): [2, 5],
            ("overlap", "the first 2 of each unit"): [1, 2, 3, 5],
            ("overlap", "all votes"): [1, 2, 3, 4, 5],
        },
    ),
}


@pytest.mark.parametrize(("question", "votes", "parts"), RATED.values(), ids=list(RATED))
def test_votes_are_cut(question, votes, parts):
    unit, value, columns = votes
    assert cut(made_votes(rating_question(**question), unit, value, **columns)) == parts


def test_a_comparison_counts_for_both_systems():
    votes = made_votes(preference_question(), [0, 1], [1, 2], first=[0, 1], second=[1, 2])
    parts = {"alto": [1.0], "bass": [1.0, 2.0], "cello": [2.0]}
    assert cut(votes) == {("system", name): values for name, values in parts.items()}


@pytest.mark.parametrize(
    ("days", "names"),
    [
        ([0, 0, 3], ["1970-01-01", "1970-01-04"]),
        ([0, 4, 20], ["1970-W01", "1970-W02", "1970-W04"]),
        ([0, 31, 300], ["1970-01", "1970-02", "1970-10"]),
    ],
    ids=["days", "weeks", "months"],
)
def test_time_is_cut_as_finely_as_can_be_read(days, names):
    votes = made_votes(rating_question(), [0, 0, 0], [1, 2, 3], at=np.array(days) * DAY + 5.0)
    assert [name for by, name in cut(votes) if by == "time"] == names
