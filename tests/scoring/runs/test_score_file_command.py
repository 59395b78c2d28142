"""`manage.py score FILE`: what a person at a terminal is told."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from tests.annotation.audio.recordings import sine, write_wav
from tests.scoring.openai_double import OpenAIDouble


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    write_wav(tmp_path / "a.wav", sine(seconds=0.1))
    path = tmp_path / "rows.csv"
    path.write_text("audio,text\na.wav,one two\na.wav,undecodable\n")
    return path


def score(*arguments: str) -> str:
    told = io.StringIO()
    call_command("score", *arguments, stdout=told, stderr=io.StringIO())
    return told.getvalue()


def test_it_says_what_was_scored_and_why_the_rest_was_not(rows: Path) -> None:
    told = score(str(rows), "--scorer", "word-count")
    target = rows.with_name("rows.word-count.csv")
    assert f"1 of 2 rows have a score in {target}." in told
    assert "1 × undecodable" in told
    assert target.read_text().splitlines()[:2] == [
        "id,audio,text,words,fault,reason",
        "1,a.wav,one two,2.0,,",
    ]


def test_it_writes_where_it_is_told_and_goes_on_there(rows: Path, tmp_path: Path) -> None:
    arguments = (str(rows), "--scorer", "word-count", "--output", str(tmp_path / "out.jsonl"))
    score(*arguments)
    assert "1 of them had it before" in score(*arguments)
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--scorer", "no-such"], "there is no scorer 'no-such'"),
        (["--scorer", "word-count", "--option", "colour=red"], "has no such option"),
        (["--scorer", "word-count", "--detach"], "are for studies"),
        (["--scorer", "word-count", "--output", "out.xlsx"], r"out\.xlsx is none of \.csv, \.jsonl"),
        (["--scorer", "clapscore", "--checkpoint", "/gone"], "no folder /gone"),
        (["--scorer", "llm-judge", "--backbone", "/gone"], "no folder /gone"),
    ],
)
def test_it_refuses_what_cannot_be_done(rows: Path, arguments: list[str], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        score(str(rows), *arguments)
    assert sorted(path.name for path in rows.parent.iterdir()) == ["a.wav", "rows.csv"]


def test_answers_in_a_file_are_judged_by_their_references(tmp_path: Path) -> None:
    rows = tmp_path / "answers.csv"
    rows.write_text("id,question,reference,text\nx,What?,A dog,A dog barks\ny,What?,,A cat\n")
    with OpenAIDouble(say='{"score": 4}') as server:
        told = score(str(rows), "--scorer", "llm-judge", "--backbone", server.name, "--template", "brief")
    assert "1 of 2 rows have a score" in told
    assert "1 × no_reference" in told
    with (tmp_path / "answers.llm-judge.csv").open(newline="") as file:
        assert [row["value"] for row in csv.DictReader(file)] == ["0.75", ""]


def test_bad_rows_are_told_before_a_model_is_loaded(rows: Path) -> None:
    rows.write_text("audio,text\ngone.wav,rain\n")
    with pytest.raises(CommandError, match=r"row 2, audio: 'gone\.wav' is not there\. Put it there"):
        score(str(rows), "--scorer", "clapscore", "--checkpoint", "/gone")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="There is no file"):
        score(str(tmp_path / "gone.csv"), "--scorer", "word-count")
