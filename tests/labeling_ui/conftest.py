from __future__ import annotations

import pytest
from django.test import Client

from annotation.models import Study, User
from annotation.models.people import Role
from tests.factories import StudyFactory, member


@pytest.fixture
def study() -> Study:
    return StudyFactory(slug="s", title="Bird calls")


@pytest.fixture
def admin(study: Study) -> User:
    return member(study, Role.ADMIN, name="Ada Admin")


@pytest.fixture
def researcher(study: Study) -> User:
    return member(study, Role.RESEARCHER, name="Rey Searcher")


@pytest.fixture
def signed_in(client: Client, researcher: User) -> Client:
    """The browser of somebody who runs the study."""
    client.force_login(researcher)
    return client
