from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType

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
