"""Migrations that add indexes to the tables of votes let people vote meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import pytest
from django.db import connection, migrations
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.migration import Migration
from psycopg.conninfo import make_conninfo

from annotation.models import Judgment
from annotation.online_indexes import AddIndexOnline
from annotation.rating import judgments, leases
from config import env
from tests.annotation.importing.answers import rating
from tests.concurrency.test_overlap import make_study

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.concurrency]

NAMES = ("0007_judgments_and_skips_of_a_rater_in_order", "0009_judgments_by_what_tables_filter")
INDEXES = """
SELECT c.relname, i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid IN ('annotation_judgment'::regclass, 'annotation_assignment'::regclass)
"""


def change(name: str, *, forwards: bool, migration: Migration | None = None) -> None:
    """Apply a migration as it was written, or take it back, whatever is recorded."""
    executor = MigrationExecutor(connection)
    key = ("annotation", name)
    before = executor.loader.project_state(key, at_end=False)
    migration = migration or executor.loader.get_migration(*key)
    with connection.schema_editor(atomic=migration.atomic) as editor:
        (migration.apply if forwards else migration.unapply)(before, editor)


def indexes() -> dict[str, bool]:
    with connection.cursor() as cursor:
        cursor.execute(INDEXES)
        return dict(cursor.fetchall())


@pytest.fixture
def complete() -> Iterator[dict[str, bool]]:
    """The indexes there are; there again after the test, whatever became of it."""
    expected = indexes()
    yield expected
    connection.close()  # with its lock_timeout
    for name in NAMES:
        change(name, forwards=True)
    assert indexes() == expected


@contextmanager
def waiting_for_a_vote(work: Callable[[], None]) -> Iterator[list[Exception]]:
    """While `work`, in a thread, waits for somebody's transaction that has written a judgment and is not over."""
    database = make_conninfo(env.text("DATABASE_URL"), dbname=connection.settings_dict["NAME"])
    failures: list[Exception] = []

    def run() -> None:
        try:
            work()
        except Exception as error:
            failures.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    with psycopg.connect(database) as other:
        other.execute("UPDATE annotation_judgment SET excluded = excluded")
        thread.start()
        try:
            wait_until(_waits)
            yield failures
        finally:
            other.rollback()
            thread.join(30)


def _waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            " AND datname = current_database() AND query LIKE 'CREATE INDEX%%'"
        )
        return bool(cursor.fetchone()[0])


def wait_until(condition: Callable[[], bool]) -> None:
    for _ in range(200):
        if condition():
            return
        time.sleep(0.05)
    pytest.fail("it did not wait")


def vote(user, study) -> None:
    _, lease = leases.lease_next(user, study.slug)
    judgments.submit(user, lease.id, rating(3))


@pytest.mark.parametrize("name", NAMES)
def test_raters_vote_while_an_index_is_built(complete, name):
    study, users = make_study(4, 10)
    vote(users[0], study)
    change(name, forwards=False)
    assert indexes() != complete
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '5s'")
    with waiting_for_a_vote(lambda: change(name, forwards=True)) as failures:
        vote(users[1], study)
        vote(users[2], study)
        assert indexes() != complete
    assert (failures, indexes()) == ([], complete)
    assert Judgment.objects.count() == 3


def test_an_ordinary_migration_would_keep_them_waiting(complete):
    """The negative control of the test above."""
    study, users = make_study(4, 10)
    vote(users[0], study)
    change(NAMES[1], forwards=False)
    executor = MigrationExecutor(connection)
    ordinary = Migration("ordinary", "annotation")
    ordinary.operations = [
        migrations.AddIndex(one.model_name, one.index)
        for one in executor.loader.get_migration("annotation", NAMES[1]).operations
    ]
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '300ms'")
    with (
        waiting_for_a_vote(lambda: change(NAMES[1], forwards=True, migration=ordinary)),
        pytest.raises(Exception, match="lock timeout"),
    ):
        vote(users[1], study)


def test_a_migration_that_was_interrupted_is_applied_again(complete):
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'judgment_by_time'::regclass"
        )
    for name in NAMES:
        change(name, forwards=True)
    assert indexes() == complete


# A generated column changes: the whole table is written anew under a lock, and its indexes with it.
REWRITES = {"0014_checks_out_of_the_queue"}


def test_every_index_on_a_table_that_holds_votes_is_added_so():
    loader = MigrationExecutor(connection).loader
    tables = {
        "judgment",
        "answer",
        "assignment",
        "task",
        "rater",
        "exclusion",
        "item",
        "itemversion",
        "candidate",
    }
    blocking = [
        f"{key[1]}: {operation.index.name}"
        for key, migration in loader.disk_migrations.items()
        if key[0] in ("annotation", "scoring", "analytics") and key[1] > "0003" and key[1] not in REWRITES
        for operation in migration.operations
        if isinstance(operation, migrations.AddIndex)
        and not isinstance(operation, AddIndexOnline)
        and operation.model_name in tables
        and not _makes(migration, operation.model_name)
    ]
    assert blocking == []


def _makes(migration: Migration, model: str) -> bool:
    return any(
        isinstance(one, migrations.CreateModel) and one.name_lower == model for one in migration.operations
    )
