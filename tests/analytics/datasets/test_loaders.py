"""A release as others open it: by the libraries it is for, offline."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import pytest

from analytics.datasets.records import judgment_records
from tests.analytics.datasets.released import release, rows, working

pytestmark = pytest.mark.django_db

os.environ["HF_HUB_OFFLINE"] = "1"


@pytest.fixture
def made(tmp_path: Path) -> Path:
    world = working()
    world.go_on()
    release(
        world.study, tmp_path / "duel-1", creator="A lab", url="https://example.org/duel", language=("en",)
    )
    return tmp_path / "duel-1"


def test_every_table_is_loaded_by_name_and_the_card_is_valid(made, tmp_path):
    import datasets
    from huggingface_hub import DatasetCard

    names = datasets.get_dataset_config_names(str(made))
    assert names[:3] == ["judgments", "items", "candidates"]
    for name in names:
        loaded = datasets.load_dataset(str(made), name, split="train", cache_dir=str(tmp_path / "cache"))
        assert loaded.column_names == list(rows(made, name)[0])
        assert loaded.num_rows == len(rows(made, name))
    card = DatasetCard.load(made / "README.md")
    assert (card.data.pretty_name, card.data.language) == ("Another", ["en"])


def test_pandas_reads_typed_columns(made):
    frame = pd.read_parquet(made / "data/judgments/train-00000-of-00001.parquet")
    assert frame["submitted_at"].dt.tz is not None
    assert frame.loc[frame["counted"], "value"].notna().all()


def test_croissant_is_valid_and_its_records_are_those_of_the_release(made):
    import mlcroissant

    described = mlcroissant.Dataset(jsonld=made / "croissant.json")
    assert not described.metadata.ctx.issues.errors
    assert not described.metadata.ctx.issues.warnings
    metadata = described.metadata
    assert all([metadata.name, metadata.description, metadata.url, metadata.creators])
    records = list(described.records("raters"))
    told = [record["raters/rater"] for record in records]
    assert [name.decode() for name in told] == [row["rater"] for row in rows(made, "raters")]


def test_it_says_of_each_answer_what_an_export_says(tmp_path):
    """The two are made by different code."""
    world = working()
    release(world.study, tmp_path / "one")
    exported = {record["client_id"]: record for record in judgment_records(world.study)}
    same = (
        "item", "item_version", "task", "task_kind", "systems", "takes", "presentation", "origin", "revision",
        "effective", "excluded", "surplus", "codes", "protocol_version",
    )  # fmt: skip
    same_answer = (
        "question", "slot", "system", "choice", "choice_slot", "choice_shown", "value", "confidence",
    )  # fmt: skip
    said = rows(tmp_path / "one", "judgments")
    assert {row["judgment"] for row in said} == exported.keys()
    for row in said:
        record = exported[row["judgment"]]
        names = {"rater": row["rater"] or "", "exclusion_reason": row["exclusion_reason"] or ""}
        assert {name: row[name] for name in same} | names == {name: record[name] for name in (*same, *names)}
        [answer] = record["answers"]
        assert {name: row[name] for name in same_answer} == {name: answer[name] for name in same_answer}
