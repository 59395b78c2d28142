"""An export shows the study at one moment, however long writing takes and whatever is said meanwhile."""

from __future__ import annotations

import json
import threading
from contextlib import nullcontext

import pytest
from django.db import connection

from analytics.datasets import exports, records
from annotation.models import Judgment
from annotation.rating import exclusions
from tests import factories
from tests.analytics.votes import votes

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.concurrency]


def excluded_while_exporting(monkeypatch, folder) -> list[bool]:
    """Export five judgments by batches of two; after the second judgment somebody excludes them all."""
    study = factories.StudyFactory(overlap=9)
    votes(factories.rating_task(study, "a"), [1, 2, 3, 4, 5])
    monkeypatch.setattr(records, "JUDGMENT_BATCH", 2)
    monkeypatch.setattr(exports, "PROGRESS_EVERY", 2)

    def exclude_all() -> None:
        try:
            exclusions.exclude_or_restore(
                Judgment.objects.filter(study=study), study=study, action="exclude", reason="x", actor=None
            )
        finally:
            connection.close()

    def meanwhile(done: int) -> None:
        if done == 2:
            other = threading.Thread(target=exclude_all)
            other.start()
            other.join(30)

    exports.write_export(study, format="jsonl", out=folder, on_progress=meanwhile)
    assert Judgment.objects.filter(study=study, excluded=True).count() == 5
    lines = (folder / "judgments.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["excluded"] for line in lines]


def test_marks_set_meanwhile_are_not_in_it(monkeypatch, tmp_path):
    assert excluded_while_exporting(monkeypatch, tmp_path / "out") == [False] * 5


def test_without_one_moment_half_of_them_would_be(monkeypatch, tmp_path):
    monkeypatch.setattr(exports, "consistent_snapshot", nullcontext)
    assert excluded_while_exporting(monkeypatch, tmp_path / "out") == [False, False, True, True, True]
