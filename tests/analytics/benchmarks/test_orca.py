"""ORCA's ratings as they are released, and each fault that they can have."""

from __future__ import annotations

import json

import pytest

from analytics.benchmarks import BenchmarkError, limit_benchmark, open_benchmark
from tests.analytics.benchmarks import miniature


def refusal(folder) -> str:
    with pytest.raises(BenchmarkError) as error:
        open_benchmark("orca", folder, needs_sounds=False)
    return str(error.value)


def changed(folder, name, key, **changes) -> None:
    answers = json.loads((folder / name).read_text())
    answers[key] |= changes
    miniature.document(folder / name, answers)


def test_an_answer_has_its_ratings_its_split_its_system_and_its_strata(tmp_path):
    found = open_benchmark("orca", miniature.orca(tmp_path), needs_sounds=False)
    (one,) = [rating for rating in found.ratings if rating.name == "test3_M2_6"]
    source = json.loads((tmp_path / "test.json").read_text())["test3_M2_6"]
    assert one.ratings == tuple(rating for rating in source["ratings"] if rating)
    assert one.human == pytest.approx((sum(one.ratings) / len(one.ratings) - 1) / 4)
    assert (one.split, one.system, one.strata) == ("test", "Audio Flamingo 3", ("mix-sound-music", "c"))
    assert one.parts == ("ORCA test", "ORCA/Audio Flamingo 3", "ORCA", "ORCA test/mixed")
    assert one.cluster == "test3"
    unit = found.units[one.unit]
    assert (unit.text, dict(unit.fields)) == (
        source["candidate"],
        {"question": "What is it in test, 3?", "reference": "a bell", "rationale": "It rings."},
    )


def test_the_composition_is_of_each_split_and_of_all(tmp_path):
    found = open_benchmark("orca", miniature.orca(tmp_path), needs_sounds=False)
    counts = {one.source: dict(one.counts) for one in found.composition}
    assert list(counts) == ["train", "dev", "test", "all"]
    people = {f"of {n} people": 4 * m for n, m in zip(range(1, 6), (2, 2, 1, 1, 0), strict=True)}
    assert counts["test"] == {"answers": 24, "questions": 6, "ratings": 4 * (2 + 4 + 3 + 4), **people}
    assert counts["all"]["answers"] == 96


def test_a_limit_keeps_so_many_of_each_split(tmp_path):
    found = open_benchmark("orca", miniature.orca(tmp_path), needs_sounds=False)
    assert [one.split for one in limit_benchmark(found, 2).ratings] == ["dev"] * 2 + ["test"] * 2 + [
        "train"
    ] * 2


def test_sounds_are_found_by_the_name_of_the_item(tmp_path):
    miniature.orca(tmp_path, n_questions=2)
    for number, name in enumerate(("train0", "train1", "dev0")):
        miniature.tone(tmp_path / "sounds" / f"{name}.wav", 10 + number)
    found = open_benchmark("orca", tmp_path, skip_missing=True)
    assert {unit.sound.stem for unit in found.units} == {"train0", "train1", "dev0"}
    assert found.left_out == ("test0",)
    with pytest.raises(BenchmarkError, match="lacks 1 of the sounds of ORCA: test0"):
        open_benchmark("orca", tmp_path)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        (
            {"ratings": [7, None]},
            "test.json #1, ratings[0]: 7 is not on the scale 1, 2, 3, 4, 5. Mend the rating",
        ),
        ({"candidate": 7}, "test.json #1, candidate: is not a text"),
        ({"split": "fold 2"}, "has 1 answers that are in none of train, dev, test (test.json #1)"),
    ],
)
def test_a_fault_is_named_with_its_row(changes, what, tmp_path):
    changed(miniature.orca(tmp_path), "test.json", "test0_M1_0", **changes)
    assert what in refusal(tmp_path)
    assert "BUTSpeechFIT/ORCA on GitHub" in refusal(tmp_path)


def test_a_missing_file_is_named(tmp_path):
    assert "has no file train.jsonl or data/seed_108/train.jsonl or " in refusal(tmp_path)
    miniature.orca(tmp_path)
    (tmp_path / "dev.json").unlink()
    assert "has no answers in dev" in refusal(tmp_path)
