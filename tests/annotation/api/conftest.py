"""Talking to the API as somebody, and a study with something in every corner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.test import Client

from annotation.models import (
    Assignment,
    Clip,
    Invitation,
    Job,
    Judgment,
    Membership,
    Rater,
    Study,
    Task,
    User,
)
from annotation.models.people import Role
from annotation.services import judgments, leases, people
from tests import factories
from tests.annotation.services.answers import comparison

SOUND = b"fLaC" + bytes(range(256)) * 4


@pytest.fixture(autouse=True)
def _home(settings, tmp_path: Path) -> None:
    """Uploads go to the test's own folder."""
    settings.HOME = tmp_path


@dataclass
class Api:
    """One person's connection: JSON in, JSON out, paths relative to /api/v1/."""

    client: Client = field(default_factory=Client)

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        path = path if path.startswith("/") else f"/api/v1/{path}"
        kwargs = {} if body is None else {"data": body, "content_type": "application/json"}
        return getattr(self.client, method)(path, **kwargs, headers=headers)

    def get(self, path: str, **headers: str) -> Any:
        return self.call("get", path, **headers)

    def post(self, path: str, body: Any = None) -> Any:
        return self.call("post", path, {} if body is None else body)

    def patch(self, path: str, body: Any) -> Any:
        return self.call("patch", path, body)

    def delete(self, path: str) -> Any:
        return self.call("delete", path)


@pytest.fixture
def api() -> Callable[[User | None], Api]:
    """`api(user)` speaks as this person, `api(None)` as nobody."""

    def as_user(user: User | None) -> Api:
        client = Client()
        if user is not None:
            client.force_login(user)
        return Api(client)

    return as_user


def store(clip: Clip) -> Clip:
    """Put a file behind a clip's row."""
    default_storage.save(clip.canonical.name, ContentFile(SOUND))
    return clip


@dataclass
class World:
    """A study of comparisons in which everything exists once, with its people; every text in it says SECRET."""

    study: Study
    annotator: User
    expert: User
    researcher: User
    admin: User
    rater: Rater
    task: Task
    submitted: Assignment
    open: Assignment
    judgment: Judgment
    invitation: Invitation
    job: Job
    exported: Job

    @property
    def membership(self) -> Membership:
        return Membership.objects.get(study=self.study, user=self.expert)


def make_world(slug: str) -> World:
    study = factories.StudyFactory(
        preset="cmi-pref", slug=slug, title=f"SECRET title of {slug}", description="SECRET plan", overlap=2
    )
    names = {
        role: factories.member(study, role, name=f"SECRET {role}", email=f"{role}@{slug}.example")
        for role in Role.values
    }
    for n in range(3):
        factories.comparison_task(
            study,
            f"SECRET-{slug}-{n}",
            prompt="SECRET prompt",
            reference_clip=factories.clip(f"{slug}-ref-{n}"),
        )
    for clip in Clip.objects.filter(canonical__startswith="clips/"):
        if not default_storage.exists(clip.canonical.name):
            store(clip)
    annotator = names[Role.ANNOTATOR]
    first = leases.lease_next(annotator, slug)[1]
    judgments.submit(annotator, first.id, comparison(alignment="A", comment=""))
    second = leases.lease_next(annotator, slug)[1]
    judgment = Judgment.objects.get(assignment_id=first.id)
    return World(
        study=study,
        annotator=annotator,
        expert=names[Role.EXPERT],
        researcher=names[Role.RESEARCHER],
        admin=names[Role.ADMIN],
        rater=Rater.objects.get(user=annotator, study=study),
        task=judgment.task,
        submitted=Assignment.objects.get(pk=first.id),
        open=Assignment.objects.get(pk=second.id),
        judgment=judgment,
        invitation=people.invite(study, role=Role.ANNOTATOR, actor=names[Role.ADMIN])[0],
        job=Job.objects.create(
            kind="import", study=study, params={"source": "SECRET.csv"}, report={"rows": "SECRET"}
        ),
        exported=exported(study),
    )


def exported(study: Study) -> Job:
    """A finished export with its file."""
    job = Job.objects.create(kind="export", study=study, params={"format": "jsonl"}, state=Job.State.DONE)
    default_storage.save(f"exports/{job.pk}.zip", ContentFile(b"SECRET archive"))
    return job


@pytest.fixture
def world(db: None) -> World:
    return make_world("here")


@pytest.fixture
def elsewhere(db: None) -> World:
    """Another study, with its own people."""
    return make_world("elsewhere")
