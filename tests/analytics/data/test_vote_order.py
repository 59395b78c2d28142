"""The same data stored in another order are read in one order, and every figure comes out alike to the last digit."""

from __future__ import annotations

import numpy as np
import pytest

from analytics.data.votes import in_reproducible_order, numbered_by_appearance
from analytics.reports.sections.material import ReportSettings
from analytics.reports.study_report import study_report
from analytics.statistics.bootstrap import Resampling
from annotation.models import Answer, Study
from tests import factories
from tests.analytics.votes import vote

NOT_IMPORTED = np.zeros(4, dtype=np.int64)
IMPORTED = np.ones(4, dtype=np.int64)
UNIT = np.array([1, 0, 1, 0])
NOBODY = np.full(4, -1)


def test_votes_given_here_stay_in_the_order_of_time_after_imported_ones():
    value = np.arange(4.0)
    assert in_reproducible_order(NOT_IMPORTED, UNIT, [value], NOBODY).tolist() == [0, 1, 2, 3]
    assert in_reproducible_order(np.array([0, 0, 1, 1]), UNIT, [value], NOBODY).tolist() == [3, 2, 0, 1]


def test_imported_votes_come_in_the_same_order_however_they_were_stored():
    value, confidence = np.array([1.0, 2, 3, 4]), np.array([np.nan, 1, np.nan, 2])
    for stored in ([3, 2, 1, 0], [2, 0, 3, 1]):
        order = in_reproducible_order(IMPORTED, UNIT[stored], [value[stored], confidence[stored]], NOBODY)
        expected = in_reproducible_order(IMPORTED, UNIT, [value, confidence], NOBODY)
        assert value[stored][order].tolist() == value[expected].tolist()
    assert UNIT[expected].tolist() == [0, 0, 1, 1]


def test_the_lowest_of_imported_votes_does_not_pass_for_the_first():
    unit, value = np.repeat(np.arange(400), 2), np.tile([1.0, 2.0], 400)
    order = in_reproducible_order(np.ones(800, dtype=np.int64), unit, [value], np.full(800, -1))
    assert 160 < (value[order][::2] == 1).sum() < 240


def test_ids_become_numbers_in_the_order_of_their_first_rows():
    assert numbered_by_appearance(np.array([7, 7, 3, 9, 3])).tolist() == [0, 0, 1, 2, 1]


def rated(slug: str, *, turned: bool) -> Study:
    study = factories.StudyFactory(slug=slug, title="Answers", overlap=9)
    places = range(9)[::-1] if turned else range(9)
    for place in places:
        system, name = "Well " * (1 + place * place % 7), f"item-{place:02}"
        task = factories.rating_task(study, name, system=system, question=f"Question {place % 5}?")
        values = [1 + place % 5, 1 + (place * place + 1) % 5, 2.0]
        for value in values[::-1] if turned else values:
            vote(task, value)
    return study


def compared(slug: str, *, turned: bool) -> Study:
    study = factories.StudyFactory(slug=slug, title="Music", preset="cmi-pref", overlap=9)
    for place in range(9)[::-1] if turned else range(9):
        task = factories.comparison_task(study, f"pair-{place}")
        given = [
            (Answer.Choice(1 + place % 4), 1.0 + place % 5),
            (Answer.Choice.FIRST, 2.0),
            (Answer.Choice.TIE, 5.0),
        ]
        for choice, sure in given[::-1] if turned else given:
            vote(task, question="alignment", choice=choice, confidence=sure)
    return study


@pytest.mark.django_db
@pytest.mark.parametrize("study_of", [rated, compared])
def test_a_report_does_not_depend_on_the_order_of_the_rows(study_of):
    settings = ReportSettings("items", Resampling(replicates=20))
    made = [
        study_report(
            study_of(f"study-{turned:d}", turned=turned), settings, language="en", progress=lambda done: None
        )
        for turned in (False, True)
    ]
    assert dict(made[0].facts) | {"Study": ""} == dict(made[1].facts) | {"Study": ""}
    assert repr(made[0].sections) == repr(made[1].sections)
