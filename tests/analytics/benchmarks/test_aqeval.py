"""AQEval as it is released, and each fault it can have."""

from __future__ import annotations

import pytest

from analytics.benchmarks import BenchmarkError, limit_benchmark, open_benchmark
from tests.analytics.benchmarks import miniature
from tests.analytics.benchmarks.miniature import AQEVAL_COLUMNS, aqeval_rows


def refusal(folder, **options) -> str:
    with pytest.raises(BenchmarkError) as error:
        open_benchmark("aqeval", folder, **options)
    return str(error.value)


def test_an_answer_counts_in_its_type_its_source_its_system_and_overall(tmp_path):
    found = open_benchmark("aqeval", miniature.aqeval(tmp_path))
    assert (len(found.ratings), len(found.units)) == (60, 60)
    first = found.ratings[0]
    assert first.parts == (
        *("AQEval/Audio Flamingo/binary", "AQEval/Audio Flamingo/ClothoAQA"),
        *("AQEval/binary", "AQEval/ClothoAQA", "AQEval/Overall"),
    )
    unit = found.units[first.unit]
    assert (unit.text, dict(unit.fields)) == (
        "binary0",
        {"question": "What binary thing is it, 0?", "reference": "yes"},
    )
    assert unit.sound == tmp_path / "sounds" / "binary 0.wav"
    assert {rating.human for rating in found.ratings} == {0, 0.5, 1}
    # What is said of one sound is not independent, by whichever system and of whichever question.
    assert len({rating.cluster for rating in found.ratings}) == 15


def test_systems_carry_their_names(tmp_path):
    found = open_benchmark("aqeval", miniature.aqeval(tmp_path))
    systems = {rating.parts[0].split("/")[1] for rating in found.ratings}
    assert systems == {"Audio Flamingo", "GAMA", "Qwen-Audio-Chat", "Qwen2-Audio"}


def test_the_validation_split_has_parts_of_its_own(tmp_path):
    found = open_benchmark("aqeval-validation", miniature.aqeval(tmp_path))
    assert len(found.ratings) == 4
    assert {part.split("/")[0] for part in found.parts} == {"AQEval validation"}


def test_who_reads_texts_alone_needs_no_sounds(tmp_path):
    miniature.table(tmp_path / "test.csv", AQEVAL_COLUMNS, aqeval_rows(2))
    found = open_benchmark("aqeval", tmp_path, needs_sounds=False)
    assert len(found.ratings) == 40
    assert {unit.sound for unit in found.units} == {None}
    assert "lacks 10 of the sounds of AQEval: binary 0.wav, " in refusal(tmp_path)


def test_what_lacks_its_sound_is_left_out_where_that_is_allowed(tmp_path):
    miniature.aqeval(tmp_path)
    (tmp_path / "sounds" / "word 1.wav").unlink()
    found = open_benchmark("aqeval", tmp_path, skip_missing=True)
    assert (len(found.ratings), found.left_out) == (56, ("word 1.wav",))


@pytest.mark.parametrize(
    ("named", "lies_as"),
    [
        ("clips/dog.wav", "dog.wav"),
        ("dog", "dog.flac"),
        ("YabcdefghijK.wav", "abcdefghijK_30.wav"),
        ("abcdefghijK", "YabcdefghijK.wav"),
    ],
)
def test_sounds_are_found_by_path_by_name_and_by_video(named, lies_as, tmp_path):
    rows = [[row[0], named, *row[2:]] for row in aqeval_rows()]
    miniature.table(tmp_path / "test.csv", AQEVAL_COLUMNS, rows)
    miniature.tone(tmp_path / "sounds" / lies_as, 10)
    found = open_benchmark("aqeval", tmp_path)
    assert {unit.sound.name for unit in found.units} == {lies_as}


@pytest.mark.parametrize(
    ("column", "value", "what"),
    [
        ("type", "riddle", "test.csv, row 3: type is 'riddle', not one of binary, word, short, medium, long"),
        ("final_annotation", "0.7", "test.csv, row 3: final_annotation is '0.7', not 1, 0.5 or 0"),
        ("final_annotation", "nan", "row 3: final_annotation is 'nan', not 1, 0.5 or 0"),
        ("final_annotation", "", "row 3: final_annotation is empty"),
        ("reference", " ", "row 3: reference is empty"),
        ("filename", "", "row 3: filename is empty"),
    ],
)
def test_a_wrong_value_is_named_with_its_row(column, value, what, tmp_path):
    rows = aqeval_rows()
    rows[1][AQEVAL_COLUMNS.index(column)] = value
    miniature.table(tmp_path / "test.csv", AQEVAL_COLUMNS, rows)
    assert what in refusal(tmp_path)
    assert "satvik-dixit/AURA on GitHub" in refusal(tmp_path)


def test_an_answer_may_be_empty(tmp_path):
    rows = aqeval_rows()
    rows[0][AQEVAL_COLUMNS.index("response")] = ""
    miniature.table(tmp_path / "test.csv", AQEVAL_COLUMNS, rows)
    assert open_benchmark("aqeval", tmp_path, needs_sounds=False).units[0].text == ""


def test_a_missing_file_or_column_is_named(tmp_path):
    assert "has no file test.csv or AQEval/test.csv" in refusal(tmp_path)
    miniature.table(tmp_path / "test.csv", AQEVAL_COLUMNS[:-1], [row[:-1] for row in aqeval_rows()])
    assert "has a test.csv without the column 'final_annotation'" in refusal(tmp_path)


def test_a_limit_keeps_so_many_of_each_system_and_type(tmp_path):
    found = limit_benchmark(open_benchmark("aqeval", miniature.aqeval(tmp_path)), 2)
    assert len(found.ratings) == 5 * 4 * 2
    assert len({rating.parts[0] for rating in found.ratings}) == 20


def test_the_composition_counts_both_splits_by_source(tmp_path):
    first, second = open_benchmark("aqeval", miniature.aqeval(tmp_path)).composition
    assert (first.source, second.source) == ("audiocaps_val", "clotho_aqa_test")
    # Of the test split 3 questions of each type by 4 systems; of the validation split one binary one more.
    assert first.counts["answers"] == 36
    assert second.counts == {
        **{"answers": 28, "binary": 16, "word": 12},
        # what, binary, word, thing, is, it, 0, 1, 2
        **{"question words": 9, "reference words": 1},
    }
