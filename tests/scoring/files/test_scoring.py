"""A file scored to a file: every row once, in its order, whatever came in between."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from annotation.errors import Conflict, InvalidInput
from scoring.files import score_file
from scoring.files.file_scoring import Summary, Target, even_batches
from scoring.files.source import Row
from scoring.metrics.contract import BatchLimits, Example, ExampleError, Outcome, Reading, SetupError
from scoring.metrics.registry import Reads, Runtime, open_metric
from tests.annotation.audio.recordings import sine, write_wav
from tests.scoring.checkpoints import tiny_clap
from tests.scoring.doubles import WordCount

TEXTS = ["one", "one two", "one two three", "1 2 3 4", "1 2 3 4 5", "1 2 3 4 5 6"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Six rows over sounds of different lengths; ids in no order."""
    lines = ["id,audio,text"]
    for number, text in enumerate(TEXTS):
        write_wav(tmp_path / f"{number}.wav", sine(seconds=0.1 * (1 + number * 5 % 6), channels=1))
        lines.append(f"row-{(number * 5) % 7},{number}.wav,{text}")
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def scored(source: Path, metric: Any, name: str = "scores.csv", *, reads: Reads = Reads.SINGLE) -> Summary:
    return score_file(source, source.parent / name, metric, reads=reads, on_progress=lambda done, all: None)


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


class Scores(WordCount):
    """Gives each example what `outcome` makes of it: readings, or the error it raises."""

    def __init__(self, outcome: Callable[[Example], dict[str, Reading]]) -> None:
        super().__init__()
        self.outcome = outcome

    def _one(self, example: Example) -> Outcome:
        return Outcome(example.key, self.outcome(example))


class Stopped(WordCount):
    """Breaks off after some batches, as Ctrl-C does."""

    def __init__(self, after: int, error: type[BaseException] = KeyboardInterrupt) -> None:
        super().__init__(limit=2)
        self.after, self.error = after, error

    def score(self, examples: Sequence[Example]) -> list[Outcome]:
        if len(self.batches) == self.after:
            raise self.error("stopped")
        return super().score(examples)


def test_every_row_gets_its_score_in_the_order_of_the_source(source: Path) -> None:
    told: list[tuple[int, int]] = []
    metric = WordCount(limit=2)
    summary = score_file(
        source, source.with_name("scores.csv"), metric, reads=Reads.SINGLE,
        on_progress=lambda done, all: told.append((done, all)),
    )  # fmt: skip
    rows = read_csv(source.with_name("scores.csv"))
    assert [row["id"] for row in rows] == [row["id"] for row in read_csv(source)]
    assert [float(row["words"]) for row in rows] == [1, 2, 3, 4, 5, 6]
    assert list(rows[0]) == ["id", "audio", "text", "words", "fault", "reason"]
    assert told == [(2, 6), (4, 6), (6, 6)]
    assert summary == Summary(n_rows=6, n_scored=6, n_before=0, faults={})


def test_faults_stay_with_their_rows(source: Path) -> None:
    source.write_text(source.read_text().replace("1 2 3 4\n", "undecodable\n").replace("one two\n", "nan\n"))
    summary = scored(source, WordCount())
    rows = read_csv(source.with_name("scores.csv"))
    assert [row["fault"] for row in rows] == ["", "not_finite", "", "undecodable", "", ""]
    assert [row["words"] for row in rows] == ["1.0", "", "3.0", "", "5.0", "6.0"]
    assert rows[3]["reason"] == "This file is damaged: decoding broke at 0.50 s."
    assert summary == Summary(n_rows=6, n_scored=4, n_before=0, faults={"undecodable": 1, "not_finite": 1})


@pytest.mark.parametrize("name", ["scores.csv", "scores.jsonl"])
def test_a_second_call_scores_nothing_again(source: Path, name: str) -> None:
    scored(source, WordCount(), name)
    before = source.with_name(name).read_bytes()
    metric = WordCount()
    assert scored(source, metric, name) == Summary(n_rows=6, n_scored=6, n_before=6, faults={})
    assert metric.batches == []
    assert source.with_name(name).read_bytes() == before


@pytest.mark.parametrize("name", ["scores.csv", "scores.jsonl"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, SetupError])
def test_what_was_broken_off_is_valid_and_gone_on_with(
    source: Path, name: str, error: type[BaseException]
) -> None:
    target = source.with_name(name)
    with pytest.raises(error):
        scored(source, Stopped(2, error), name)
    kept = target.read_text().splitlines()
    assert len(kept) == 4 + (name == "scores.csv")
    metric = WordCount(limit=2)
    assert scored(source, metric, name) == Summary(n_rows=6, n_scored=6, n_before=4, faults={})
    assert len(metric.batches) == 1
    assert set(kept) < set(target.read_text().splitlines())


def test_what_a_killed_process_left_is_gone_on_with(source: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        scored(source, Stopped(2), "scores.jsonl")
    # As if it had been killed: no target yet, and the last line torn.
    left = source.with_name("scores.jsonl").read_text()
    source.with_name("scores.jsonl").unlink()
    source.with_name("scores.jsonl.partial").write_text(left[:-20])
    metric = WordCount()
    assert scored(source, metric, "scores.jsonl") == Summary(n_rows=6, n_scored=6, n_before=3, faults={})
    assert not source.with_name("scores.jsonl.partial").exists()


@pytest.mark.parametrize("name", ["scores.csv", "scores.jsonl"])
def test_fields_reach_the_scorer_and_a_changed_one_is_scored_again(tmp_path: Path, name: str) -> None:
    source = tmp_path / "answers.csv"
    source.write_text("id,question,reference,text\nx,What?,two words,dog\ny,Who?,one,cat\n")

    def score() -> list[int]:
        metric = Scores(lambda example: {"reference": Reading(len(example.fields["reference"].split()))})
        score_file(
            source, tmp_path / name, metric, reads=Reads.SINGLE, hears=False, on_progress=lambda *_: None
        )
        return [len(batch) for batch in metric.batches]

    assert (score(), score()) == ([2], [])
    source.write_text(source.read_text().replace("two words", "now three words"))
    assert score() == [1]
    if name == "scores.csv":
        first, second = read_csv(tmp_path / name)
        assert first == {
            "id": "x", "text": "dog", "question": "What?", "reference": "now three words", "fault": "", "reason": "",
            "score.reference": "3",
        }  # fmt: skip
        assert second["score.reference"] == "1.0"


def test_failed_rows_are_tried_again(source: Path) -> None:
    source.write_text(source.read_text().replace("1 2 3 4\n", "undecodable\n"))
    scored(source, WordCount())
    scored(source, Scores(lambda example: {"words": Reading(99.0)}))
    assert [row["words"] for row in read_csv(source.with_name("scores.csv"))] == [
        "1.0", "2.0", "3.0", "99.0", "5.0", "6.0"
    ]  # fmt: skip


def test_changed_rows_are_scored_again(source: Path) -> None:
    scored(source, WordCount())
    source.write_text(source.read_text().replace("one two three", "four words are here"))
    metric = WordCount()
    scored(source, metric)
    assert [len(batch) for batch in metric.batches] == [1]
    assert read_csv(source.with_name("scores.csv"))[2]["words"] == "4.0"


def test_another_scorer_may_not_go_on(source: Path) -> None:
    scored(source, WordCount())
    before = source.with_name("scores.csv").read_bytes()
    with pytest.raises(InvalidInput, match=r"another scorer, or another version of it\. Name another target"):
        scored(source, WordCount(version="2"))
    assert source.with_name("scores.csv").read_bytes() == before
    assert {path.name for path in source.parent.glob("scores*")} == {"scores.csv", "scores.csv.scorer.json"}


def test_a_file_of_somebody_else_s_is_left_alone(source: Path) -> None:
    source.with_name("scores.csv").write_text("my notes")
    with pytest.raises(InvalidInput, match="written by something else"):
        scored(source, WordCount())
    assert source.with_name("scores.csv").read_text() == "my notes"


def test_scores_of_rows_that_left_the_source_are_not_lost(source: Path) -> None:
    scored(source, WordCount())
    source.write_text("\n".join(source.read_text().splitlines()[:-1]) + "\n")
    with pytest.raises(InvalidInput, match="holds 1 rows that the source does not"):
        scored(source, WordCount())
    assert len(read_csv(source.with_name("scores.csv"))) == 6


def test_a_target_that_was_edited_is_not_guessed_at(source: Path) -> None:
    scored(source, WordCount())
    target = source.with_name("scores.csv")
    target.write_text(target.read_text().replace("6.0", "six"))
    with pytest.raises(InvalidInput, match="changed since it was written"):
        scored(source, WordCount())


@pytest.mark.parametrize(("name", "said"), [("scores.txt", "is none of"), ("gone/scores.csv", "no folder")])
def test_a_target_that_cannot_be_written_is_refused(source: Path, name: str, said: str) -> None:
    metric = WordCount()
    with pytest.raises(InvalidInput, match=said):
        scored(source, metric, name)
    assert metric.batches == []


def test_bad_input_leaves_no_trace(source: Path) -> None:
    source.write_text("audio,text\ngone.wav,rain\n")
    with pytest.raises(InvalidInput):
        scored(source, WordCount())
    assert not list(source.parent.glob("scores*"))


@pytest.mark.parametrize("name", ["scores.csv", "scores.jsonl"])
def test_texts_of_every_kind_come_through(source: Path, name: str) -> None:
    texts = ["one\rtwo", "one\r\ntwo\nthree", "\u2028one\x85two"]
    texts += ['=HYPERLINK("x")', "@SUM(1)", "'=1", "'", "-1"]
    lines = [{"id": f"={n}", "audio": "0.wav", "text": text} for n, text in enumerate(texts)]
    source = source.with_suffix(".jsonl")
    source.write_text("\n".join(json.dumps(line) for line in lines))
    assert scored(source, WordCount(), name).n_scored == 8
    assert scored(source, WordCount(), name).n_before == 8
    if name == "scores.csv":
        kept = read_csv(source.with_name(name))
        assert [row["text"] for row in kept[-5:]] == ['\'=HYPERLINK("x")', "'@SUM(1)", "''=1", "'", "'-1"]
        assert {row["id"][:2] for row in kept} == {"'="}


@pytest.mark.parametrize("name", ["scores.csv", "scores.jsonl"])
def test_half_a_character_in_an_answer_ends_nothing(source: Path, name: str) -> None:
    def answer(example: Example) -> dict[str, Reading]:
        if example.texts[0] == "one":
            raise ExampleError("unparsable", "The answer is no number: \ud83c.")
        return {"words": Reading(1.0, None, {"answer": "\ud83c"})}

    assert scored(source, Scores(answer), name) == Summary(6, 5, 0, {"unparsable": 1})
    assert scored(source, Scores(answer), name).n_before == 5
    assert "no number: \\ud83c." in source.with_name(name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["scores.csv", "scores.jsonl"])
def test_scores_that_are_bounds_are_marked(source: Path, name: str) -> None:
    def bounds(example: Example) -> dict[str, Reading]:
        provenance = {"bounded": ["yes", "no"]} if example.texts[0] == "one" else {}
        return {"heard": Reading(0.5, None, provenance), "default": Reading(0.5)}

    scored(source, Scores(bounds), name)
    assert scored(source, Scores(bounds), name).n_before == 6
    if name == "scores.csv":
        rows = read_csv(source.with_name(name))
        assert list(rows[0])[-3:] == ["bounded", "fault", "reason"]
        assert [row["bounded"] for row in rows] == ["heard:yes;heard:no", "", "", "", "", ""]
    else:
        first, second, *_ = map(json.loads, source.with_name(name).read_text().splitlines())
        assert first["bounded"] == ["heard:yes", "heard:no"]
        assert "bounded" not in second


def test_two_processes_do_not_write_to_one_target(source: Path) -> None:
    target = source.with_name("scores.csv")
    with Target(target, rows=[], identity={}), pytest.raises(Conflict, match="Another process"):
        Target(target, rows=[], identity={}).__enter__()


def test_lines_of_json_keep_what_is_behind_a_score(source: Path) -> None:
    reading = Reading(0.25, {"yes": -1.0, "no": -0.5}, {"note": "x\u2028y"})
    scored(source, Scores(lambda example: {"yes": reading}), "scores.jsonl")
    assert scored(source, Scores(lambda example: {"yes": reading}), "scores.jsonl").n_before == 6
    line = json.loads(source.with_name("scores.jsonl").read_text().split("\n")[0])
    assert line["yes"] == 0.25
    assert line["details"] == {
        "yes": {"distribution": {"yes": -1.0, "no": -0.5}, "provenance": {"note": "x\u2028y"}}
    }


def test_pairs_are_given_in_their_order(source: Path) -> None:
    def places(example: Example) -> dict[str, Reading]:
        first, second = (float(sound.path.stem) for sound in example.sounds)
        return {"first": Reading(first), "second": Reading(second)}

    source.write_text("audio,audio2,text\n3.wav,1.wav,rain\n")
    scored(source, Scores(places), reads=Reads.PAIR)
    (row,) = read_csv(source.with_name("scores.csv"))
    assert (row["audio"], row["audio2"], row["first"], row["second"]) == ("3.wav", "1.wav", "3.0", "1.0")


@pytest.mark.parametrize("name", ["scores.csv", "scores.jsonl"])
def test_an_output_may_be_called_like_a_column(source: Path, name: str) -> None:
    metric = Scores(lambda example: {"text": Reading(0.5)})
    scored(source, metric, name)
    assert scored(source, metric, name).n_before == 6
    column = {"scores.csv": "text,score.text,fault", "scores.jsonl": '"score.text": 0.5'}[name]
    assert column in (source.parent / name).read_text()


def test_batches_are_of_like_length_and_within_limits() -> None:
    lengths = {Path(str(n)): float(seconds) for n, seconds in enumerate([1, 30, 2, 10, 9, 1, 1, 100])}
    rows = [Row(str(path), (str(path),), ("x",), (path,)) for path in lengths]
    found = [
        [lengths[row.paths[0]] for row in batch]
        for batch in even_batches(rows, lengths, BatchLimits(3, seconds=40.0))
    ]
    assert found == [[100], [30], [10, 9, 2], [1, 1, 1]]


def test_the_next_batch_is_prepared_while_one_is_scored(source: Path) -> None:
    log: list[str] = []

    class Logged(WordCount):
        def prepare(self, examples: Sequence[Example]) -> None:
            log.extend(f"prepare {example.texts[0]}" for example in examples)

        def _one(self, example: Example) -> Outcome:
            log.append(f"score {example.texts[0]}")
            return super()._one(example)

    scored(source, Logged(limit=1))
    for text in [line.removeprefix("prepare ") for line in log if line.startswith("prepare")]:
        place = log.index(f"prepare {text}")
        assert log[place + 1].startswith("score")
        assert log[place + 1] != f"score {text}"
        assert f"score {text}" in log[place + 2 :]


def test_a_file_is_scored_by_clap(source: Path, tmp_path: Path) -> None:
    write_wav(tmp_path / "0.wav", sine(seconds=0.2)).write_bytes(b"RIFF, and no more")
    runtime = Runtime(tmp_path / "features", 10**7, device="cpu")
    metric = open_metric("clapscore", {"checkpoint": str(tiny_clap(tmp_path / "clap"))}, runtime)
    assert scored(source, metric) == Summary(n_rows=6, n_scored=5, n_before=0, faults={"undecodable": 1})
    rows = read_csv(source.with_name("scores.csv"))
    assert rows[0]["fault"] == "undecodable"
    assert all(-1 <= float(row["value"]) <= 1 for row in rows[1:])
    record = json.loads(source.with_name("scores.csv.scorer.json").read_text())
    assert record["identity"] == dict(metric.identity)
