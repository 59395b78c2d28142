"""What an export says of listening: gains, seconds heard, switches and the length of the session."""

from __future__ import annotations

from typing import Any

import pytest

from analytics.datasets.records import judgment_records, listening_record
from annotation.models import Study
from annotation.rating import judgments, leases
from tests import factories
from tests.annotation.importing.answers import comparison

LOG = {
    "heard": {"a": [[0, 4.8], [3, 6]], "b": [[1, 1.5]], "reference": [[0, 3]]},
    "switches": 5,
    "session_s": 1234,
}


def told(telemetry: Any, *, gains: Any = (-5.0, 0.0), presentation: Any = (1, 0), layout: str = "comparison"):
    return listening_record(telemetry, gains=gains, presentation=presentation, layout=layout)


def test_seconds_are_of_unique_coverage_in_the_order_shown():
    assert told(LOG) == {
        "gains_db": [-5.0, 0.0],
        "heard_s": [6, 0.5],
        "heard_item_s": {"reference": 3},
        "switches": 5,
        "session_s": 1234,
    }


def test_a_clip_that_was_not_played_was_heard_for_no_time():
    assert told({"heard": {"b": [[0, 1]]}})["heard_s"] == [0, 1]


def test_the_third_of_an_abx_test_is_x():
    record = told({"heard": {"a": [[0, 1]], "x": [[0, 2]]}}, presentation=(0, 1, 0), layout="abx")
    assert (record["heard_s"], record["heard_item_s"]) == ([1, 0, 2], {})


@pytest.mark.parametrize(
    "telemetry", [None, {}, {"heard": "all"}, {"switches": -1}, {"heard": {"a": [[9, 1]]}}]
)
def test_without_a_log_or_with_nonsense_nothing_is_guessed(telemetry):
    record = told(telemetry, gains=None)
    assert set(record.values()) == {None}


@pytest.mark.parametrize("value", [True, "long", -1, None, float("nan"), 10**400, [3]])
def test_a_session_without_a_length_has_none(value):
    assert told({"session_s": value})["session_s"] is None


def test_an_import_does_not_say_in_which_order_clips_were_heard():
    record = told(LOG, presentation=None)
    assert (record["heard_s"], record["heard_item_s"]) == (None, None)


@pytest.mark.django_db
def test_it_is_part_of_a_judgments_record():
    study: Study = factories.StudyFactory(preset="cmi-pref")
    factories.comparison_task(study, "pair")
    user = factories.member(study)
    _, lease = leases.lease_next(user, study.slug)
    judgments.submit(user, lease.id, comparison(telemetry={"heard": {"a": [[0, 0.5]]}, "switches": 1}))
    (record,) = judgment_records(study)
    assert (record["gains_db"], record["heard_s"], record["switches"]) == ([0.0, 0.0], [0.5, 0], 1)
