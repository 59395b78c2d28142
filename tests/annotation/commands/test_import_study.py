"""The command: what it prints, how it exits, and that a rehearsal leaves no trace."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command

from annotation.management.commands import import_study
from annotation.models import Study, Task
from tests import factories

pytestmark = pytest.mark.django_db

GOOD = "item_id,question_text,reference,system,answer\ni1,Q?,R,s1,Yes\n"
BAD = GOOD + "i2,Q?,R,,Yes\n,Q?,R,s1,Yes\n"


@pytest.fixture(autouse=True)
def no_worker(monkeypatch):
    """Nobody takes the job: the command does it itself, at once."""
    monkeypatch.setattr(import_study, "PATIENCE_SECONDS", 0.0)


@pytest.fixture
def source(tmp_path: Path):
    def write(text: str) -> str:
        path = tmp_path / "items.csv"
        path.write_text(text)
        return str(path)

    return write


def run(*arguments: str) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command("import_study", *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def rows() -> dict[str, int]:
    models = [
        m for name in ("annotation", "scoring", "analytics") for m in apps.get_app_config(name).get_models()
    ]
    return {model.__name__: model.objects.count() for model in models}


def test_it_creates_the_study_and_says_what_it_added(source):
    out, err = run(
        source(GOOD), "--format", "csv", "--study", "mine", "--protocol", "orca", "--title", "Mine"
    )
    assert out == "Read 1 tasks with 0 judgments. New: 1 items, 1 tasks, 0 judgments, 0 raters.\n"
    assert err == ""
    assert Study.objects.get(slug="mine").title == "Mine"


def test_bad_rows_end_it_with_a_table(source):
    err = StringIO()
    with pytest.raises(CommandError, match=r"2 problems found; nothing was imported\."):
        call_command(
            "import_study",
            source(BAD),
            "--format",
            "csv",
            "--study",
            "mine",
            "--protocol",
            "orca",
            stderr=err,
        )
    table = [line.split() for line in err.getvalue().splitlines() if line.strip()]
    assert table[0] == ["row", "field", "problem", "remedy"]
    assert [line[:2] for line in table[1:]] == [["3", "system"], ["4", "item_id"]]
    assert not Study.objects.exists()


def test_bad_rows_can_be_left_out(source):
    arguments = ["--format", "csv", "--study", "mine", "--protocol", "orca", "--skip-bad-rows"]
    out, err = run(source(BAD), *arguments)
    assert "New: 1 items" in out
    assert "item_id" in err


@pytest.mark.parametrize("exists", [True, False])
def test_a_rehearsal_leaves_no_row_in_any_table(source, exists):
    if exists:
        factories.StudyFactory(slug="mine")
    before = rows()
    out, _ = run(source(GOOD), "--format", "csv", "--study", "mine", "--dry-run", *_protocol(exists))
    assert out == "Would import 1 tasks with 0 judgments. Nothing was changed.\n"
    with pytest.raises(CommandError):
        run(source(BAD), "--format", "csv", "--study", "mine", "--dry-run", *_protocol(exists))
    assert rows() == before


def _protocol(exists: bool) -> list[str]:
    return [] if exists else ["--protocol", "orca"]


def test_the_overlap_can_be_said(source):
    run(source(GOOD), "--format", "csv", "--study", "mine", "--protocol", "orca", "--overlap", "7")
    assert Task.objects.get().overlap == 7


def test_columns_can_be_mapped(source):
    text = GOOD.replace("item_id", "Item ID") + ""
    out, _ = run(
        source(text), "--format", "csv", "--study", "m", "--protocol", "orca", "--map", "Item ID=item_id"
    )
    assert "New: 1 items" in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--study", "mine"], "name its protocol"),
        (["--study", "mine", "--protocol", "nothing"], "is not a protocol"),
        (["--study", "a b", "--protocol", "orca"], "address cannot be used"),
        (["--study", "mine", "--protocol", "orca", "--overlap", "0"], "from 1 to 1000"),
        (["--study", "mine", "--protocol", "orca", "--map", "nonsense"], "COLUMN=FIELD"),
        (["--study", "mine", "--protocol", "orca", "--map", "a=b"], "cannot be read as"),
        (["--study", "pairs", "--protocol", "orca"], "cmi-pref already"),
    ],
)
def test_what_makes_no_sense_gets_a_sentence(source, arguments, sentence):
    factories.StudyFactory(slug="pairs", preset="cmi-pref")
    with pytest.raises(CommandError, match=sentence):
        run(source(GOOD), "--format", "csv", *arguments)


def test_a_source_that_is_not_there_gets_a_sentence(tmp_path):
    with pytest.raises(CommandError, match="is not there"):
        run(str(tmp_path / "gone.csv"), "--format", "csv", "--study", "mine", "--protocol", "orca")
