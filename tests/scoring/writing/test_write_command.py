"""`manage.py write`, as somebody types it."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from scoring.models import Writer, WritingRun
from scoring.writing import writing_runs
from tests.scoring.writing_doubles import study_of, texts, use, writer_of

__all__ = ["use"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("use")]


def write(*arguments: object) -> str:
    out = StringIO()
    call_command("write", *map(str, arguments), stdout=out, stderr=out)
    return out.getvalue()


def test_a_writer_is_set_up_and_writes_and_publishes():
    study = study_of(["rain", "undecodable"])
    made = ["--add", "Explains", "--writes", "rationale", "--backbone", "a/model", "--price-out", "10"]
    assert "Explains writes Rationale by a/model" in write(study.slug, *made, "--option", "listens=no")
    assert Writer.objects.get().options["listens"] is False
    assert "Explains: rationale, a/model" in write(study.slug, "--list")
    told = write(study.slug, "--writer", "Explains")
    assert "1 × undecodable: This file is damaged. (first: item-1)" in told
    assert "1 failed, 1 published, 10 tokens read, 3 written, cost 0.0000" in told
    assert texts(study)["rain"] == "On rain"


def test_one_looks_first_and_publishes_then():
    study = study_of(["rain"])
    writer_of(study)
    told = write(study.slug, "--writer", "rationale writer", "--look-first", "--item", "item-0")
    run = WritingRun.objects.get()
    assert f"--publish {run.pk}" in told
    assert texts(study)["rain"] == ""
    WritingRun.objects.update(state=WritingRun.State.CANCELLED)
    told = write(study.slug, "--publish", run.pk)
    assert "1 published" in told
    assert "--publish" not in told
    assert texts(study)["rain"] == "On rain"


def test_a_file_is_taken_in(tmp_path):
    study = study_of(["rain"])
    file = tmp_path / "answers.csv"
    file.write_text("item,system,text\nitem-0,Gemma,Rain.\n")
    with pytest.raises(CommandError, match="row 2, system: 'Gemma' is no system of this study"):
        write(study.slug, "--file", file)
    assert "1 rows; 0 of them say what is there already." in write(
        study.slug, "--file", file, "--new-systems"
    )
    assert "1 of them say" in write(study.slug, "--file", file)


def test_what_cannot_be_done_is_said():
    study = study_of(["gone"])
    writer = writer_of(study)
    with pytest.raises(CommandError, match="has no writer 'nobody'; it has rationale writer"):
        write(study.slug, "--writer", "nobody")
    with pytest.raises(CommandError, match="no study with the address"):
        write("nowhere", "--list")
    with pytest.raises(CommandError, match="Say what it writes"):
        write(study.slug, "--add", "X")
    with pytest.raises(CommandError, match="The server is gone"):
        write(study.slug, "--writer", writer.name)
    writing_runs.retry(WritingRun.objects.get(), actor=None)
    assert "is cancelled" in write(study.slug, "--cancel", WritingRun.objects.get().pk)
