"""Best of N: two ways to say what was made for which prompt, what is wrong with either, and which one is chosen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from annotation.errors import InvalidInput
from scoring.files.best_of_n import best_of_first, criterion, ranks, read_groups


def touch(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def said_of(folder: Path, *, needs_text: bool = False) -> str:
    with pytest.raises(InvalidInput) as raised:
        read_groups(folder, needs_text=needs_text)
    problems = raised.value.problems
    return "\n".join(
        [raised.value.message, *(f"{one.field}: {one.message} {one.remedy}" for one in problems)]
    )


def test_each_sub_folder_is_a_prompt_with_its_sounds_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    touch(tmp_path / "p10" / "prompt.txt", "slow piano\n")
    for name in ("take-10.wav", "take-2.wav", "Reference.mp3", "notes.json", ".hidden.wav"):
        touch(tmp_path / "p10" / name)
    touch(tmp_path / "p2" / "prompt.txt", "a march")
    touch(tmp_path / "p2" / "lyrics.txt", "la la")
    touch(tmp_path / "p2" / "a.flac")
    march, piano = read_groups(tmp_path, needs_text=True)
    assert (march.name, march.prompt, march.lyrics, march.reference) == ("p2", "a march", "la la", None)
    assert piano.names == ("p10/take-2.wav", "p10/take-10.wav")
    assert piano.reference == tmp_path / "p10" / "Reference.mp3"


def test_a_folder_with_a_prompt_is_one_prompt(tmp_path: Path) -> None:
    touch(tmp_path / "prompt.txt", "rain")
    touch(tmp_path / "1.wav")
    (only,) = read_groups(tmp_path, needs_text=True)
    assert (only.prompt, only.names) == ("rain", ("1.wav",))


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl"])
def test_rows_of_one_prompt_are_its_candidates_in_their_order(tmp_path: Path, suffix: str) -> None:
    for name in ("z.wav", "a.wav", "b.wav", "r.wav"):
        touch(tmp_path / name)
    rows = [("z.wav", "rain", ""), ("b.wav", "rain", "r.wav"), ("a.wav", "rain", "")]
    between = "," if suffix == "csv" else "\t"
    lines = [between.join(("audio", "prompt", "reference")), *(between.join(row) for row in rows)]
    if suffix == "jsonl":
        lines = [
            json.dumps({"audio": audio, "prompt": prompt, "reference": to}) for audio, prompt, to in rows
        ]
    touch(tmp_path / f"metadata.{suffix}", "\n".join(lines) + "\n")
    plain, referring = read_groups(tmp_path, needs_text=True)
    assert (plain.names, plain.reference) == (("z.wav", "a.wav"), None)
    assert (referring.names, referring.reference) == (("b.wav",), (tmp_path / "r.wav").resolve())


def test_a_group_may_have_a_name(tmp_path: Path) -> None:
    touch(tmp_path / "a.wav")
    touch(tmp_path / "b.wav")
    touch(tmp_path / "metadata.csv", "audio,prompt,group\na.wav,rain,one\nb.wav,rain,two\n")
    assert [(group.name, group.names) for group in read_groups(tmp_path, needs_text=True)] == [
        ("one", ("a.wav",)),
        ("two", ("b.wav",)),
    ]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("audio,prompt\nnone.wav,rain", "2, audio: none.wav is not there"),
        ("audio,prompt\n../x.wav,rain", "2, audio: ../x.wav is outside"),
        ("audio,prompt\n,rain", "2, audio: is missing"),
        ("audio,prompt,reference\na.wav,rain,none.wav", "2, reference: none.wav is not there"),
        ("audio,text\na.wav,rain", "2, text: is no column of candidates Use audio, prompt"),
        ("audio,prompt\na.wav,", "1, prompt: is empty"),
        ("audio,prompt\na.wav,rain\na.wav,rain", "2, audio: a.wav is there twice"),
        ("audio,prompt,group\na.wav,rain,1\nb.wav,snow,1", "3, prompt: differs within group '1'"),
        ("audio,prompt", "holds no candidates"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, lines: str, said: str) -> None:
    touch(tmp_path / "a.wav")
    touch(tmp_path / "b.wav")
    touch(tmp_path / "metadata.csv", lines + "\n")
    assert said in said_of(tmp_path, needs_text=True)


def test_a_bad_folder_is_named(tmp_path: Path) -> None:
    assert "There is no folder" in said_of(tmp_path / "none")
    assert "holds no candidates" in said_of(tmp_path)
    touch(tmp_path / "silent" / "prompt.txt", "rain")
    touch(tmp_path / "unasked" / "a.wav")
    touch(tmp_path / "twice" / "prompt.txt", "rain")
    for name in ("a.wav", "reference.wav", "reference.mp3"):
        touch(tmp_path / "twice" / name)
    (tmp_path / "garbled").mkdir()
    (tmp_path / "garbled" / "prompt.txt").write_bytes(b"\xff\xfe\xff")
    said = said_of(tmp_path)
    assert "silent: holds no sounds" in said
    assert "unasked: has no prompt.txt" in said
    assert "twice, reference: is there 2 times" in said
    assert "garbled, prompt.txt: cannot be read" in said
    touch(tmp_path / "metadata.csv")
    touch(tmp_path / "metadata.jsonl")
    assert "metadata.csv and metadata.jsonl. Leave one" in said_of(tmp_path)


def test_an_empty_prompt_is_one_where_no_text_is_needed(tmp_path: Path) -> None:
    touch(tmp_path / "any" / "prompt.txt")
    touch(tmp_path / "any" / "a.wav")
    assert read_groups(tmp_path, needs_text=False)[0].prompt == ""
    assert "any, prompt: is empty" in said_of(tmp_path, needs_text=True)


# The choice: the mean of the outputs, the first N, the first of equals.


def test_the_criterion_is_the_mean_of_alignment_and_musicality() -> None:
    readings = {"alignment": 1.0, "musicality": -0.5}
    assert criterion(readings) == 0.25
    assert criterion(readings, ["musicality"]) == -0.5
    with pytest.raises(InvalidInput, match="no output 'beauty'; it has alignment, musicality"):
        criterion(readings, ["beauty"])


def test_a_main_output_stands_alone() -> None:
    assert criterion({"value": 0.7, "variance": 9.0}) == 0.7


@pytest.mark.parametrize(("n", "place"), [(1, None), (2, 1), (3, 1), (4, 3), (10, 3)])
def test_the_best_of_n_is_among_the_first_n(n: int, place: int | None) -> None:
    assert best_of_first([None, 0.5, 0.5, 2.0], n) == place


def test_ranks_leave_out_what_has_no_value() -> None:
    assert ranks([0.5, None, 2.0, 0.5]) == [2, None, 1, 3]
