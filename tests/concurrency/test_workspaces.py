"""A person and a study that come to a workspace at the same moment meet."""

from __future__ import annotations

import pytest

from annotation.models import Membership, Workspace
from annotation.models.people import Role
from annotation.studies import workspaces
from tests import factories
from tests.concurrency.conftest import race_shows

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.concurrency]


def meet(at_once, workspace: Workspace) -> bool:
    """Whether the study, which comes with its admin, has the person afterwards."""
    study, user = factories.StudyFactory(), factories.UserFactory()
    factories.member(study, Role.ADMIN)
    results = at_once(
        [
            lambda: workspaces.add_person(workspace, user, role=Role.EXPERT, actor=None),
            lambda: workspaces.place_study(study, workspace, actor=None),
        ]
    )
    assert [result for result in results if isinstance(result, Exception)] == []
    return Membership.objects.filter(study=study, user=user, role=Role.EXPERT).exists()


@pytest.fixture
def workspace() -> Workspace:
    return Workspace.objects.create(slug="lab", title="Lab")


def test_neither_misses_the_other(at_once, workspace):
    assert all(meet(at_once, workspace) for _turn in range(5))


def test_the_race_shows_when_the_workspace_is_not_locked(at_once, workspace, monkeypatch):
    """Negative control: each reads the workspace before the other has written."""
    monkeypatch.setattr(workspaces, "_lock", lambda workspace: workspace)
    race_shows(lambda: not meet(at_once, workspace))
