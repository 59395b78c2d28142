"""`manage.py fuse` from tables of scores to weights and figures, and what is wrong with a table."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from django.core.management import CommandError

from annotation.models import Item, Study
from tests import factories
from tests.analytics.reports.reading import typed
from tests.analytics.votes import votes
from tests.scoring.policies.scores import score, scored_by, version_of

COLUMNS = ("answer", "question", "split", "human", "near", "words", "remark")


def rows(n: int = 120) -> list[dict[str, object]]:
    draw = np.random.default_rng(5)
    table = []
    for at in range(n):
        human = float(draw.integers(1, 6))
        near = float(np.clip(human + draw.normal(0, 0.6), 1, 5))
        words = float(max(0.0, human + draw.normal(0, 2)))
        part = ("train", "train", "train", "validation", "test")[at // 2 % 5]
        table.append(
            dict(zip(COLUMNS, (f"a{at}", f"q{at // 2}", part, human, near, words, "x"), strict=True))
        )
    return table


def write(path: Path, table: list[dict[str, object]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(table[0]))
        writer.writeheader()
        writer.writerows(table)
    return path


def run(output: Path, *arguments: str) -> str:
    return typed("fuse", *arguments, "--output", str(output), "--replicates", "20")


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_column_of_numbers_is_a_judge_and_the_report_has_its_weight(tmp_path):
    said = run(tmp_path / "out", str(write(tmp_path / "scores.csv", rows())), "--scale", "1-5")
    weights = read(tmp_path / "out" / "fusion_weights.csv")
    assert [row["judge"] for row in weights] == ["near", "words"]
    assert sum(float(row["weight"]) for row in weights) == pytest.approx(1)
    assert float(weights[0]["weight_low"]) <= float(weights[0]["weight"])
    judged = [row["judge"] for row in read(tmp_path / "out" / "fusion_test.csv")]
    assert judged == ["near (best single)", "words", "mean", "fusion", "without near", "without words"]
    assert "Weights" in said
    assert "those that the source names" in said
    assert len(read(tmp_path / "out" / "fusion_scores.csv")) == 24
    assert {"fusion.html", "fusion_plot.svg", "fusion_weights.tex"} <= {
        p.name for p in (tmp_path / "out").iterdir()
    }


def test_a_second_table_adds_judges_by_the_name_of_the_answer(tmp_path):
    first = write(tmp_path / "scores.csv", rows())
    more = tmp_path / "more.jsonl"
    # An answer without a score is left out, and one that nobody rated is nothing to learn from.
    lines = [{"answer": f"a{at}", "near": at / 200} for at in range(119)] + [{"answer": "unrated", "near": 1}]
    more.write_text("\n".join(json.dumps(line) for line in lines))
    run(tmp_path / "out", str(first), str(more), "--scale", "1-5")
    assert [row["judge"] for row in read(tmp_path / "out" / "fusion_weights.csv")] == [
        "near",
        "words",
        "more.near",
    ]
    counts = {row["split"]: row for row in read(tmp_path / "out" / "fusion_answers.csv")}
    assert counts["test"]["missing_more.near"] == "1"


def test_splits_that_are_not_named_are_drawn_by_question(tmp_path):
    table = [{name: value for name, value in row.items() if name != "split"} for row in rows(200)]
    said = run(
        tmp_path / "out",
        str(write(tmp_path / "scores.csv", table)),
        "--scale",
        "1-5",
        "--judges",
        "near,words",
    )
    assert "drawn by question, 8:1:1, seed 0" in said
    assert [row["answers"] for row in read(tmp_path / "out" / "fusion_answers.csv")] == ["160", "20", "20"]


@pytest.mark.parametrize(
    ("changes", "arguments", "words"),
    [
        ({"human": "7"}, (), "row 3, human: is 7, which is not from 1 to 5"),
        ({"human": "good"}, (), "row 3, human: is 'good', which is no number"),
        ({"near": "bad"}, ("--judges", "near"), "row 3, near: is 'bad', which is no number"),
        ({"split": "later"}, (), "row 3, split: is 'later'"),
        ({"answer": ""}, (), "row 3, answer: is missing"),
        ({"answer": "a0"}, (), "row 3, answer: 'a0' is row 2's"),
        ({"question": "q3"}, (), "The splits overlap: 1 question lies in two of them"),
        ({}, ("--judges", "nobody"), "No table has a column 'nobody'"),
        ({}, ("--human", "votes"), "has no column 'votes'"),
        ({}, ("--scale", "5"), "'5' is no scale"),
    ],
)
def test_what_is_wrong_is_named_with_row_and_column(tmp_path, changes, arguments, words):
    table = rows()
    table[1] |= changes
    path = write(tmp_path / "scores.csv", table)
    with pytest.raises(CommandError) as raised:
        run(tmp_path / "out", str(path), "--scale", "1-5", *arguments)
    assert words in str(raised.value)
    assert not (tmp_path / "out").exists()


SPLITS = ("train", "train", "train", "train", "dev", "test")


@pytest.fixture
def study() -> Study:
    """Rated answers in the splits of their source, and two scorers of them."""
    study = factories.StudyFactory(slug="answers", overlap=9)
    near, words = scored_by(study, "near"), scored_by(study, "words")
    for number in range(24):
        rating = 1 + number % 5
        task = factories.rating_task(study, f"item {number}", question=f"What is heard in {number}?")
        votes(task, [rating, min(5, rating + number % 2)])
        Item.objects.filter(external_id=f"item {number}").update(strata={"split": SPLITS[number % 6]})
        score(near, task, value=(rating / 5,))
        score(words, task, score=(float(number % 7),), other=(1.0,))
    return study


@pytest.mark.django_db
class TestStudy:
    def test_a_study_is_fused_in_the_splits_that_its_source_names(self, study, tmp_path):
        said = run(tmp_path / "out", "answers", "--scorers", "near,words:score")
        assert "those that the source names" in said
        counts = {row["split"]: row["used"] for row in read(tmp_path / "out" / "fusion_answers.csv")}
        assert counts == {"train": "16", "dev": "4", "test": "4"}
        weights = read(tmp_path / "out" / "fusion_weights.csv")
        assert [row["judge"] for row in weights] == ["near", "words:score"]
        assert float(weights[0]["weight"]) > 0.9
        assert len(read(tmp_path / "out" / "fusion_scores.csv")) == 4

    def test_answers_that_a_judge_was_trained_on_do_not_count_in_test(self, study, tmp_path):
        held_out = Item.objects.filter(study=study, strata__split="test").order_by("pk")[:3]
        items = [item.pk for item in held_out]
        version_of(study, study.scoring_runs.get(metric="near").scorer, record={"held_out": {"items": items}})
        said = run(tmp_path / "out", "answers", "--scorers", "near,words")
        assert "Left out of near: answers in test that it was trained on: 1" in said
        counts = {row["split"]: row for row in read(tmp_path / "out" / "fusion_answers.csv")}
        assert (counts["test"]["used"], counts["test"]["missing_near"]) == ("3", "1")
        assert (counts["train"]["used"], counts["dev"]["used"]) == ("16", "4")

    @pytest.mark.parametrize(
        ("strata", "scorers", "words"),
        [
            ({}, "near", "1 of 24 rated answers are in no split by their item's stratum “split”"),
            ({"split": "fold 2"}, "near", "(the first says 'fold 2')"),
            ({"split": "test"}, "near,bleu", "'bleu' has not scored this study."),
            ({"split": "test"}, "words:value", "words has no output 'value' in this study."),
            ({"split": "test"}, "", "Name the study's scorers"),
        ],
    )
    def test_what_is_missing_is_named(self, study, tmp_path, strata, scorers, words):
        Item.objects.filter(external_id="item 5").update(strata=strata)
        with pytest.raises(CommandError) as raised:
            run(tmp_path / "out", "answers", "--scorers", scorers)
        assert words in str(raised.value)
        assert not (tmp_path / "out").exists()
