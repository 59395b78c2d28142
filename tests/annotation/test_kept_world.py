"""The kept world stands for the made one: every row and file of it, and only where nothing else is."""

from __future__ import annotations

import pytest
from django.core.files.storage import default_storage
from django.db import connection, transaction

from tests import factories
from tests.annotation import kept_world
from tests.annotation.kept_world import world_of
from tests.emptying import filled_tables

pytestmark = pytest.mark.django_db


def counted() -> dict[str, int]:
    found = {}
    with connection.cursor() as cursor:
        for table in filled_tables():
            [found[table]] = cursor.execute(f"SELECT count(*) FROM {table}").fetchone()
    return found


def test_what_is_laid_down_is_what_was_made(monkeypatch):
    monkeypatch.setattr(kept_world, "_kept", {})
    before = transaction.savepoint()
    made = world_of("here")
    rows, files = counted(), kept_world._kept["here"].files
    transaction.savepoint_rollback(before)
    assert counted() == {}
    for name in files:
        default_storage.delete(name)
    monkeypatch.setattr(kept_world, "make_world", None)
    laid = world_of("here")
    assert counted() == rows
    assert (laid.open.pk, laid.judgment.pk) == (made.open.pk, made.judgment.pk)
    laid.study.refresh_from_db()
    assert len(files) > 9
    assert all(default_storage.exists(name) for name in files)


def test_what_a_test_does_to_it_is_not_kept(monkeypatch):
    monkeypatch.setattr(kept_world, "_kept", {})
    world_of("here").study.title = "Another"
    assert kept_world._kept["here"].world.study.title == "SECRET title of here"


def test_where_there_is_something_already_it_is_made(monkeypatch):
    monkeypatch.setattr(kept_world, "_kept", {})
    factories.StudyFactory()
    assert world_of("here").study.slug == "here"
    assert kept_world._kept == {}
