"""`manage.py export`, as typed."""

from __future__ import annotations

from functools import partial

import pytest
from django.core.management import CommandError

from annotation.models import AuditEvent, Study
from tests import factories
from tests.analytics.reports import reading
from tests.analytics.votes import votes

pytestmark = pytest.mark.django_db
typed = partial(reading.typed, "export")


@pytest.fixture
def study() -> Study:
    study = factories.StudyFactory()
    votes(factories.rating_task(study, "a"), [1, 2])
    return study


@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_it_fills_the_folder_and_says_what_is_there(study, tmp_path, format):
    said = typed(study.slug, "--format", format, "--out", str(tmp_path / "out"))
    assert said.startswith("2 judgments with 2 answers and 1 item versions are in ")
    assert (tmp_path / "out" / f"judgments.{format}").stat().st_size > 0


def test_what_was_written_is_in_the_log_and_what_failed_is_not(study, tmp_path):
    typed(study.slug, "--format", "jsonl", "--out", str(tmp_path / "out"))
    with pytest.raises(CommandError):
        typed(study.slug, "--format", "jsonl", "--out", str(tmp_path / "out"))
    event = AuditEvent.objects.get(action="export.written")
    assert (event.study, event.actor, event.data["format"]) == (study, None, "jsonl")
    assert event.data["counts"]["judgments"] == 2
    assert str(tmp_path) not in str(event.data)


def test_a_relative_folder_is_meant_from_where_one_stands(study, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    typed(study.slug, "--format", "jsonl", "--out", "here")
    assert (tmp_path / "here" / "manifest.json").exists()


@pytest.mark.parametrize(
    ("slug", "arguments", "sentence"),
    [
        ("nowhere", ("--format", "jsonl", "--out", "new"), "no study with the address 'nowhere'"),
        ("", ("--format", "xml", "--out", "new"), "'xml' is not an export format; use jsonl or csv"),
        ("", ("--format", "csv", "--out", "."), "not an empty folder"),
        (
            "",
            ("--format", "csv", "--out", "mine.txt/out"),
            "could not be written, and nothing was left behind",
        ),
    ],
    ids=["unknown study", "unknown format", "full folder", "no folder"],
)
def test_what_cannot_be_written_is_a_sentence(study, tmp_path, monkeypatch, slug, arguments, sentence):
    (tmp_path / "mine.txt").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CommandError, match=sentence):
        typed(slug or study.slug, *arguments)
