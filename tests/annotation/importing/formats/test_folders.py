"""Folders of sounds, with tables beside them or paired by their names, and of data sets: which files hold the rows."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from annotation.importing import records
from annotation.importing.formats import folders
from annotation.importing.formats.parquet_files import PackedAudioReader
from annotation.importing.records import RowProblem
from tests.annotation.importing.formats import reading, sounds, tables
from tests.annotation.importing.formats.reading import faults, notes, tasks

read = partial(reading.read, "audiofolder")
read_data_set = partial(reading.read, "huggingface", protocol="pam")
AUDIO = {"audio": {"_type": "Audio", "sampling_rate": 16_000}}


@pytest.fixture
def folder(tmp_path) -> Path:
    return tmp_path.resolve()


def put(folder: Path, *names: str) -> None:
    for name in names:
        sounds.tone(folder / name, seconds=0.2)


def table(folder: Path, *rows: dict) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "metadata.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def rows(folder: Path, read_rows=folders.audio_folder_rows) -> list:
    return [entry if isinstance(entry, RowProblem) else entry[1] for entry in read_rows(folder)]


data_set_rows = partial(rows, read_rows=folders.hugging_face_rows)


def test_file_names_become_sounds_and_items(folder):
    put(folder, "a.wav", "sub/b.mp3")
    table(folder, {"file_name": "a.wav", "text": "A waltz"}, {"file_name": "sub/b.mp3", "text": "B"})
    assert rows(folder) == [
        {"item_id": "a", "audio": folder / "a.wav", "text": "A waltz"},
        {"item_id": "sub/b", "audio": folder / "sub/b.mp3", "text": "B"},
    ]
    first, _ = read(folder, protocol="pam", text="prompt")
    assert (first.item.texts["prompt"], first.candidates[0].system) == ("A waltz", "unnamed")


def test_several_files_of_a_row_become_columns_of_their_own(folder):
    put(folder, "x.wav", "y.wav")
    table(folder, {"chosen_file_name": "x.wav", "rejected_file_name": "y.wav", "prompt": "P", "item_id": "i"})
    assert rows(folder)[0]["rejected"] == folder / "y.wav"
    (record,) = read(folder, protocol="cmi-pref", chosen="audio_a", rejected="audio_b")
    assert [(c.system, c.audio.name) for c in record.candidates] == [("A", "x.wav"), ("B", "y.wav")]


@pytest.mark.parametrize("name", ["metadata.csv", "metadata.parquet"])
def test_tables_of_other_kinds_are_read_alike(folder, name):
    put(folder, "a.wav")
    if name.endswith("csv"):
        (folder / name).write_text("file_name,prompt\na.wav,P\n")
    else:
        tables.write(folder / name, {"file_name": ["a.wav"], "prompt": ["P"]})
    assert rows(folder) == [{"item_id": "a", "audio": folder / "a.wav", "prompt": "P"}]


def test_a_table_per_split_says_the_split(folder):
    for split in ("train", "test"):
        put(folder, f"{split}/a.wav")
        table(folder / split, {"file_name": "a.wav"})
    splits = [(row["item_id"], row["stratum.split"]) for row in rows(folder)]
    assert splits == [("test/a", "test"), ("train/a", "train")]
    names = [row for row, _ in folders.audio_folder_rows(folder)]
    assert names == ["test/metadata.jsonl 1", "train/metadata.jsonl 1"]


def test_a_file_without_a_row_and_a_row_without_a_file_are_told(folder):
    put(folder, "a.wav", "forgotten.wav")
    table(folder, {"file_name": "a.wav"}, {"file_name": "lost.wav"}, {"file_name": ""}, {"other": 1})
    problems = faults(rows(folder))
    assert [(p.row, p.problem) for p in problems] == [
        ("2", "lost.wav is not there"),
        ("3", "is empty"),
        ("4", "is missing"),
        ("forgotten.wav", "has no row in the table"),
    ]
    assert all(p.remedy for p in problems)


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({"file_names": ["a.wav"]}, "file_names"),
        ({"take_file_names": ["a.wav"]}, "take_file_names"),
        ({"file_name": "a.wav", "audio": "b.wav"}, "audio"),
        ({"file_name": "../a.wav"}, "file_name"),
        ({"file_name": ["a.wav"]}, "file_name"),
    ],
)
def test_a_row_whose_sound_is_unclear_is_refused(folder, row, field):
    table(folder, row)
    (problem,) = rows(folder)
    assert isinstance(problem, RowProblem)
    assert (problem.row, problem.field) == ("1", field)


def test_links_out_of_the_folder_are_told_and_not_followed(folder):
    put(folder, "study/alpha/a.wav", "study/beta/a.wav", "elsewhere/a.wav")
    (folder / "study/gamma").symlink_to(folder / "elsewhere")
    (folder / "study/alpha/b.wav").symlink_to(folder / "elsewhere/a.wav")
    problems = faults(rows(folder / "study"))
    assert [p.row for p in problems] == ["gamma", "alpha/b.wav"]
    assert len(rows(folder / "study")) == 4


def test_two_folders_of_one_set_of_names_are_comparisons(folder):
    put(folder, "alpha/1.wav", "alpha/2.wav", "beta/1.mp3", "beta/2.wav")
    (folder / "1.txt").write_text("A waltz\n")
    (folder / "prompts").mkdir()
    (folder / "prompts/2.txt").write_text("\ufeffA song", encoding="utf-8")
    one, two = read(folder, protocol="cmi-pref")
    assert [c.system for c in one.candidates] == ["alpha", "beta"]
    assert [c.audio.name for c in one.candidates] == ["1.wav", "1.mp3"]
    prompts = [(record.item.external_id, record.item.texts["prompt"]) for record in (one, two)]
    assert prompts == [("1", "A waltz"), ("2", "A song")]


def test_three_folders_are_every_pair_and_each_clip_alone(folder):
    put(folder, *(f"{system}/{item}.wav" for system in ("a", "b", "c") for item in ("1", "2")))
    assert len(read(folder, protocol="cmi-pref")) == 6
    assert len(read(folder, protocol="pam")) == 6
    assert [len(record.candidates) for record in read(folder, protocol="aqeval")] == [3, 3]


def test_a_folder_of_references_goes_with_the_items(folder):
    put(folder, "reference/1.wav", "a/1.wav", "b/1.wav")
    (record,) = read(folder, protocol="cmi-pref")
    assert record.item.reference_audio == folder / "reference/1.wav"


def test_a_table_of_prompts_says_more_of_the_items(folder):
    put(folder, "a/1.wav", "a/2.wav", "b/1.wav", "b/2.wav")
    (folder / "prompts.csv").write_text("item_id,prompt,stratum.genre\n1,P,rock\n3,Q,jazz\n")
    entries = read(folder, protocol="cmi-pref")
    records, [problem] = tasks(entries), faults(entries)
    assert (records[0].item.texts["prompt"], records[0].item.strata) == ("P", {"genre": "rock"})
    assert (problem.row, problem.problem) == ("prompts.csv 3", "'3' is no sound's name")


def test_what_has_no_partner_is_told(folder):
    put(folder, "alpha/1.wav", "alpha/Two.wav", "beta/1.wav", "beta/two.wav")
    problems = faults(read(folder, protocol="cmi-pref"))
    assert [(p.row, p.field, p.problem) for p in problems] == [
        ("Two", "beta", "has no Two, but two"),
        ("two", "alpha", "has no two, but Two"),
    ]
    assert len(read(folder, protocol="pam")) == 4


def test_two_sounds_of_one_name_are_told(folder):
    put(folder, "alpha/1.wav", "alpha/1.mp3")
    [problem] = faults(read(folder, protocol="pam"))
    assert problem.row == "alpha/1.wav"


@pytest.mark.parametrize(
    "names", [["a.wav", "b.wav"], ["one/a.wav"], ["one/a.wav", "two/a.wav", "stray.wav"]]
)
def test_comparisons_need_a_folder_per_system(folder, names):
    put(folder, *names)
    (problem,) = read(folder, protocol="cmi-pref")
    assert "folder for each of 2" in problem.remedy


def test_a_folder_without_sounds_and_an_archive_are_told_and_their_neighbours_left_alone(folder):
    (problem,) = read(folder, protocol="pam")
    assert "no sounds" in problem.problem
    put(folder, "a.wav")
    (folder / "study.zip").write_bytes(b"PK\x03\x04")
    (problem,) = read(folder / "study.zip", protocol="pam")
    assert problem.problem == "study.zip is no folder"


def test_a_prompt_in_another_encoding_or_without_end_is_told(folder):
    put(folder, "1.wav", "2.wav")
    (folder / "1.txt").write_bytes("café".encode("latin-1"))
    (folder / "2.txt").write_bytes(b"x" * (records.MAX_TEXT_LENGTH + 1))
    problems = faults(read(folder, protocol="pam"))
    reported = [(p.row, p.problem) for p in problems]
    assert reported == [("1.txt", "is not UTF-8"), ("2.txt", "is longer than 1 MB")]


# ── Dataset folders ──────────────────────────────────────────────────────────────────────────────────────────


def readme(folder: Path, front_matter: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "README.md").write_text(f"---\n{front_matter}\n---\n# A data set\n")


def shard(folder: Path, name: str, *texts: str) -> Path:
    packed = [text.encode() for text in texts]
    return tables.write(folder / name, {"audio": tables.sounds(*packed), "text": list(texts)}, features=AUDIO)


def items(folder: Path) -> list[tuple[str, str, str]]:
    """Each row's item, split and text."""
    return [(row["item_id"], row.get("stratum.split", ""), row["text"]) for row in data_set_rows(folder)]


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
    ours = [
        (row["stratum.split"], row["genre"], unpacker.read(row["audio"])) for row in data_set_rows(folder)
    ]
    rows_read = [(split, row) for split, part in theirs.items() for row in part]
    assert ours == [(split, genre.int2str(row["genre"]), row["audio"]["bytes"]) for split, row in rows_read]


def test_of_several_configurations_the_default_is_read_and_the_others_are_noted(folder):
    shard(folder, "one.parquet", "a")
    shard(folder, "two.parquet", "b")
    first = "- {config_name: first, data_files: one.parquet}"
    second = "- {config_name: second, data_files: two.parquet, default: true}"
    readme(folder, f"configs:\n{first}\n{second}")
    assert items(folder) == [("train-1", "train", "b")]
    [note] = notes(read_data_set(folder, text="prompt"))
    assert "first" in note


def test_rows_become_tasks_whose_sounds_are_inside_the_file(folder):
    shard(folder, "train.parquet", "a", "b")
    records = read_data_set(folder, text="prompt")
    assert [record.item.texts["prompt"] for record in records] == ["a", "b"]
    assert [record.item.strata for record in records] == [{"split": "train"}] * 2
    assert [PackedAudioReader().read(r.candidates[0].audio) for r in records] == [b"a", b"b"]


def test_rows_of_json_name_sounds_below_the_folder(folder):
    sounds.tone(folder / "clips/1.wav")
    (folder / "train.jsonl").write_text('{"id": "x", "audio": {"path": "clips/1.wav", "bytes": null}}\n')
    (record,) = read_data_set(folder, id="item_id")
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
    (problem,) = data_set_rows(folder / "set")
    assert (problem.row, problem.field) == ("README.md", field)
    assert problem.remedy


def test_a_few_lines_of_yaml_that_hold_more_than_any_memory_are_harmless(folder):
    bomb = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{f'*a{n - 1},' * 9}]\n" for n in range(1, 30))
    readme(folder, f"{bomb}configs:\n- config_name: *a29\n  data_files: {{train: *a29}}")
    assert all(isinstance(row, RowProblem) for row in data_set_rows(folder))


def test_what_save_to_disk_wrote_is_named(folder):
    (folder / "state.json").write_text("{}")
    (folder / "data-00000-of-00001.arrow").write_bytes(b"")
    (problem,) = data_set_rows(folder)
    assert "to_parquet" in problem.remedy


def test_a_damaged_file_is_told_by_its_name(folder):
    whole = shard(folder, "train.parquet", "a").read_bytes()
    (folder / "train.parquet").write_bytes(whole[:-20])
    (problem,) = data_set_rows(folder)
    assert problem.row == "train.parquet"
