"""A study with something in every corner, and people in every role."""

from __future__ import annotations

import io
import tempfile
import uuid
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from annotation.audio.flac import FlacWriter
from annotation.audio.parts import part_offsets
from annotation.listening import checks, coverage
from annotation.listening.signed_clips import RATING_ROUTES, Routes, clip_links
from annotation.models import (
    Assignment,
    Clip,
    Invitation,
    Job,
    Judgment,
    ListeningCheck,
    Membership,
    Rater,
    Study,
    Task,
    User,
)
from annotation.models.people import Role
from annotation.rating import judgments, leases
from annotation.studies import members
from scoring.models import Score, Scorer, ScoringRow, ScoringRun
from tests import factories
from tests.annotation.importing.answers import comparison

SECONDS = 3


@cache  # a study is made for nearly every test of the API, and its clips are the same each time
def _noise(seed: int) -> bytes:
    rng = np.random.default_rng(seed)
    pcm = rng.integers(-1, 1, size=(1, SECONDS * 48_000), endpoint=True) * rng.integers(1, 8000)
    with tempfile.NamedTemporaryFile(suffix=".flac") as file:
        with FlacWriter(Path(file.name), channels=1, bits=16, rate=48_000) as writer:
            writer.push(pcm.astype(np.int32))
        return Path(file.name).read_bytes()


def store(clip: Clip) -> Clip:
    """Put a file behind a clip's row: three seconds of noise, louder and so less compressible for some than others."""
    sound = _noise(int(clip.sha256[:8], 16))
    default_storage.delete(clip.canonical.name)
    default_storage.save(clip.canonical.name, ContentFile(sound))
    clip.part_offsets = part_offsets(io.BytesIO(sound))
    clip.n_samples, clip.duration_s, clip.channels = SECONDS * 48_000, float(SECONDS), 1
    clip.save()
    return clip


def link(assignment_id: uuid.UUID | str, name: str) -> str:
    """The signed address of a clip, as a briefing gives it, whether or not there is one."""
    return clip_links(uuid.UUID(str(assignment_id)), {name: [0, 1]}, routes=RATING_ROUTES)[name].url


def preview_link(slug: str, preview_id: uuid.UUID, name: str) -> str:
    """As `link`, of a preview."""
    routes = Routes("api_preview_clip", "api_preview_spectrogram", (slug,))
    return clip_links(preview_id, {name: [0, 1]}, routes=routes)[name].url


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
    check: ListeningCheck
    run: ScoringRun

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
    coverage.set_listening_rules(study, actor=None, spectrogram=True)
    pass_checks(study)
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
        invitation=members.invite(study, role=Role.ANNOTATOR, actor=names[Role.ADMIN])[0],
        job=Job.objects.create(
            kind="import", study=study, params={"source": "SECRET.csv"}, report={"rows": "SECRET"}
        ),
        exported=exported(study),
        check=checks.start_check(annotator, slug, kind="level"),
        run=scored(study, judgment.task),
    )


def scored(study: Study, task: Task) -> ScoringRun:
    """A run at work that has scored one candidate and failed at another."""
    scorer, _ = Scorer.objects.get_or_create(
        key="word-count", digest="5ec7e7" + "0" * 58, config={"code": "SECRET"}
    )
    done, failed = (slot.candidate for slot in task.slots.order_by("slot"))
    run = ScoringRun.objects.create(
        study=study, scorer=scorer, metric="word-count", state="running", n_rows=2, n_done=1, n_failed=1
    )
    Score.objects.create(scorer=scorer, candidate=done, value=0.5, provenance={"answer": "SECRET"})
    ScoringRow.objects.create(run=run, candidate=failed, state=4, fault="undecodable", reason="SECRET")
    return run


def pass_checks(study: Study) -> None:
    """The study requires that the volume is set, and all its raters have set it."""
    checks.set_check_rules(study, actor=None, require=["level"])
    for rater in study.raters.all():
        check = checks.start_check(rater.user, study.slug, kind="level")
        checks.answer_trial(rater.user, check.pk, trial=0, choice=0)


def exported(study: Study) -> Job:
    """A finished export with its file."""
    job = Job.objects.create(kind="export", study=study, params={"format": "jsonl"}, state=Job.State.DONE)
    default_storage.save(f"exports/{job.pk}.zip", ContentFile(b"SECRET archive"))
    return job
