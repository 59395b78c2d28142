"""Reports in the background: one at a time, what was asked for, and the same bytes as the command's."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from analytics.reports import study_report
from analytics.reports.render.files import document_file, tables_and_figures
from analytics.reports.render.html import render_standalone
from analytics.reports.study_report import STEPS
from annotation.errors import InvalidInput
from annotation.jobs import jobs
from annotation.models import Job, Study
from tests import factories
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
    document = study_report.document_of_job(done)
    arguments = (
        "--interval",
        "units",
        "--replicates",
        "20",
        "--seed",
        "3",
        "--tables",
        str(tmp_path / "tables"),
    )
    said = typed("s", "--out", str(tmp_path / "report.html"), *arguments)
    assert said.splitlines()[-1] == f"{len(STEPS)} of {len(STEPS)}: References"
    assert (tmp_path / "report.html").read_bytes() == render_standalone(document).encode()
    assert (tmp_path / "report.html").read_bytes() == document_file(document, "report", "html", folder="s")
    files = {path.name: path.read_bytes() for path in (tmp_path / "tables").iterdir()}
    assert files == {name: text.encode() for name, text in tables_and_figures(document).items()}


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
