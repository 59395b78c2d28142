from __future__ import annotations

import pytest

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
