"""Answers to checks: in a file of their own in exports, and in nothing that is published."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest

from analytics.datasets import exports
from annotation.models import GoldKey, Judgment, Study, Task
from annotation.rating import judgments, leases
from tests import factories
from tests.annotation.importing.answers import rating

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    """A regular task and a gold task, both answered, and an item that carries a trap."""
    study = factories.StudyFactory(slug="s", rules={**factories.NOTHING_TO_HEAR, "injection": {"gold": 0.5}})
    for name in ("regular", "other", "gold"):
        factories.rating_task(study, name)
    gold = Task.objects.get(external_id="gold")
    Task.objects.filter(pk=gold.pk).update(kind=Task.Kind.GOLD)
    GoldKey.objects.create(task=gold, question_key="correctness", value=4)
    factories.rating_task(study, "trap", extra={"trap": {"said": "4"}})
    Task.objects.filter(external_id="trap").update(kind=Task.Kind.TRAP)
    user = factories.member(study)
    while (lease := leases.lease_next(user, "s")[1]) is not None:
        judgments.submit(user, lease.id, rating(3))
    assert Judgment.objects.count() == 3
    return study


@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_an_export_has_them_in_a_file_of_their_own(study, tmp_path, format):
    manifest = exports.write_export(study, format=format, texts="both", out=tmp_path)
    assert (manifest["counts"]["judgments"], manifest["counts"]["hidden_checks"]) == (2, 1)
    assert "gold" not in (tmp_path / f"judgments.{format}").read_text()
    assert "trap" not in (tmp_path / f"items.{format}").read_text()
    text = (tmp_path / f"hidden_checks.{format}").read_text()
    if format == "jsonl":
        row = json.loads(text)
        assert (row["check"], row["passed"], row["score"]) == ("gold", False, 0)
        assert row["expected"][0]["value"] == 4
        assert row["answers"][0]["value"] == 3


def test_what_is_published_has_nothing_of_them(study, tmp_path):
    exports.write_export(study, format="parquet", texts="both", out=tmp_path)
    assert set(pq.read_table(tmp_path / "judgments.parquet")["task"].to_pylist()) == {"regular", "other"}
    assert "trap" not in pq.read_table(tmp_path / "items.parquet")["item"].to_pylist()
    assert pq.read_table(tmp_path / "raters.parquet")["counted"].to_pylist() == [2]
