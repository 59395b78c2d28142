"""What was released stands, whoever writes to the database."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from analytics.models import Release
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def release() -> Release:
    study, user = factories.StudyFactory(), factories.UserFactory()
    return Release.objects.create(study=study, number=1, manifest={}, sha256="a", file="x", created_by=user)


@pytest.mark.parametrize(
    "change", [{"manifest": {"cut": 1}}, {"sha256": "b"}, {"number": 2}, {"differences": {"since": 1}}]
)
def test_it_cannot_be_altered(release, change):
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        Release.objects.update(**change)


def test_its_file_can_go_and_so_can_the_account_of_who_asked_for_it(release):
    Release.objects.update(file="")
    release.created_by.delete()
    release.refresh_from_db()
    assert (release.file, release.created_by) == ("", None)
