from __future__ import annotations

import pytest

from analytics.datasets.formats import EXPORT_FORMATS
from analytics.datasets.records import check_records
from annotation.listening import checks
from annotation.models import Rater
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    study = factories.StudyFactory(slug="s")
    return checks.set_check_rules(study, actor=None, require=["level", "antiphase"])


def take(user, kind: str, *, n_right: int) -> None:
    check = checks.start_check(user, "s", kind=kind)
    for number, trial in enumerate(check.trials):
        wrong = ((trial["key"] or 0) + 1) % 3
        checks.answer_trial(
            user, check.pk, trial=number, choice=(trial["key"] or 0) if number < n_right else wrong
        )


def test_every_finished_run_is_there_with_its_result_and_its_time(study):
    user = factories.member(study)
    take(user, "level", n_right=1)
    take(user, "antiphase", n_right=4)
    take(user, "antiphase", n_right=5)
    checks.start_check(user, "s", kind="antiphase")  # never finished
    records = list(check_records(study))
    assert [(r["check"], r["passed"], r["n_correct"], r["n_trials"]) for r in records] == [
        ("level", True, None, 1),
        ("antiphase", False, 4, 6),
        ("antiphase", True, 5, 6),
    ]
    assert {record["rater"] for record in records} == {Rater.objects.get().pseudonym}
    assert all(record["started_at"] <= record["finished_at"] for record in records)


def test_neither_keys_nor_accounts_are_told(study):
    take(factories.member(study, email="ada@example.org"), "antiphase", n_right=6)
    (record,) = check_records(study)
    assert set(record) == {
        "study", "rater", "check", "passed", "n_correct", "n_trials", "started_at", "finished_at"
    }  # fmt: skip


def test_another_studys_checks_stay_there(study):
    take(factories.member(study), "level", n_right=1)
    assert list(check_records(factories.StudyFactory())) == []


def test_csv_has_a_row_for_each(study):
    take(factories.member(study), "level", n_right=1)
    head, row = EXPORT_FORMATS["csv"].lines["checks"](check_records(study))
    assert head == "study,rater,check,passed,n_correct,n_trials,started_at,finished_at\r\n"
    assert row.split(",")[2:6] == ["level", "true", "", "1"]
