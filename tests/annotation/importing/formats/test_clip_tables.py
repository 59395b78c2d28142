"""One clip per row: comparisons and panels, whatever the order of the rows, and what is wrong with a row."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest

from annotation.importing.formats import FORMATS
from annotation.importing.formats.detection import clip_design, preview_table, suggest_preset
from annotation.importing.formats.reading_options import ReadingOptions
from annotation.importing.formats.source_files import find_below
from annotation.protocols import preset
from tests.annotation.importing.formats.reading import faults, problems, tasks

NAMES = {"filename": "audio", "prompt_id": "item_id", "model": "system"}
COLUMNS = ("filename", "prompt_id", "prompt", "model", "take", "vote", "stratum.genre")


@pytest.fixture
def table(tmp_path: Path):
    """Writes a table of clips, (prompt, system) each, and the clips themselves."""

    def write(*clips: tuple[str, str], **changed: dict[int, str]) -> Path:
        rows = []
        for place, (prompt, system) in enumerate(clips):
            name = f"{system}-{prompt}-{place}.wav"
            (tmp_path / name).write_bytes(b"RIFF")
            row = {"filename": name, "prompt_id": prompt, "prompt": f"A {prompt}", "model": system}
            rows.append(
                row | {column: by_place[place] for column, by_place in changed.items() if place in by_place}
            )
        used = [column for column in COLUMNS if any(column in row for row in rows)]
        with (tmp_path / "clips.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, used)
            writer.writeheader()
            writer.writerows(rows)
        return tmp_path / "clips.csv"

    return write


def read(path: Path, protocol: str = "cmi-pref", pair: str = "", **column_map: str):
    how = ReadingOptions(pair=pair)
    return list(FORMATS["csv"].read(path, preset(protocol), NAMES | column_map, how=how))


def made(entries) -> list[tuple[str, ...]]:
    return [
        (task.item.external_id, *(candidate.system for candidate in task.candidates))
        for task in tasks(entries)
    ]


def test_clips_of_a_prompt_are_paired_wherever_their_rows_stand(table):
    entries = read(table(("waltz", "x"), ("song", "y"), ("song", "x"), ("waltz", "y"), ("waltz", "z")))
    assert made(entries) == [
        ("waltz", "x", "y"), ("waltz", "x", "z"), ("waltz", "y", "z"), ("song", "x", "y"),
    ]  # fmt: skip
    first = tasks(entries)[0]
    assert (first.row, first.item.texts["prompt"]) == ("2, 5", "A waltz")
    assert [Path(str(audio)).name for _, audio in first.audio()] == ["x-waltz-0.wav", "y-waltz-3.wav"]


@pytest.mark.parametrize(
    ("pair", "n"), [("", 24), ("all", 24), ("baseline:b", 16), ("sample:1", 8), ("sample:2", 16)]
)
def test_the_usual_table_makes_as_many_comparisons_as_the_pairing_says(table, pair, n):
    path = table(*((str(prompt), system) for prompt in range(8) for system in "abc"))
    assert len(made(read(path, pair=pair))) == len(read(path, pair=pair)) == n


def test_a_table_of_clips_is_recognised_by_its_columns(table):
    preview = preview_table(path := table(("1", "x"), ("1", "y")), "csv")
    assert preview.suggested == {
        "filename": "audio",
        "prompt_id": "item_id",
        "prompt": "prompt",
        "model": "system",
    }
    assert clip_design(path, "csv", preview.suggested).compares
    assert suggest_preset(set(preview.suggested.values()), compares=True) == "cmi-pref"
    single = table(("1", "x"), ("2", "x"))
    assert not clip_design(single, "csv", preview.suggested).compares


def test_a_protocol_of_single_clips_gets_a_task_for_each(table):
    assert len(made(read(table(("1", "x"), ("1", "y")), "pam"))) == 2


def test_a_panel_gets_every_system_of_a_prompt(table, tmp_path):
    path = table(*(("1", system) for system in "abcd"), reference_audio={})
    assert (
        made(read(path, "aqeval", filename="item_audio")) == []
    )  # texts are judged there, and none is named
    (tmp_path / "texts.csv").write_text(
        "item_id,question_text,system,answer\n1,Q?,a,Yes\n1,Q?,b,No\n1,Q?,c,Or\n"
    )
    entries = list(FORMATS["csv"].read(tmp_path / "texts.csv", preset("aqeval"), {}))
    assert made(entries) == [("1", "a", "b", "c")]


def test_without_ids_the_prompt_names_what_belongs_together(table, tmp_path):
    path = table(("1", "x"), ("1", "y"), ("2", "x"), ("2", "y"))
    assert made(read(path, prompt_id="stratum.id")) != []
    lines = [line.split(",") for line in path.read_text().splitlines()]
    path.write_text("\n".join(",".join([line[0], *line[2:]]) for line in lines))
    column_map = {name: field for name, field in NAMES.items() if name != "prompt_id"}
    entries = list(FORMATS["csv"].read(path, preset("cmi-pref"), column_map))
    assert made(entries) == [("A 1", "x", "y"), ("A 2", "x", "y")]


def test_takes_are_compared_with_takes_of_the_same_name(table):
    clips = [("1", system) for system in "xy" for _ in range(2)]
    path = table(*clips, take={0: "t1", 1: "t2", 2: "t1", 3: "t2"})
    assert [task.row for task in tasks(read(path))] == ["2, 4", "3, 5"]
    assert problems(read(table(*clips))) == [("3", "system"), ("5", "system")]


@pytest.mark.parametrize(
    ("clips", "changed", "pair", "row", "field", "words"),
    [
        ([("1", "x"), ("1", "y"), ("2", "x")], {}, "", "4", "system", "only x has a clip of 2"),
        (
            [("1", "x"), ("1", "y"), ("2", "x"), ("2", "z")],
            {},
            "baseline:y",
            "4",
            "system",
            "of the baseline y",
        ),
        ([("1", "x"), ("1", "y")], {}, "baseline:q", "", "system", "The systems are x, y"),
        ([("1", "x"), ("1", "y")], {"model": {1: ""}}, "", "3", "system", "is missing"),
        ([("1", "x"), ("1", "y")], {"prompt_id": {1: ""}}, "", "3", "item_id", "is missing"),
        ([("1", "x"), ("1", "y")], {"filename": {1: "gone.wav"}}, "", "3", "audio", "gone.wav is not there"),
        ([("1", "x"), ("1", "y")], {"prompt": {1: "Other"}}, "", "3", "prompt", "differs from row 2"),
        ([("1", "x"), ("1", "y")], {"vote": {0: "A"}}, "", "2", "value", "names one clip"),
    ],
)
def test_what_is_wrong_names_its_row_and_field(table, clips, changed, pair, row, field, words):
    path = table(*clips, **changed)
    column_map = {"vote": "value"} if "vote" in changed else {}
    fault = faults(read(path, pair=pair, **column_map))[0]
    assert (fault.row, fault.field) == (row, field)
    assert words in f"{fault.problem}. {fault.remedy}"
    assert fault.remedy


def test_folders_of_systems_are_paired_by_the_same_rules(tmp_path):
    for system in "abc":
        for name in ("one", "two"):
            path = tmp_path / "mine" / system / f"{name}.wav"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"RIFF")
    read_folder = FORMATS["audiofolder"].read
    entries = list(
        read_folder(tmp_path / "mine", preset("cmi-pref"), {}, how=ReadingOptions(pair="baseline:c"))
    )
    assert made(entries) == [("one", "a", "c"), ("one", "b", "c"), ("two", "a", "c"), ("two", "b", "c")]


@pytest.mark.parametrize(
    ("named", "lies"),
    [
        ("x.wav", "sounds/x.wav"),
        ("one/x.wav", "sounds/one/x.wav"),
        ("/home/me/mine/clips/x.wav", "clips/x.wav"),
        ("C:\\me\\mine\\x.wav", "x.wav"),
    ],
)
def test_a_sound_is_found_where_the_folder_has_it(tmp_path, named, lies):
    folder = tmp_path / "mine"
    (folder / lies).parent.mkdir(parents=True)
    (folder / lies).write_bytes(b"RIFF")
    assert find_below(folder, named) == folder / lies


@pytest.mark.parametrize(
    "named", ["other/x.wav", "set-b/one/x.wav", "/home/me/yours/one/x.wav", "y.wav", "", "\0"]
)
def test_another_folder_or_two_files_of_a_name_are_never_taken_for_it(table, tmp_path, named):
    folder = tmp_path / "mine"
    for name in ("set-a/one/x.wav", "one/x.wav", "y.wav", "two/y.wav"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"RIFF")
    assert find_below(folder / "two", named) is None or named == "y.wav"
    (folder / "y.wav").rename(folder / "one" / "y.wav")
    assert find_below(folder, named) is None


def test_a_table_finds_its_sounds_in_folders_beside(table, tmp_path):
    path = table(("1", "x"), ("1", "y"), filename={0: "x.wav", 1: "gone/y.wav"})
    for name in ("sounds/x.wav", "sounds/y.wav"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"RIFF")
    assert problems(read(path))[0] == ("3", "audio")
    (tmp_path / "sounds" / "gone").mkdir()
    (tmp_path / "sounds" / "y.wav").rename(tmp_path / "sounds" / "gone" / "y.wav")
    os.utime(tmp_path, ns=(1, 1))  # what was listed before is out of date
    (task,) = tasks(read(path))
    assert [Path(str(audio)).parent.name for _, audio in task.audio()] == ["sounds", "gone"]
