"""New items are scored when they come, where the study says so."""

from __future__ import annotations

import pytest

from annotation.errors import InvalidInput
from annotation.models import AuditEvent
from annotation.review import adjudication
from scoring.models import ScoringRun
from scoring.policies import prescoring
from scoring.runs import scoring_runs, worker
from tests import factories
from tests.annotation.importing.desk import corrections, judged
from tests.annotation.importing.importing import bring, write
from tests.scoring.doubles import register

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _word_count(monkeypatch):
    register(monkeypatch)


@pytest.fixture
def study():
    study = factories.StudyFactory()
    wanted = [{"metric": "word-count", "options": {"version": "3"}}]
    return prescoring.set_prescore(study, wanted, actor=None)


def test_an_import_asks_for_the_runs_that_the_study_names(study, tmp_path):
    assert bring(study, write(tmp_path / "x.csv", {"item_id": "new"})).state == "done"
    run = ScoringRun.objects.get()
    assert (run.study, run.metric, run.options, run.filter) == (study, "word-count", {"version": "3"}, {})


def test_imports_join_a_run_that_has_not_looked_for_its_rows(study, tmp_path):
    for number in range(3):
        bring(study, write(tmp_path / f"{number}.csv", {"item_id": f"new {number}"}))
    run = ScoringRun.objects.get()
    worker.work_on_run(run.pk)
    run.refresh_from_db()
    assert run.n_rows == 3
    bring(study, write(tmp_path / "3.csv", {"item_id": "new 3"}))
    assert ScoringRun.objects.count() == 2


def test_an_import_joins_no_run_that_does_something_else(study, tmp_path):
    part = {"metric": "word-count", "options": {"version": "3"}, "filter": {"systems": ["x"]}}
    for fields in (part, {**part, "filter": {}, "again": True}, {**part, "filter": {}, "state": "cancelled"}):
        ScoringRun.objects.create(study=study, **fields)
    scoring_runs.request(study, "word-count", {"version": "4"}, actor=None)
    bring(study, write(tmp_path / "x.csv", {"item_id": "new"}))
    assert ScoringRun.objects.count() == 5


def test_an_import_that_adds_nothing_asks_for_nothing(study, tmp_path):
    source = write(tmp_path / "x.csv", {"item_id": "new"})
    bring(study, source)
    bring(study, source)
    assert ScoringRun.objects.count() == 1


def test_an_import_that_fails_asks_for_nothing(study, tmp_path):
    assert bring(study, write(tmp_path / "x.csv", {"question": "no such"}, {"system": ""})).state == "failed"
    assert not ScoringRun.objects.exists()


def test_a_setting_that_has_gone_out_of_use_keeps_no_items_out(study, tmp_path):
    study.rules["prescore"] = [{"metric": "gone", "options": {}}]
    study.save()
    assert bring(study, write(tmp_path / "x.csv", {"item_id": "new"})).state == "done"
    event = AuditEvent.objects.get(action="scoring.not_requested")
    assert event.subject == "gone"
    assert "there is no scorer 'gone'" in event.data["why"]


@pytest.mark.parametrize(
    "wanted", [[{"metric": "gone"}], [{"options": {}}], [{"metric": "word-count", "options": {"size": 1}}]]
)
def test_what_cannot_be_used_is_not_kept(study, wanted):
    with pytest.raises(InvalidInput):
        prescoring.set_prescore(study, wanted, actor=None)
    study.refresh_from_db()
    assert study.rules["prescore"][0]["options"] == {"version": "3"}


def test_a_correction_asks_for_them_too(study):
    expert = factories.member(study, "expert")
    one = judged(expert, factories.rating_task(study, "a"))
    adjudication.correct_item(expert, one.pk, corrections(one))
    assert [run.metric for run in ScoringRun.objects.filter(study=study)] == ["word-count"]
