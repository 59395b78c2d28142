"""A release is made again, byte for byte, whatever has become of the study since."""

from __future__ import annotations

import json

import pytest

from analytics.datasets import diff, release_manifest, table_files
from analytics.datasets.records import judgment_records
from analytics.datasets.snapshot import StudySnapshot
from annotation.errors import InvalidInput
from annotation.models import Study
from tests import factories
from tests.analytics.datasets.released import Working, contents, cut_of, release, rows, working

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> Working:
    return working()


def test_whatever_becomes_of_the_study_it_is_made_again_from_its_manifest(world, tmp_path):
    one, again = tmp_path / "one", tmp_path / "again"
    made = release(world.study, one, note="for the paper")
    world.go_on()
    cut = StudySnapshot.from_json(json.loads((one / "manifest.json").read_text())["cut"])
    rebuilt = table_files.write_release(cut, Study.objects.get(slug=cut.study["slug"]), out=again)
    assert rebuilt["sha256"] == made["sha256"]
    assert contents(again) == contents(one)
    later = release(world.study, tmp_path / "later", number=2)
    assert {name for name in made["files"] if made["files"][name] != later["files"].get(name)} >= {
        "data/judgments/train-00000-of-00001.parquet",
        "data/items/train-00000-of-00001.parquet",
        "data/cases/train-00000-of-00001.parquet",
    }


def test_json_lines_say_what_parquet_says(world, tmp_path):
    release(world.study, tmp_path / "one")
    lines = (tmp_path / "one/jsonl/judgments.jsonl").read_text().splitlines()
    for line, row in zip(map(json.loads, lines), rows(tmp_path / "one", "judgments"), strict=True):
        times = {
            name: row[name] and row[name].strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            for name in row
            if name.endswith("_at")
        }
        assert line == {**row, **times}
    items = [json.loads(line) for line in (tmp_path / "one/jsonl/items.jsonl").read_text().splitlines()]
    assert items[1]["question"] == 'Say "1"\n\\ and é'


def test_marks_are_those_of_its_moment(world, tmp_path):
    made = release(world.study, tmp_path / "one")
    assert "marked:\n\n- 1 excluded: careless\n" in (tmp_path / "one" / "README.md").read_text()
    said = rows(tmp_path / "one", "judgments")
    assert made["left_out"] == {
        "counted": sum(row["counted"] for row in said),
        "judgments": len(said),
        "experts_own": 1,
        "superseded": 0,
        "surplus": 0,
        "excluded": {
            why: sum(row["exclusion_reason"] == why for row in said) for why in ("careless", "item_corrected")
        },
        "withdrawn": {},
    }
    standing = {str(row.client_id): row for row in world.of(world.users[0])}
    for row in said:
        if row["judgment"] in standing:
            assert row["excluded"] == standing[row["judgment"]].excluded


def test_a_revision_takes_the_place_of_what_stood_only_from_then_on(world, tmp_path):
    before = cut_of(world.study)
    world.go_on()
    table_files.write_release(before, world.study, out=tmp_path / "before")
    release(world.study, tmp_path / "after", number=2)
    assert all(row["effective"] for row in rows(tmp_path / "before", "judgments"))
    revised = [row for row in rows(tmp_path / "after", "judgments") if not row["effective"]]
    assert [row["revision"] for row in revised] == [1]


def test_the_next_release_differs_from_it_by_exactly_the_rows_of_a_rater_who_withdrew(world, tmp_path):
    release(world.study, tmp_path / "one")
    gone = world.rater(world.users[0])
    names = {str(judgment.client_id) for judgment in world.of(world.users[0])}
    world.withdraw(world.users[0])
    release(world.study, tmp_path / "two", number=2)
    found = list(diff.differences(tmp_path / "one", tmp_path / "two"))
    assert {one.key["judgment"] for one in found if one.config == "judgments"} == names
    assert {(one.config, one.kind, one.why) for one in found} == {
        ("judgments", "removed", "rater withdrawn"),
        ("raters", "removed", "rater withdrawn"),
    }
    assert gone.pseudonym not in "".join(str(text) for text in contents(tmp_path / "two").values())


def test_of_a_rater_who_was_anonymised_the_answers_stay_and_nothing_that_tells_of_them(world, tmp_path):
    names = {str(judgment.client_id) for judgment in world.of(world.users[0])}
    gone = world.rater(world.users[0]).pseudonym
    world.withdraw(world.users[0], "anonymised")
    release(world.study, tmp_path / "one")
    all_rows = rows(tmp_path / "one", "judgments")
    theirs = [row for row in all_rows if row["exclusion_reason"] == "rater_withdrawn"]
    other_names = [row["judgment"] for row in theirs]
    assert theirs == all_rows[-2:]
    assert other_names == [one["client_id"] for one in judgment_records(world.study)][-2:]
    told_before = "".join(str(text) for text in contents(tmp_path / "one").values())
    assert not any(name in told_before for name in names)
    assert sorted(row["value"] for row in theirs) == [2, 4]
    told = ("rater", "comment", "text", "leased_at", "started_at", "submitted_at", "hint_shown")
    assert {row[name] for row in theirs for name in told} == {None}
    assert {(row["counted"], row["exclusion_reason"]) for row in theirs} == {(False, "rater_withdrawn")}
    assert gone not in "".join(str(text) for text in contents(tmp_path / "one").values())


def test_each_difference_says_why(world, tmp_path):
    release(world.study, tmp_path / "one")
    world.go_on()
    release(world.study, tmp_path / "two", number=2)
    found = diff.diff_summary(tmp_path / "one", tmp_path / "two")
    why = {
        (table, kind): set(told["why"])
        for table, kinds in found["tables"].items()
        for kind, told in kinds.items()
    }
    assert why["judgments", "added"] == {"new vote", "revision", "expert's own"}
    assert why["judgments", "removed"] == {"rater withdrawn"}
    assert "excluded: item_corrected" in why["judgments", "changed"]
    assert why["items", "added"] == {"item corrected"}
    assert "item withdrawn" in why["items", "changed"]
    assert "rater withdrawn" in diff.diff_text(found)
    assert diff.diff_summary(tmp_path / "one", tmp_path / "one") == {"tables": {}, "examples": []}


def test_a_flipped_byte_a_lost_file_and_a_stranger_are_found(world, tmp_path):
    release(world.study, tmp_path / "one")
    assert list(release_manifest.folder_faults(tmp_path / "one")) == []
    parquet = tmp_path / "one/data/items/train-00000-of-00001.parquet"
    parquet.write_bytes(parquet.read_bytes()[:-1] + b"?")
    (tmp_path / "one/jsonl/raters.jsonl").unlink()
    (tmp_path / "one/notes.txt").write_text("mine")
    manifest = tmp_path / "one/manifest.json"
    manifest.write_text(manifest.read_text().replace('"careless": 1', '"careless": 0'))
    assert [fault.partition(":")[0] for fault in release_manifest.folder_faults(tmp_path / "one")] == [
        "notes.txt",
        "data/items/train-00000-of-00001.parquet",
        "jsonl/raters.jsonl",
        "manifest.json",
    ]


def test_what_is_no_manifest_is_refused(tmp_path):
    (tmp_path / "manifest.json").write_text('{"files": {}}')
    with pytest.raises(InvalidInput, match="not the manifest"):
        release_manifest.read_manifest(tmp_path)
    with pytest.raises(InvalidInput, match="not the manifest"):
        StudySnapshot.from_json({"number": 1})


def test_a_study_without_a_vote_makes_a_release_too(tmp_path):
    study = factories.StudyFactory()
    made = release(study, tmp_path / "one")
    assert made["configs"] == {}
    assert "others are here" not in (tmp_path / "one" / "README.md").read_text()
    assert list(release_manifest.folder_faults(tmp_path / "one")) == []
