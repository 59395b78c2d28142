"""An export shows the study at one moment, however long writing takes and whatever is said meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow.parquet as pq
import pytest
from django.db import connection

from analytics.datasets import exports
from annotation.models import Judgment
from annotation.rating import exclusions
from tests import factories
from tests.analytics.votes import votes

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.concurrency]


def excluded_while_exporting(folder) -> tuple[int, int]:
    """Export five judgments as tables; once they are written, before the manifest counts them, somebody excludes them
    all. How many the file has as excluded, and how many the manifest."""
    study = factories.StudyFactory(overlap=9)
    votes(factories.rating_task(study, "a"), [1, 2, 3, 4, 5])

    def exclude_all() -> None:
        try:
            exclusions.exclude_or_restore(
                Judgment.objects.filter(study=study), study=study, action="exclude", reason="x", actor=None
            )
        finally:
            connection.close()

    def meanwhile(done: int) -> None:
        other = threading.Thread(target=exclude_all)
        other.start()
        other.join(30)

    manifest = exports.write_export(study, format="parquet", out=folder, on_progress=meanwhile)
    assert Judgment.objects.filter(study=study, excluded=True).count() == 5
    rows = pq.read_table(folder / "judgments.parquet").to_pylist()
    return sum(row["excluded"] for row in rows), manifest["counts"]["excluded"]


def test_marks_set_meanwhile_are_not_in_it(tmp_path):
    assert excluded_while_exporting(tmp_path / "out") == (0, 0)


def test_without_one_moment_the_manifest_would_count_others(monkeypatch, tmp_path):
    @contextmanager
    def each_statement_for_itself() -> Iterator[None]:
        yield

    monkeypatch.setattr(exports, "consistent_snapshot", each_statement_for_itself)
    assert excluded_while_exporting(tmp_path / "out") == (0, 5)
