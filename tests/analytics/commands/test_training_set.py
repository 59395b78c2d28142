from __future__ import annotations

from functools import partial

import pytest
from django.core.management import CommandError

from analytics.datasets.formats import writers
from annotation.models import AuditEvent
from tests import factories
from tests.analytics.reports import reading
from tests.analytics.votes import votes

pytestmark = pytest.mark.django_db
typed = partial(reading.typed, "training_set", "s")


@pytest.fixture
def study():
    study = factories.StudyFactory(slug="s", overlap=9)
    for number in range(5):
        votes(factories.rating_task(study, f"t{number}"), [number + 1] * 2)
    return study


def test_it_writes_what_is_asked_for_and_tells_the_sizes(study, tmp_path):
    told = typed(
        "--format", "mos", "--file", "jsonl", "--ratios", "3:1:1", "--seed", "4", "--out", str(tmp_path / "o")
    )
    assert "correctness: train 3, dev 1, test 1" in told
    rows = list(writers.read_rows(tmp_path / "o" / "correctness" / "train.jsonl", []))
    assert [row["n"] for row in rows] == [2, 2, 2]
    event = AuditEvent.objects.get(action="training_set.written")
    assert (event.study, event.actor, event.data["options"]["format"]) == (study, None, "mos")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--format", "arena"], "asks no preference question"),
        (["--format", "mos", "--ratios", "0:1:1"], "train is above 0"),
        (["--format", "mos", "--ratios", "8:nan:1"], "three numbers from 0 to a million"),
        (["--format", "mos", "--ratios", "some"], "invalid _ratios value"),
        (["--format", "mos", "--hold-out-systems", "nobody"], "nobody made nothing that was judged"),
    ],
)
def test_what_cannot_be_made_is_told_and_leaves_nothing(study, tmp_path, arguments, told):
    with pytest.raises(CommandError, match=told):
        typed(*arguments, "--out", str(tmp_path / "o"))
    assert not (tmp_path / "o").exists()


def test_an_unknown_study_is_told(tmp_path, db):
    with pytest.raises(CommandError, match="no study with the address 's'"):
        typed("--format", "mos", "--out", str(tmp_path / "o"))
