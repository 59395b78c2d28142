"""What the section on ratings says of votes made by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from analytics.data import items, value_counts
from analytics.data.questions import scale_ends
from analytics.data.value_counts import Remarks
from analytics.data.votes import EXCLUDED, EXCLUDED_BY_REVIEW, EXCLUDED_BY_RULE, Votes
from analytics.reports.document import Figure, Measured, Paragraph, Table
from analytics.reports.sections.material import ReportSettings
from analytics.reports.sections.rating_data import QuestionRatings, load_ratings
from analytics.reports.sections.ratings import question_blocks, ratings_section
from analytics.statistics.bootstrap import Resampling
from analytics.statistics.raters.screening import ScreenedListener
from annotation.models import Judgment, Rater
from tests import factories, presets
from tests.analytics.data.test_known_answer_trials import listener
from tests.analytics.reports.reading import material_of, rows_of, tables_of, text_of
from tests.analytics.reports.reading import rows_of as cells
from tests.analytics.vote_columns import made_votes, rating_question
from tests.analytics.votes import vote

QUICK = ReportSettings(resampling=Resampling(replicates=60))


def blocks(votes: Votes, **facts) -> list:
    return list(question_blocks(QuestionRatings(votes, QUICK, **facts)))


def table(what: str, votes: Votes, **facts) -> Table:
    return tables_of(blocks(votes, **facts))[f"ratings-{what}-quality"]


def keys(found: list) -> set[str]:
    return {b.key.split("-")[1] for b in found if not isinstance(b, Paragraph)}


def warnings(found: list) -> list[str]:
    return [b.text for b in found if isinstance(b, Paragraph) and b.warning]


def crossed(seed: int = 1, *, items: int = 12, **columns) -> Votes:
    """Three systems on every item, each output rated by the same three raters; alto is the best, rater 2 strict."""
    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(3 * items), 3)
    first, rater = np.arange(3 * items) % 3, np.tile([0, 1, 2], 3 * items)
    value = np.clip(4 - first[unit] - (rater == 2) + rng.integers(-1, 2, len(unit)), 1, 5)
    return made_votes(
        rating_question(), unit.tolist(), value.tolist(), rater=rater.tolist(), first=first.tolist(),
        item=(np.arange(3 * items) // 3).tolist(), **columns,
    )  # fmt: skip


def test_means_stand_with_and_without_what_quality_rules_and_persons_exclude():
    status = [0, 0, EXCLUDED_BY_RULE, EXCLUDED, EXCLUDED_BY_REVIEW]
    votes = made_votes(rating_question(), [0, 1, 0, 1, 1], [4, 2, 1, 5, 5], first=[0, 0], status=status)
    found = tables_of(blocks(votes))
    (by_rules,), (by_all,) = (
        rows_of(found[f"ratings-{key}-quality"]) for key in ("excluded-by-rules", "excluded")
    )
    assert [one["mean"].value for one in (by_rules, by_all)] == [3, 3]
    assert (by_rules["mean_with_excluded"].value, by_all["mean_with_excluded"].value) == (
        pytest.approx(7 / 3),
        3,
    )
    assert (by_rules["change"], by_all["ratings_with_excluded"]) == (pytest.approx(-2 / 3), 4)
    assert not {key for key in tables_of(blocks(crossed())) if "excluded" in key}


def test_systems_are_listed_best_first_with_all_at_the_end():
    votes = crossed()
    rows = cells(table("systems", votes))
    assert [row["system"] for row in rows] == ["alto", "bass", "cello", "All"]
    own = votes.value[votes.units.first[votes.unit] == 0]
    assert (rows[0]["ratings"], rows[0]["answers"], rows[0]["raters"]) == (36, 12, 3)
    assert (rows[0]["mean"].value, rows[0]["median"]) == (own.mean(), np.median(own))
    assert rows[0]["sd"] == pytest.approx(own.std(ddof=1))
    assert rows[0]["mean"].low < own.mean() < rows[0]["mean"].high
    assert rows[3]["ratings"] == 108


def test_systems_that_differ_have_other_letters_and_pairs_go_item_by_item():
    found = cells(table("pairs", crossed(items=30)))
    assert [(row["first"], row["second"], row["items"]) for row in found] == [
        ("alto", "bass", 30), ("alto", "cello", 30), ("bass", "cello", 30),
    ]  # fmt: skip
    assert all(row["p"] <= row["p_holm"] for row in found)
    groups = [row["groups"] for row in cells(table("systems", crossed(items=30)))]
    assert groups == ["a", "b", "c", ""]


def test_an_interval_of_few_raters_ends_with_the_scale():
    votes = made_votes(
        rating_question(), [0, 0, 1, 1], [1, 5, 4, 5], first=[0, 0], item=[0, 1], rater=[0, 1, 0, 1]
    )
    found = table("systems", votes, ends=(1.0, 5.0))
    mean = cells(found)[0]["mean"]
    assert (mean.low, mean.high) == (1.0, 5.0)
    assert any("end with it" in note for note in found.notes)


def test_unnamed_raters_are_said_to_be_missing_from_the_intervals():
    votes = made_votes(rating_question(), [0, 0, 1, 1], [1, 2, 4, 5], first=[0, 1])
    found = table("systems", votes)
    assert "raters" not in [column.key for column in found.columns]
    assert any("clustered by item alone" in note for note in found.notes)
    said = text_of(blocks(votes))
    assert "cannot be checked whether all met the same systems" in said
    assert "severity cannot be taken out" in said


def test_values_are_counted_for_all_and_by_system():
    votes = crossed()
    rows = cells(table("distribution", votes))
    assert [row["system"] for row in rows] == ["All", "alto", "bass", "cello"]
    for value in range(1, 6):
        assert rows[0][f"n_{value}"] == (votes.value == value).sum()
        assert rows[0][f"n_{value}"] == sum(row[f"n_{value}"] for row in rows[1:])


def test_the_histogram_shows_both_sides_of_a_review_where_there_was_one():
    def drawn(votes: Votes) -> Figure:
        figures = [block for block in blocks(votes) if isinstance(block, Figure)]
        return next(figure for figure in figures if figure.key == "ratings-values-quality")

    assert "before and after" not in drawn(crossed()).caption
    status = [EXCLUDED_BY_REVIEW, 0, 0, 0]
    votes = made_votes(
        rating_question(), [0, 0, 1, 2], [1, 2, 2, 5], status=status, corrected=[False, False, True]
    )
    figure = drawn(votes)
    assert "before and after" in figure.caption
    # Before: 1, 2, 2 of texts nobody corrected; now: 2, 2 and the 5 of the corrected one.
    titles = [piece.split("</title>")[0] for piece in figure.svg.split("<title>")[2:]]
    assert titles == ["1: 1", "1: 0", "2: 2", "2: 2", "3: 0", "3: 0", "4: 0", "4: 0", "5: 0", "5: 1"]


def test_raters_use_of_the_scale_is_taken_out_and_changed_ranks_are_told():
    # Bass is better by one, but only the strict rater met it; both rated the third system's outputs.
    unit, rater = [0, 1, 2, 2, 3, 3, 4, 5], [0, 0, 0, 1, 0, 1, 1, 1]
    votes = made_votes(
        rating_question(), unit, [4, 4, 5, 3, 4, 2, 3, 3], rater=rater, first=[0, 0, 2, 2, 1, 1]
    )
    rows = {row["system"]: row for row in cells(table("normalised", votes))}
    assert rows["alto"]["given_rank"] < rows["bass"]["given_rank"]
    assert rows["bass"]["severity_rank"] < rows["alto"]["severity_rank"]
    said = text_of(blocks(votes))
    assert said.count("Ranks that change") == 1
    assert "without severity: bass 3 → 1" in said
    assert "No system's rank changes" in text_of(blocks(crossed(items=30)))


def test_the_strictest_rater_is_listed_first_with_what_the_figure_rests_on():
    first, *others = cells(table("severities", crossed(items=30)))
    assert (first["rater"], first["ratings"], first["shared"]) == ("R2", 90, 90)
    assert first["severity"].low > max(one["severity"].high for one in others)
    assert sum(one["severity"].value for one in (first, *others)) == pytest.approx(0, abs=1e-9)
    apart = made_votes(rating_question(), [0, 0, 1, 2], [5, 3, 1, 2], rater=[0, 1, 2, 2], first=[0, 1, 1])
    alone = next(row for row in cells(table("severities", apart)) if row["rater"] == "R2")
    assert alone["severity"].low is None
    assert alone["severity"].reason


def test_raters_who_met_other_systems_are_warned_about():
    votes = made_votes(rating_question(), [0, 1, 2, 3], [1, 2, 4, 5], rater=[0, 0, 1, 1], first=[0, 1, 1, 2])
    (warning,) = warnings(blocks(votes))
    assert "Of 2 raters 0 met all 3 systems, 2 met half of them or more and 0 met fewer" in warning
    (row,) = cells(table("company", votes))
    assert row["overlap"] == Measured(1 / 3)
    assert row["apart"] == 1
    assert warnings(blocks(crossed())) == []


def test_a_system_that_came_late_is_warned_about():
    votes = crossed()
    at = np.where(votes.units.first[votes.unit] == 2, 9e4, 0.0) + np.arange(len(votes))
    (warning,) = warnings(blocks(crossed(at=at)))
    assert "cello (quarter 1, 2)" in warning


def test_variance_is_counted_in_every_reading_and_beside_noise():
    votes = made_votes(rating_question(), [0, 0, 1, 1, 2, 2, 3], [1, 5, 2, 4, 3, 3, 1])
    assert [row["units"] for row in cells(table("variance", votes))] == [1, 2, 2, 2]
    assert [row["of_all"] for row in cells(table("variance", votes))] == [0.25, 0.5, 0.5, 0.5]
    noise = cells(table("noise", votes))
    assert [(row["threshold"], row["units"]) for row in noise] == [(1.0, 1), (2.0, 1)]
    assert all(row["expected"].low <= row["expected"].value <= row["expected"].high for row in noise)


def test_what_people_disagree_about_is_listed_with_its_evidence():
    votes = made_votes(
        rating_question(), [0, 0, 1, 1, 2, 2, 3, 3], [1, 5, 1, 4, 3, 3, 1, 5], first=[0, 1, 0, 1],
        strata={"modality": (["music", "speech"], [0, 0, 1, 1])},
    )  # fmt: skip
    # Somebody reported a fault of the last unit's task; the first has two comments.
    remarks = Remarks(np.array([1, 4]), np.array([0, 1]), np.array([2, 1]))
    facts = {"remarks": remarks, "item_names": lambda ids: {one: f"item-{one}" for one in ids}}
    assert [tuple(row.values()) for row in cells(table("disputed", votes, **facts))] == [
        ("item-1", "alto", "1, 5", 4.0, 2), ("item-2", "bass", "1, 4", 2.25, 0),
    ]  # fmt: skip
    parts = {(row["by"], row["part"]): row for row in cells(table("contested", votes, **facts))}
    assert (parts["", "All"]["far"], parts["", "All"]["contested"]) == (3, 2)
    assert parts["system", "bass"]["share"] == 0.5
    assert parts["modality", "music"]["share"] == 1.0
    assert parts["modality", "speech"]["contested"] == 0


def test_strict_and_lenient_raters_alone_make_no_dispute():
    unit, rater = np.repeat(np.arange(20), 2), np.tile([0, 1], 20)
    value = np.where(rater == 0, 5, 2)
    votes = made_votes(rating_question(), unit.tolist(), value.tolist(), rater=rater.tolist())
    everything = cells(table("contested", votes))[0]
    assert (everything["far"], everything["contested"]) == (20, 0)
    assert "disputed" not in keys(blocks(votes))


def test_mushra_has_medians_with_and_without_marked_listeners():
    asked = replace(rating_question(), points=(), width=100.0, per_candidate=True)
    unit, rater = [0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 2, 2]
    votes = made_votes(asked, unit, [100, 40, 98, 60, 20, 90], rater=rater, first=[0, 1])
    clean = ScreenedListener(1, 0.0, 0, None, ())
    marked = ScreenedListener(1, 1.0, 0, None, ("hidden_reference_low",))
    facts = {
        "listeners": {"R0": clean, "R1": clean, "R2": marked},
        "ends": (0.0, 100.0),
        "roles": {"alto": "Hidden reference"},
    }
    first, second = cells(table("mushra", votes, **facts))
    assert (first["system"], first["role"], first["n"]) == ("alto", "Hidden reference", 3)
    assert first["median"] == Measured(98.0, 59.0, 99.0)
    assert first["iqr"] == 40.0
    assert (first["screened_n"], first["screened_median"].value) == (2, 99.0)
    assert second["screened_median"].value == 50.0
    clean_only = cells(table("mushra", votes, **{**facts, "listeners": {"R0": clean}}))
    assert "screened_n" not in clean_only[0]


@pytest.mark.parametrize(
    ("unit", "value", "rater"),
    [
        ([0], [3], [0]),
        ([0], [3], None),
        ([0, 0, 0], [3, 3, 3], [0, 1, 2]),
        ([0, 1, 2], [3, 3, 3], [0, 0, 0]),
        ([0, 1, 2], [1, 3, 5], [0, 0, -1]),
        ([0, 0], [1, 5], [0, 0]),
    ],
)
@pytest.mark.parametrize("systems", [[0, 0, 0], [0, 1, 2], [-1, -1, -1]])
def test_odd_studies_have_defined_results(unit, value, rater, systems):
    votes = made_votes(rating_question(), unit, value, rater=rater, first=systems[: max(unit) + 1])
    for block in blocks(votes):
        if isinstance(block, Table):
            for cell in (cell for row in block.rows for cell in row):
                numbers = [cell.value, cell.low, cell.high] if isinstance(cell, Measured) else [cell]
                assert all(np.isfinite(n) for n in numbers if isinstance(n, int | float))
                assert not isinstance(cell, Measured) or cell.low is not None or cell.reason


def test_a_scale_without_ends_names_no_large_variance_and_excluded_ratings_count_nowhere():
    endless = replace(rating_question(), points=(), width=None)
    found = blocks(made_votes(endless, [0, 0, 1, 1], [-2.5, 100, 7, 7]))
    assert "variance" not in keys(found)
    assert "has no ends" in text_of(found)
    (only,) = blocks(made_votes(rating_question(), [0, 0], [1, 5], status=[1, 1]))
    assert "no rating counts" in only.text


def test_names_are_counted_and_not_averaged():
    named = replace(rating_question(), level="nominal")
    assert keys(blocks(made_votes(named, [0, 1], [1, 5]))) == {"values", "distribution"}


# What these sections read besides votes, from a study in the database.


@pytest.mark.django_db
def test_codes_and_comments_of_judgments_that_count_are_found_by_task():
    study = factories.StudyFactory(overlap=9)
    bell, dog, cat = (factories.rating_task(study, name) for name in ("bell", "dog", "cat"))
    vote(bell, 1, codes=["Q"], comment="Which one?")
    vote(bell, codes=["U"])  # could not answer
    vote(dog, 2, comment="Clear.")
    vote(dog, 3, codes=["A"], excluded=True)
    vote(dog, 3, codes=["A"], origin=Judgment.Origin.EXPERT)
    vote(cat, 2)
    found = value_counts.remarks_by_task(study)
    columns = (found.task.tolist(), found.coded.tolist(), found.commented.tolist())
    assert columns == ([bell.pk, dog.pk], [2, 0], [1, 1])
    names = items.item_external_ids([bell.item_version.item_id, cat.item_version.item_id])
    assert sorted(names.values()) == ["bell", "cat"]


@pytest.mark.django_db
def test_a_mushra_study_brings_roles_listeners_and_the_ends_of_its_scale(tmp_path: Path):
    study = presets.running_study("mushra", tmp_path, overlap=9)
    good, deaf = listener(study), listener(study, reference=80)
    made = material_of(study)
    (votes,) = made.votes
    found = load_ratings(made, votes)
    assert scale_ends(votes.question) == found.ends == (0.0, 100.0)
    assert sorted(set(found.roles.values())) == ["Anchor, 3.5 kHz", "Anchor, 7 kHz", "Hidden reference"]
    assert {name for name, one in found.listeners.items() if one.marks} == {deaf}
    assert (found.all_named, found.n_named_raters) == (True, 2)
    table = tables_of(ratings_section(made))["ratings-mushra-quality"]
    reference = next(row for row in rows_of(table) if row["role"] == "Hidden reference")
    assert (reference["median"].value, reference["screened_median"].value) == (90.0, 100.0)
    assert Rater.objects.filter(study=study, pseudonym=good).exists()


@pytest.mark.django_db
def test_a_study_of_preferences_has_no_section_on_ratings(tmp_path: Path):
    study = presets.running_study("cmi-pref", tmp_path)
    assert ratings_section(material_of(study)) is None
