"""Reports in the background and over HTTP: one at a time, as asked for, and the same bytes as the command's."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from analytics.reports import study_report
from analytics.reports.document import document_json
from analytics.reports.render.files import document_file, tables_and_figures
from analytics.reports.render.html import render_standalone
from analytics.reports.study_report import STEPS
from annotation.errors import InvalidInput
from annotation.jobs import jobs
from annotation.models import Job, Study
from tests import factories
from tests.analytics.reports.render.documents import document
from tests.analytics.votes import votes

ASKED = {"interval": "units", "replicates": 20, "seed": 3, "language": "en"}


@pytest.fixture
def study() -> Study:
    study = factories.StudyFactory(slug="s", overlap=9)
    for name, values in (("a", [1, 2]), ("b", [4, 4]), ("c", [5, 3])):
        votes(factories.rating_task(study, name), values)
    return study


def typed(*arguments: str) -> str:
    out = io.StringIO()
    call_command("report", *arguments, stderr=out)
    return out.getvalue()


@pytest.mark.django_db(transaction=True)
def test_the_page_and_the_command_give_the_same_bytes(study, tmp_path: Path):
    job = study_report.start_report(study, actor=factories.member(study, "researcher"), **ASKED)
    assert jobs.run(job.pk)
    job.refresh_from_db()
    assert (job.state, job.done, job.total) == ("done", len(STEPS), len(STEPS))
    done = study_report.last_finished_report(study)
    assert done is not None
    report = study_report.document_of_job(done)
    settings = ("--interval", "units", "--replicates", "20", "--seed", "3")
    said = typed("s", "--out", str(tmp_path / "report.html"), "--tables", str(tmp_path / "tables"), *settings)
    assert said.splitlines()[-1] == f"{len(STEPS)} of {len(STEPS)}: References"
    page = (tmp_path / "report.html").read_bytes()
    assert page == render_standalone(report).encode() == document_file(report, "report", "html", folder="s")
    files = {path.name: path.read_bytes() for path in (tmp_path / "tables").iterdir()}
    assert files == {name: text.encode() for name, text in tables_and_figures(report).items()}


@pytest.mark.django_db
def test_a_report_that_is_under_way_is_not_started_again(study):
    actor = factories.member(study, "researcher")
    first = study_report.start_report(study, actor=actor, **ASKED)
    assert study_report.start_report(study, actor=actor) == first
    Job.objects.update(state=Job.State.DONE)
    assert study_report.start_report(study, actor=actor) != first


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("interval", "normal", "use jackknife, units or items"),
        ("replicates", 0, "from 1 to 20000"),
        ("seed", -1, "from 0 to"),
        ("language", "fr", "use en or zh-hans"),
    ],
)
def test_what_cannot_be_done_is_refused_with_what_can(study, name, value, sentence, tmp_path: Path):
    actor = factories.member(study, "researcher")
    with pytest.raises(InvalidInput, match=sentence) as refused:
        study_report.start_report(study, actor=actor, **{**ASKED, name: value})
    assert refused.value.code == f"bad_{name}"
    assert not Job.objects.exists()
    with pytest.raises(CommandError, match=sentence):
        typed("s", "--out", str(tmp_path / "r.html"), f"--{name}", str(value))
    assert not list(tmp_path.iterdir())


@pytest.mark.django_db
def test_the_command_says_what_it_cannot_find_or_write(study, tmp_path: Path):
    with pytest.raises(CommandError, match="no study with the address 'nowhere'"):
        typed("nowhere", "--out", str(tmp_path / "r.html"))
    with pytest.raises(CommandError, match="cannot be written"):
        typed("s", "--out", str(tmp_path / "none" / "r.html"), "--replicates", "1")


@pytest.mark.django_db
def test_the_last_report_is_had_as_data(api, world):
    found = api(world.researcher).get("studies/here/report/").json()
    assert found == {"computed_at": None, "settings": None, "document": None}
    fields = {"report": document_json(document()), "params": {"seed": 3}, "finished_at": timezone.now()}
    Job.objects.create(kind="report", study=world.study, state="done", **fields)
    found = api(world.admin).get("studies/here/report/").json()
    assert found["settings"] == {"seed": 3}
    assert [one["key"] for one in found["document"]["sections"]] == ["preferences", "methods"]


@pytest.mark.django_db
def test_one_can_be_asked_for_with_its_settings(api, world):
    answer = api(world.researcher).post("studies/here/report/", {"interval": "units", "seed": 5})
    assert (answer.status_code, answer.json()["state"]) == (202, "queued")
    params = {"interval": "units", "replicates": 1000, "seed": 5, "language": "en"}
    assert Job.objects.get(pk=answer.json()["job"]).params == params


@pytest.mark.django_db
@pytest.mark.parametrize("asked", [{"interval": "normal"}, {"seed": -1}, {"replicates": 0}, {"sed": 1}])
def test_what_cannot_be_done_is_refused_by_the_name_of_its_field(api, world, asked):
    answer = api(world.researcher).post("studies/here/report/", asked)
    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == list(asked)
    assert not Job.objects.filter(kind="report").exists()
