"""Training sets, opened by the libraries that they are for."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pandas as pd
import pytest

from analytics.datasets import training_sets
from analytics.datasets.formats.contract import TrainingSetOptions
from analytics.datasets.formats.training import TRAINING_FORMATS
from annotation.models import Study
from tests import factories
from tests.analytics.votes import vote

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture(autouse=True)
def _offline(monkeypatch, tmp_path) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def compared() -> Study:
    study = factories.StudyFactory(slug="pairs", preset="cmi-pref", overlap=4)
    for number in range(4):
        task = factories.comparison_task(study, f"t{number}")
        vote(task, question="alignment", choice=1, confidence=4)
        vote(task, question="musicality", choice=2, confidence=2)
    return study


@pytest.fixture
def rated() -> Study:
    study = factories.StudyFactory(slug="rated", overlap=4)
    for number in range(4):
        vote(factories.rating_task(study, f"t{number}", system="M1_0"), number + 1)
    return study


def loaded(folder: Path, table: str | None = None):
    import datasets

    return datasets.load_dataset(str(folder), table)


def sizes(sets) -> dict[str, int]:
    return {part: own.num_rows for part, own in sets.items()}


@pytest.mark.parametrize("file", ["parquet", "jsonl"])
def test_datasets_loads_each_table_with_its_splits(compared, tmp_path, file):
    for format in ("trl-preference", "trl-unpaired", "soft-preferences", "arena"):
        made = training_sets.write_training_set(
            compared, TrainingSetOptions(format, file=file), out=tmp_path / format
        )
        for table, counts in made["counts"].items():
            found = loaded(tmp_path / format, table)
            assert sizes(found) == counts
            assert found["train"].column_names == [column.name for column in TRAINING_FORMATS[format].columns]


def test_datasets_loads_ratings(rated, tmp_path):
    for format, file in (("mos", "parquet"), ("mos", "jsonl"), ("orca", "jsonl")):
        made = training_sets.write_training_set(
            rated, TrainingSetOptions(format, file=file), out=tmp_path / f"{format}-{file}"
        )
        for table, counts in made["counts"].items():
            assert sizes(loaded(tmp_path / f"{format}-{file}", table)) == counts


def test_datasets_loads_cmi_pref_and_leaves_empty_splits_out(compared, tmp_path):
    training_sets.write_training_set(
        compared, TrainingSetOptions("cmi-pref", ratios=(1, 0, 0)), out=tmp_path / "set"
    )
    assert sizes(loaded(tmp_path / "set")) == {"train": 8}


def test_trl_takes_preferences_for_what_they_are(compared, tmp_path):
    from trl import data_utils

    training_sets.write_training_set(compared, TrainingSetOptions("trl-preference"), out=tmp_path / "set")
    pairs = loaded(tmp_path / "set", "alignment")["train"]
    assert not data_utils.is_conversational(pairs[0])
    assert data_utils.maybe_extract_prompt(pairs[0])["prompt"] == pairs[0]["prompt"]
    unpaired = data_utils.unpair_preference_dataset(pairs.select_columns(["prompt", "chosen", "rejected"]))
    labelled = list(zip(unpaired["completion"], unpaired["label"], strict=True))
    assert sorted(labelled) == sorted(
        [(c, True) for c in pairs["chosen"]] + [(r, False) for r in pairs["rejected"]]
    )
    # What RewardTrainer reads besides the texts, and does with it. Importing it would take as long as all of this.
    source = (Path(data_utils.__file__).parent / "trainer" / "reward_trainer.py").read_text("utf-8")
    assert '"chosen_ids", "rejected_ids", "margin"' in source
    assert 'rewards_chosen - rewards_rejected - inputs["margin"]' in source
    assert pairs.features["margin"].dtype == "float64"

    training_sets.write_training_set(compared, TrainingSetOptions("trl-unpaired"), out=tmp_path / "single")
    single = loaded(tmp_path / "single", "alignment")["train"]
    assert sorted(zip(single["completion"], single["label"], strict=True)) == sorted(labelled)


def test_pandas_reads_tables_and_the_first_generation_of_orca(rated, tmp_path):
    training_sets.write_training_set(rated, TrainingSetOptions("orca"), out=tmp_path / "orca")
    entries = [
        json.loads((tmp_path / "orca" / "data" / f"{part}.json").read_text("utf-8"))
        for part in ("train", "dev", "test")
    ]
    ratings = [rating for part in entries for entry in part.values() for rating in entry["ratings"]]
    assert sorted(ratings) == [1, 2, 3, 4]
    training_sets.write_training_set(rated, TrainingSetOptions("mos"), out=tmp_path / "mos")
    table = pd.concat(map(pd.read_parquet, (tmp_path / "mos" / "correctness").glob("*.parquet")))
    assert sorted(table["mean"]) == [1.0, 2.0, 3.0, 4.0]


def test_aqeval_is_a_csv_in_the_released_columns(tmp_path):
    study = factories.StudyFactory(preset="aqeval", overlap=9)
    for number in range(3):
        task = factories.panel_task(study, f"t{number}", ["=1+1", "A bell"])
        vote(task, 1, question="correct", slot=0)
    made = training_sets.write_training_set(study, TrainingSetOptions("aqeval"), out=tmp_path / "set")
    assert made["noted"] == {"answers with another number of votes than five": 3}
    table = pd.read_csv(tmp_path / "set" / "correct" / "train.csv", quoting=csv.QUOTE_MINIMAL)
    released = [
        "source",
        "filename",
        "type",
        "question",
        "reference",
        "model",
        "response",
        "final_annotation",
    ]
    assert list(table.columns)[: len(released)] == released
    assert (table.final_annotation[0], table.response[0]) == (1.0, "'=1+1")
    assert sizes(loaded(tmp_path / "set", "correct")) == {"train": 1, "dev": 1, "test": 1}
