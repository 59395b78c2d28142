"""The database backend: a restarted database costs nobody an error, and a busy connection is not asked."""

from __future__ import annotations

import pytest
from django.core.signals import request_finished, request_started
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from config.postgres import base
from tests import factories

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def lasting(settings):
    """A connection kept between requests, as in production, closed again afterwards."""
    connection.close()
    connection.settings_dict["CONN_MAX_AGE"] = None
    connection.settings_dict["CONN_HEALTH_CHECKS"] = True
    yield connection
    connection.close()


def request() -> None:
    """One request that uses the database."""
    request_started.send(sender=None)
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    request_finished.send(sender=None)


def break_connection() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        pid = cursor.fetchone()[0]
    other = connections.create_connection("default")
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [pid])
    other.close()


def test_an_idle_connection_that_died_is_replaced_unnoticed(lasting, monkeypatch):
    request()
    break_connection()
    monkeypatch.setattr(base, "IDLE_SECONDS", 0.0)
    request()
    assert connection.is_usable()


def test_a_busy_connection_is_not_asked_whether_it_lives(lasting, monkeypatch):
    request()
    asked = []
    monkeypatch.setattr(base.DatabaseWrapper, "is_usable", lambda self: asked.append(1) or True)
    request()
    assert asked == []
    monkeypatch.setattr(base, "IDLE_SECONDS", 0.0)
    request()
    assert asked == [1]


def test_the_tests_own_server_does_not_flush_to_disk():
    with connection.cursor() as cursor:
        cursor.execute("SHOW fsync")
        assert cursor.fetchone() == ("off",)


def test_statements_of_a_repeated_query_are_prepared(lasting):
    study = factories.StudyFactory()
    for _ in range(4):
        type(study).objects.filter(slug=study.slug).first()
    with CaptureQueriesContext(connection), connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%%annotation_study%%'"
        )
        assert cursor.fetchone()[0] >= 1
