from __future__ import annotations

import threading

import pytest
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connection, transaction

from annotation.models import AuditEvent, Study, User
from tests.emptying import empty_tables
from tests.factories import StudyFactory, UserFactory

pytestmark = pytest.mark.django_db


def test_what_a_test_made_is_deleted_even_where_rows_are_for_ever() -> None:
    UserFactory()
    StudyFactory()
    empty_tables()
    assert not any(model.objects.exists() for model in (User, Study, AuditEvent))


def test_what_the_migrations_left_stays() -> None:
    before = ContentType.objects.count(), Permission.objects.count()
    empty_tables()
    assert (ContentType.objects.count(), Permission.objects.count()) == before != (0, 0)


@pytest.mark.django_db(transaction=True)
def test_it_waits_for_whoever_is_at_work() -> None:
    """And holds nothing meanwhile that they may need: here the accounts, whose table comes after the studies'."""
    began, may_end = threading.Event(), threading.Event()

    def work() -> None:
        with transaction.atomic():
            StudyFactory()
            began.set()
            may_end.wait(10)
            UserFactory()
        connection.close()

    request = threading.Thread(target=work)
    request.start()
    began.wait(10)
    threading.Timer(0.05, may_end.set).start()
    empty_tables()
    request.join()
    assert not any(model.objects.exists() for model in (User, Study))
