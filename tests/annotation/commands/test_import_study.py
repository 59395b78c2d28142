"""The command: what it prints, how it exits, and that a rehearsal leaves no trace."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Membership, Study, Task
from tests import factories
from tests.annotation.importing.formats import sounds
from tests.annotation.importing.importing import counted_with_records

pytestmark = pytest.mark.django_db

GOOD = "item_id,question_text,reference,system,answer\ni1,Q?,R,s1,Yes\n"
BAD = GOOD + "i2,Q?,R,,Yes\n,Q?,R,s1,Yes\n"


@pytest.fixture
def source(tmp_path: Path):
    def write(text: str) -> str:
        path = tmp_path / "items.csv"
        path.write_text(text)
        return str(path)

    return write


def run(
    source: str, *arguments: str, study: str = "mine", protocol: str = "orca", err=None
) -> tuple[str, str]:
    out, err = StringIO(), err or StringIO()
    named = ["--format", "csv", "--study", study, *(["--protocol", protocol] if protocol else [])]
    call_command("import_study", source, *named, *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_it_creates_the_study_and_says_what_it_added(source):
    out, err = run(source(GOOD), "--title", "Mine", "--overlap", "7")
    assert out.startswith("Read 1 tasks with 0 judgments. New: 1 items, 1 tasks, 0 judgments, 0 raters.\n")
    assert err == ""
    assert Study.objects.get(slug="mine").title == "Mine"
    assert Task.objects.get().overlap == 7


def test_bad_rows_end_it_with_a_table(source):
    err = StringIO()
    with pytest.raises(CommandError, match=r"2 problems found; nothing was imported\."):
        run(source(BAD), err=err)
    table = [line.split() for line in err.getvalue().splitlines() if line.strip()]
    assert table[0] == ["row", "field", "problem", "remedy"]
    assert [line[:2] for line in table[1:]] == [["3", "system"], ["4", "item_id"]]
    assert not Study.objects.exists()


def test_bad_rows_can_be_left_out(source):
    out, err = run(source(BAD), "--skip-bad-rows")
    assert "New: 1 items" in out
    assert "item_id" in err


@pytest.mark.parametrize("exists", [True, False])
def test_a_rehearsal_leaves_no_row_in_any_table(source, exists):
    if exists:
        factories.StudyFactory(slug="mine")
    protocol = "" if exists else "orca"
    before = counted_with_records()
    out, _ = run(source(GOOD), "--dry-run", protocol=protocol)
    assert out == "Would import 1 tasks with 0 judgments. Nothing was changed.\n"
    with pytest.raises(CommandError):
        run(source(BAD), "--dry-run", protocol=protocol)
    assert counted_with_records() == before


def test_columns_can_be_mapped(source):
    out, _ = run(source(GOOD.replace("item_id", "Item ID")), "--map", "Item ID=item_id")
    assert "New: 1 items" in out


@pytest.mark.parametrize(
    ("named", "arguments", "sentence"),
    [
        ({}, ["--owner", "nobody@example.org"], "nobody here has the address"),
        ({"study": "pairs", "protocol": ""}, ["--owner", "nobody@example.org"], "exists already"),
        ({}, ["--pair", "some"], "baseline:NAME"),
        ({}, ["--encoding", "ebcdic"], "use one of utf-8"),
        ({}, ["--separator", "dash"], "comma, semicolon"),
        ({}, ["--sheet", "1"], "without sheet"),
        ({"protocol": "nothing"}, [], "is not a protocol"),
        ({"study": "a b"}, [], "address cannot be used"),
        ({}, ["--overlap", "0"], "from 1 to 1000"),
        ({}, ["--map", "nonsense"], "COLUMN=FIELD"),
        ({}, ["--map", "a=b"], "cannot be read as"),
        ({"study": "pairs"}, [], "cmi-pref already"),
        ({"source": "gone.csv"}, [], "is not there"),
    ],
)
def test_what_makes_no_sense_gets_a_sentence(source, named, arguments, sentence):
    factories.StudyFactory(slug="pairs", preset="cmi-pref")
    named = {"source": source(GOOD), **named}
    with pytest.raises(CommandError, match=sentence):
        run(named.pop("source"), *arguments, **named)


def test_the_only_admin_runs_a_new_study_and_somebody_else_where_named(source):
    admin = factories.UserFactory(is_superuser=True)
    ann = factories.UserFactory(email="ann@example.org")
    out, _ = run(source(GOOD))
    assert out.endswith(f"{admin.email} runs the study.\n")
    run(source(GOOD), "--owner", "Ann@example.org", study="hers")
    owners = Membership.objects.values_list("study__slug", "user", "role")
    assert set(owners) == {("mine", admin.pk, "admin"), ("hers", ann.pk, "admin")}


def test_without_an_admin_it_says_how_somebody_gets_in(source):
    out, _ = run(source(GOOD))
    assert "Nobody runs the study yet." in out
    assert "--owner EMAIL" in out


def test_what_is_not_named_is_detected_and_said(source, tmp_path):
    rows = [f"{system}{n}.wav;{n};Café {n};{system}" for n in range(3) for system in "ab"]
    for n in range(3):
        for system in "ab":
            sounds.tone(tmp_path / f"{system}{n}.wav", hertz=200 + 50 * n + 25 * (system == "b"))
    path = tmp_path / "clips.csv"
    path.write_bytes("\n".join(["filename;prompt_id;prompt;system", *rows]).encode("latin-1"))
    out = StringIO()
    call_command("import_study", str(tmp_path), "--study", "mine", stdout=out, stderr=StringIO())
    for words in (
        "Format: csv.",
        "Read as Latin-1, separated by semicolons.",
        "filename is read as audio.",
        "Protocol: cmi-pref",
    ):
        assert words in out.getvalue()
    study = Study.objects.get(slug="mine")
    assert (study.n_items, study.n_tasks, study.overlap, study.state) == (3, 3, 3, "draft")
    assert study.items.get(external_id="1").current_version.prompt == "Café 1"
