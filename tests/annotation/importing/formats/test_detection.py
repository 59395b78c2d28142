"""The first rows of a source, what its columns may mean, and which format it is in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from annotation.importing.formats import FORMATS, RowProblem, table
from annotation.importing.formats.columns import suggest_fields
from annotation.importing.formats.detection import detect_format, preview_table
from tests.annotation.importing.formats import sounds, tables
from tests.presets import EXAMPLES


def test_no_more_is_read_than_is_shown(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("Item,Caption\n" + "".join(f"i{n},text {n}\n" for n in range(10)))
    with path.open("ab") as file:
        file.truncate(10 * 1024**3)
    preview = preview_table(path, "csv", rows=3)
    assert preview.columns == ("Item", "Caption")
    assert preview.rows == (("i0", "text 0"), ("i1", "text 1"), ("i2", "text 2"))
    assert preview.suggested == {"Item": "item_id", "Caption": "prompt"}


def test_types_are_those_of_the_rows_that_were_read(tmp_path):
    path = tmp_path / "table.jsonl"
    columns = {
        "n": ([1, 2], "whole number"),
        "x": ([1, 1.5], "number"),
        "t": (["a", "b"], "text"),
        "clip": (["a b.wav", "https://h/c.mp3?x=1"], "sound"),
        "l": ([[1], []], "list"),
        "o": ([{"a": 1}, {}], "object"),
        "e": ([None, ""], "empty"),
        "m": ([1, [1]], "mixed"),
        "d": (["3", "4"], "whole number"),
    }
    lines = [{name: values[place] for name, (values, _) in columns.items()} for place in (0, 1)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert preview_table(path, "jsonl").types == {name: kind for name, (_, kind) in columns.items()}


def test_long_cells_are_cut_and_not_all_problems_are_shown(tmp_path):
    (tmp_path / "table.csv").write_text(f"prompt\n{'x' * 1000}\n")
    assert len(preview_table(tmp_path / "table.csv", "csv").rows[0][0]) == 200
    (tmp_path / "table.jsonl").write_text("no\n" * 1000)
    preview = preview_table(tmp_path / "table.jsonl", "jsonl")
    assert (len(preview.problems), preview.rows, preview.columns) == (20, (), ())


@pytest.mark.parametrize(
    ("columns", "meant"),
    [
        ("item_id prompt audio_a audio_b", "item_id prompt audio_a audio_b"),
        ("id caption worker_id rating", "item_id prompt rater_id value"),
        ("ID Caption Worker-ID Rating", "item_id prompt rater_id value"),
        ("model_a model_b response_a response_b", "system_a system_b answer_a answer_b"),
        ("text description prompt", "- - prompt"),
        ("rater annotator", "rater_id -"),
        ("split genre stratum.mood", "stratum.split stratum.genre stratum.mood"),
        ("banana", "-"),
        ("media data papa", "- - -"),
    ],
)
def test_columns_are_known_by_what_they_are_called_elsewhere(columns, meant):
    suggested = suggest_fields(columns.split(), {})
    assert " ".join(field or "-" for field in suggested.values()) == meant


@pytest.mark.parametrize("pair", ["chosen rejected", "audio_1 audio_2", "clip1 clip2", "A B", "left right"])
def test_two_sounds_are_the_two_sides(pair):
    columns = pair.split()
    suggested = suggest_fields(columns, dict.fromkeys(columns, "sound"))
    assert list(suggested.values()) == ["audio_a", "audio_b"]


@pytest.mark.parametrize(
    "path", sorted([*EXAMPLES.glob("*.csv"), *EXAMPLES.glob("*.jsonl")]), ids=lambda path: path.name
)
def test_our_own_columns_are_known_by_their_names(path):
    kind, _ = detect_format(path)
    assert kind == path.suffix[1:]
    preview = preview_table(path, kind)
    if all(column in FORMATS["csv"].fields or column.startswith("stratum.") for column in preview.columns):
        assert all(column == field for column, field in preview.suggested.items())
    assert not preview.problems


@pytest.mark.parametrize(("name", "format"), [("label-studio.json", "label-studio"), ("potato", "potato")])
def test_the_examples_of_other_tools_are_known(name, format):
    assert detect_format(EXAMPLES / name)[0] == format


def tone(path: Path) -> None:
    sounds.tone(path, seconds=0.2)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


LABEL_STUDIO = '[{"id": 1, "data": {"audio": "a.wav"}, "annotations": []}]'
ORCA = '{"i_M1_0": {"question": "Q", "reference": "R", "candidate": "C", "ratings": [4]}}'
CMI = '{"prompt": "p", "model_a": "a", "model_b": "b", "audio-path": "a.wav", "audio2": "b.wav"}\n'
FENSE = '[{"raw_name": "a.wav", "references": [], "HC": []}]'
FILES = [
    ("t.csv", "item_id,prompt\n1,P\n", "csv"),
    ("t.tsv", "item_id\tprompt\n1\tP\n", "tsv"),
    ("t.json", '[{"a": 1}]', "json"),
    ("t.json", '{"a": [1], "b": [2]}', "json"),
    ("t.json", '{"a": 1}\n{"a": 2}\n', "jsonl"),
    ("t.jsonl", '{"a": {"b": 1}, "c": 1}\n', "jsonl"),
    ("t.json", LABEL_STUDIO, "label-studio"),
    ("t.json", ORCA, "orca"),
    ("t.json", FENSE, "fense"),
    ("t.jsonl", CMI, "cmi-pref"),
    ("t.jsonl", '{"data_path": "a", "Production_Quality": [1]}\n', "aes"),
]


@pytest.mark.parametrize(("name", "text", "format"), FILES)
def test_a_file_and_a_table_with_its_sounds_are_known_by_what_the_table_holds(tmp_path, name, text, format):
    write(tmp_path / name, text)
    assert detect_format(tmp_path / name)[0] == format
    tone(tmp_path / "audio/a.wav")
    assert detect_format(tmp_path)[0] == format


def test_parquet_is_known_by_its_first_bytes(tmp_path):
    assert detect_format(tables.write(tmp_path / "t.dat", {"a": [1]}))[0] == "parquet"


@pytest.mark.parametrize(
    ("names", "format"),
    [
        (["alpha/1.wav", "beta/1.wav"], "audiofolder"),
        (["alpha/1.wav", "beta/1.wav", "prompts.csv"], "audiofolder"),
        (["1.wav", "metadata.csv"], "audiofolder"),
        (["train/1.wav", "train/metadata.jsonl"], "audiofolder"),
        (["data/train.jsonl", "data/test.jsonl"], "huggingface"),
        (["train.jsonl", "test.jsonl"], "huggingface"),
        (["annotation_output/ann/user_state.json"], "potato"),
    ],
)
def test_a_folder_is_known_by_what_it_holds(tmp_path, names, format):
    for name in names:
        tone(tmp_path / name) if name.endswith(".wav") else write(tmp_path / name, '{"a": 1}\n')
    assert detect_format(tmp_path)[0] == format


README = "---\nconfigs:\n- {config_name: a, data_files: rows.csv}\n---\n"


@pytest.mark.parametrize(
    ("files", "format"),
    [
        ({"README.md": README, "rows.csv": "a,b\n1,2\n"}, "huggingface"),
        ({"train.json": ORCA, "test.json": ORCA}, "orca"),
        ({"a.json": '[{"id": "x", "question": "Q"}]', "test.json": ORCA}, "orca"),
    ],
    ids=["a described data set", "a folder of releases", "a release and the questions of its benchmark"],
)
def test_a_folder_is_known_by_all_of_its_files(tmp_path, files, format):
    for name, text in files.items():
        write(tmp_path / name, text)
    assert detect_format(tmp_path)[0] == format


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], "nothing that can be imported"),
        (["a.csv", "b.csv"], "several tables: a.csv, b.csv"),
        (["notes.md"], "nothing that can be imported"),
    ],
)
def test_a_folder_that_holds_nothing_known_is_told(tmp_path, names, words):
    for name in names:
        write(tmp_path / name, "a,b\n1,2\n")
    fault = detect_format(tmp_path)
    assert isinstance(fault, RowProblem)
    assert words in fault.problem
    assert fault.remedy


@pytest.mark.parametrize(
    "content", [b"PK\x03\x04...", b"\xff\xfea\0", b"<html>", b"", b"[1, 2]", b'{"a": {"b": 1}}']
)
def test_a_file_in_no_known_format_is_told(tmp_path, content):
    (tmp_path / "x.html").write_bytes(content)
    assert isinstance(detect_format(tmp_path / "x.html"), RowProblem)


def test_every_guess_is_a_format_or_a_table():
    assert {format for _, _, format in FILES} <= FORMATS.keys()
    assert table.TABLE_READERS.keys() <= FORMATS.keys()


def test_half_a_character_is_spelled_out_and_keeps_nobody_from_the_other_columns(tmp_path):
    path = tmp_path / "table.jsonl"
    path.write_text(json.dumps({"item_id": "\ud800", "k\ud800": 1, "z\0": 2}))
    preview = preview_table(path, "jsonl")
    assert (preview.columns, preview.rows) == (("item_id",), (("\\ud800",),))
    assert [problem.field for problem in preview.problems] == ["k\\ud800", "z\0"]
