"""What a study's agreement says, and what it leaves out."""

from __future__ import annotations

import pytest

from analytics.reports.agreement import study_agreement
from annotation.errors import InvalidInput
from annotation.models import Answer, Study
from annotation.studies import protocols
from tests import factories
from tests.analytics.protocols import protocol, scale, side
from tests.analytics.votes import vote, votes

pytestmark = pytest.mark.django_db

FIRST, SECOND, TIE, BOTH_BAD = (int(choice) for choice in Answer.Choice)
# Data C of Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011): four observers, twelve units.
OBSERVERS = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")


def result(study: Study, key: str, **options) -> dict:
    return {one.question.key: one.as_json() for one in study_agreement(study, **options)}[key]


@pytest.fixture
def rated() -> Study:
    study = factories.StudyFactory(overlap=4)
    raters = [factories.rater(study) for _ in OBSERVERS]
    for unit in range(12):
        task = factories.rating_task(study, f"unit {unit}")
        for rater, line in zip(raters, OBSERVERS, strict=True):
            if line[unit] != ".":
                vote(task, float(line[unit]), rater=rater)
    return study


@pytest.fixture
def compared() -> Study:
    study = factories.StudyFactory(overlap=4)
    definition = protocol(side(tie=True, both_bad=True), layout="comparison")
    protocols.add_protocol_version(study, definition=definition, actor=None)
    for name, choices in (("a", [1, 1]), ("b", [2, 2]), ("c", [1, 2]), ("d", [3, 1]), ("e", [4, 2])):
        task = factories.comparison_task(study, name)
        for choice in choices:
            vote(task, question="better", choice=choice)
    return study


def test_it_gives_the_published_alpha_with_everything_beside_it(rated):
    found = result(rated, "correctness")
    assert found["alpha"] == pytest.approx(0.8153875038, abs=1e-9)  # the published 0.815
    assert (found["level"], found["reason"]) == ("ordinal", None)
    assert (found["units"], found["ratings"], found["raters"]) == (12, 41, 4)
    assert (found["pairable_units"], found["pairable_ratings"]) == (11, 40)
    assert found["ci95"][0] < found["alpha"] < found["ci95"][1] <= 1
    # 43 of the 55 pairs of ratings within a unit are equal, counted by hand.
    assert found["percent_agreement_kind"] == "pooled_pairs"
    assert found["percent_agreement"] == pytest.approx(43 / 55)


@pytest.mark.parametrize(
    ("level", "alpha"), [("nominal", 0.7434210526), ("interval", 0.8491071429), ("ratio", 0.7974027747)]
)
def test_the_level_can_be_overruled(rated, level, alpha):
    found = result(rated, "correctness", level=level)
    assert (found["level"], found["alpha"]) == (level, pytest.approx(alpha, abs=1e-9))


def test_an_unknown_level_is_refused_by_name(rated):
    with pytest.raises(InvalidInput, match="'ordnal' is not a level of measurement; use nominal, ordinal"):
        study_agreement(rated, level="ordnal")


def test_without_ratings_there_is_a_reason_and_no_number():
    study = factories.StudyFactory()
    found = result(study, "correctness")
    assert (found["alpha"], found["ci95"], found["reason"]) == (None, None, "no_ratings")
    assert (found["units"], found["ratings"], found["raters"]) == (0, 0, 0)


def test_equal_ratings_are_not_perfect_agreement():
    study = factories.StudyFactory()
    votes(factories.rating_task(study, "a"), [3, 3, 3])
    found = result(study, "correctness")
    assert (found["alpha"], found["reason"], found["percent_agreement"]) == (None, "no_variation", 1.0)


def test_raters_that_nobody_named_are_not_counted_as_people():
    study = factories.StudyFactory(overlap=9)
    task = factories.rating_task(study, "a")
    votes(task, [3, 4])
    for n in (None, 1):
        found = result(study, "correctness")
        assert (found["raters"], found["unnamed_raters"]) == (n, True)
        vote(task, 3, rater=factories.rater(study))


def test_preferences_are_nominal_as_stored_with_the_form_that_ignores_which_is_first(compared):
    found = result(compared, "better")
    assert (found["level"], found["units"], found["ratings"]) == ("nominal", 5, 10)
    assert found["symmetric"]["level"] == "nominal-symmetric"
    # Only votes for a side: two unanimous pairs, one split pair, two single votes.
    assert (found["symmetric"]["units"], found["symmetric"]["ratings"]) == (5, 8)
    # Do = 2 / 6, De = 0.5 * 6 / 5.
    assert found["symmetric"]["alpha"] == pytest.approx(1 - (2 / 6) / 0.6)


def test_swapping_the_listed_order_moves_only_the_alpha_of_stored_labels():
    def agreement(swapped: bool) -> dict:
        study = factories.StudyFactory(preset="cmi-pref")
        for name, choices in (("a", [1, 1, 1]), ("b", [1, 1, 2]), ("c", [2, 2, 1])):
            task = factories.comparison_task(study, name)
            flip = swapped and name == "b"
            for choice in choices:
                vote(task, question="alignment", choice=3 - choice if flip else choice)
        return result(study, "alignment")

    listed, swapped = agreement(False), agreement(True)
    assert listed["symmetric"]["alpha"] == pytest.approx(swapped["symmetric"]["alpha"])
    assert listed["alpha"] != pytest.approx(swapped["alpha"])


def test_on_an_ordered_level_a_tie_lies_between_the_sides_both_bad_nowhere_and_there_is_no_ratio(compared):
    found = result(compared, "better", level="ordinal")
    assert (found["units"], found["ratings"]) == (5, 9)
    assert found["symmetric"] == result(compared, "better")["symmetric"]
    found = result(compared, "better", level="ratio")
    assert (found["level"], found["alpha"], found["reason"]) == ("ratio", None, "negative_values")


def test_answers_on_another_scale_are_named_as_left_out(rated):
    protocols.add_protocol_version(rated, definition=protocol(scale("correctness")), actor=None)
    found = result(rated, "correctness")
    versions = (found["protocol_versions"], found["protocol_versions_left_out"])
    assert (versions, found["ratings"]) == (([2], [1]), 0)
