"""Dataset folders: which files hold the rows, of which split, and the sounds inside them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from annotation.importing.formats import folders
from annotation.importing.formats.parquet_files import PackedAudioReader
from annotation.importing.records import RowProblem
from tests.annotation.importing.formats import reading, sounds, tables
from tests.annotation.importing.formats.reading import notes

read = partial(reading.read, "huggingface", protocol="pam")
AUDIO = {"audio": {"_type": "Audio", "sampling_rate": 16_000}}


@pytest.fixture
def folder(tmp_path) -> Path:
    return tmp_path.resolve()


def readme(folder: Path, front_matter: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "README.md").write_text(f"---\n{front_matter}\n---\n# A data set\n")


def shard(folder: Path, name: str, *texts: str) -> Path:
    packed = [text.encode() for text in texts]
    return tables.write(folder / name, {"audio": tables.sounds(*packed), "text": list(texts)}, features=AUDIO)


def rows(folder: Path) -> list:
    entries = folders.hugging_face_rows(folder)
    return [entry if isinstance(entry, RowProblem) else entry[1] for entry in entries]


def items(folder: Path) -> list[tuple[str, str, str]]:
    """Each row's item, split and text."""
    return [(row["item_id"], row.get("stratum.split", ""), row["text"]) for row in rows(folder)]


def test_files_are_known_by_their_names(folder):
    shard(folder, "data/test-00000-of-00001.parquet", "t")
    shard(folder, "data/train-00001-of-00002.parquet", "c")
    shard(folder, "data/train-00000-of-00002.parquet", "a", "b")
    train = [(f"train-{n}", "train", text) for n, text in enumerate("abc", 1)]
    assert items(folder) == [*train, ("test-1", "test", "t")]
    assert [row for row, _ in folders.hugging_face_rows(folder)][2] == "data/train-00001-of-00002.parquet 1"


@pytest.mark.parametrize(
    "data_files",
    [
        "data_files: '*.parquet'",
        "data_files: [one.parquet, two.parquet]",
        "data_files:\n  - split: train\n    path: [one.parquet, two.parquet]",
        "data_files: {train: '*.parquet'}",
        "data_dir: .",
    ],
)
def test_the_readme_says_which_files_hold_the_rows(folder, data_files):
    shard(folder, "one.parquet", "a")
    shard(folder, "two.parquet", "b")
    readme(folder, "configs:\n- config_name: plain\n  " + data_files)
    assert [text for _, _, text in items(folder)] == ["a", "b"]


def test_the_rows_are_those_that_their_own_library_reads(folder, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import datasets  # takes seconds, so here alone

    labels = {"_type": "ClassLabel", "names": ["rock", "jazz"]}
    for split, contents in {"train": [b"1", b"2", b"3"], "test": [b"4"]}.items():
        columns = {"audio": tables.sounds(*contents), "genre": [len(c) % 2 for c in contents]}
        tables.write(folder / f"data/{split}-0.parquet", columns, features={**AUDIO, "genre": labels})
    splits = "".join(f"\n  - {{split: {split}, path: data/{split}-*}}" for split in ("train", "test"))
    readme(folder, f"configs:\n- config_name: default\n  data_files:{splits}")
    theirs = datasets.load_dataset(str(folder), cache_dir=str(folder.parent / "cache"))
    theirs = theirs.cast_column("audio", datasets.Audio(decode=False))
    genre = theirs["train"].features["genre"]
    unpacker = PackedAudioReader()
    ours = [(row["stratum.split"], row["genre"], unpacker.read(row["audio"])) for row in rows(folder)]
    rows_read = [(split, row) for split, part in theirs.items() for row in part]
    assert ours == [(split, genre.int2str(row["genre"]), row["audio"]["bytes"]) for split, row in rows_read]


def test_of_several_configurations_the_default_is_read_and_the_others_are_noted(folder):
    shard(folder, "one.parquet", "a")
    shard(folder, "two.parquet", "b")
    first = "- {config_name: first, data_files: one.parquet}"
    second = "- {config_name: second, data_files: two.parquet, default: true}"
    readme(folder, f"configs:\n{first}\n{second}")
    assert items(folder) == [("train-1", "train", "b")]
    [note] = notes(read(folder, text="prompt"))
    assert "first" in note


def test_rows_become_tasks_whose_sounds_are_inside_the_file(folder):
    shard(folder, "train.parquet", "a", "b")
    records = read(folder, text="prompt")
    assert [record.item.texts["prompt"] for record in records] == ["a", "b"]
    assert [record.item.strata for record in records] == [{"split": "train"}] * 2
    assert [PackedAudioReader().read(r.candidates[0].audio) for r in records] == [b"a", b"b"]


def test_rows_of_json_name_sounds_below_the_folder(folder):
    sounds.tone(folder / "clips/1.wav")
    (folder / "train.jsonl").write_text('{"id": "x", "audio": {"path": "clips/1.wav", "bytes": null}}\n')
    (record,) = read(folder, id="item_id")
    assert (record.item.external_id, record.candidates[0].audio) == ("x", folder / "clips/1.wav")


def test_a_folder_with_metadata_is_an_audio_folder(folder):
    sounds.tone(folder / "train/1.wav")
    (folder / "train/metadata.csv").write_text("file_name,text\n1.wav,a\n")
    assert items(folder) == [("train/1", "train", "a")]


@pytest.mark.parametrize(
    ("configuration", "field"),
    [
        ("data_files: 'hf://datasets/other/train.parquet'", "data_files"),
        ("data_files: '../other/*.parquet'", "data_files"),
        ("data_files: /etc/passwd", "data_files"),
        ("data_files: 'missing-*'", "data_files"),
        ("data_files: notes.xyz", "data_files"),
        ("data_files: {train: [[1]]}", "data_files"),
        ("data_dir: ../other", "data_dir"),
        (f"data_dir: {'x' * 3000}", "data_dir"),
        ('data_dir: "x\\0"', "data_dir"),
        ('data_dir: "\\ud800"', "data_dir"),
        (f"data_files: {'x' * 3000}", "data_files"),
        ("}]\nnothing: [", ""),
    ],
    ids=lambda text: text[:40],
)
def test_a_readme_that_names_no_file_of_the_folder_is_told(folder, configuration, field):
    readme(folder / "set", f"configs: [{{config_name: a, {configuration}}}]")
    (folder / "set/notes.xyz").write_text("x")
    shard(folder, "other/train.parquet", "a")
    (problem,) = rows(folder / "set")
    assert (problem.row, problem.field) == ("README.md", field)
    assert problem.remedy


def test_a_few_lines_of_yaml_that_hold_more_than_any_memory_are_harmless(folder):
    bomb = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{f'*a{n - 1},' * 9}]\n" for n in range(1, 30))
    readme(folder, f"{bomb}configs:\n- config_name: *a29\n  data_files: {{train: *a29}}")
    assert all(isinstance(row, RowProblem) for row in rows(folder))


def test_what_save_to_disk_wrote_is_named(folder):
    (folder / "state.json").write_text("{}")
    (folder / "data-00000-of-00001.arrow").write_bytes(b"")
    (problem,) = rows(folder)
    assert "to_parquet" in problem.remedy


def test_a_damaged_file_is_told_by_its_name(folder):
    whole = shard(folder, "train.parquet", "a").read_bytes()
    (folder / "train.parquet").write_bytes(whole[:-20])
    (problem,) = rows(folder)
    assert problem.row == "train.parquet"
