"""Objects for tests, each valid on its own; say only what the test is about."""

from __future__ import annotations

import hashlib
from copy import deepcopy
from typing import Any

import factory

from annotation.models import (
    Candidate,
    Clip,
    Item,
    ItemVersion,
    Membership,
    Rater,
    Study,
    System,
    Task,
    TaskCandidate,
    User,
)
from annotation.models.people import Role
from annotation.rating.rules import ordering
from annotation.studies import members, protocols

PASSWORD = "correct horse battery"


class UserFactory(factory.django.DjangoModelFactory):
    class Meta:
        model = User
        skip_postgeneration_save = True

    email = factory.Sequence(lambda n: f"person{n}@example.org")
    name = factory.Sequence(lambda n: f"Person {n}")
    password = factory.django.Password(PASSWORD)


# Nobody can hear ten seconds in a test that takes none.
NOTHING_TO_HEAR = {
    "listening": {
        "short_seconds": 0,
        "short_share": 0,
        "long_seconds": 0,
        "long_share": 0,
        "min_switches": 0,
        "instruction_seconds": 0,
    }
}


class StudyFactory(factory.django.DjangoModelFactory):
    """A running study with the `orca` preset; `preset="cmi-pref"` for comparisons.

    It lets raters vote on what they have not heard; `rules={}` for the rules that a new study has.
    """

    class Meta:
        model = Study
        skip_postgeneration_save = True

    slug = factory.Sequence(lambda n: f"study-{n}")
    title = factory.Sequence(lambda n: f"Study {n}")
    state = Study.State.RUNNING
    seed = 7
    rules = factory.LazyFunction(lambda: deepcopy(NOTHING_TO_HEAR))

    @factory.post_generation
    def preset(study: Study, create: bool, extracted: str | None, **kwargs: Any) -> None:
        protocols.add_protocol_version(study, preset=extracted or "orca", actor=None)


def member(study: Study, role: str = Role.ANNOTATOR, **fields: Any) -> User:
    """A new account that is a member of the study (and its rater, where the role rates)."""
    user = UserFactory(**fields)
    members.add_member(study, user, role=role, actor=None)
    return user


def rater(study: Study) -> Rater:
    return Rater.objects.get(study=study, user=member(study))


def clip(name: str = "clip", *, seconds: float = 1.0) -> Clip:
    """A clip row without a file behind it."""
    made = new_clip(name, seconds=seconds)
    if found := Clip.objects.filter(sha256=made.sha256).first():
        return found
    made.save(force_insert=True)
    return made


def new_clip(name: str, *, seconds: float = 1.0) -> Clip:
    """As `clip`, not saved."""
    sha = hashlib.sha256(name.encode()).hexdigest()
    return Clip(
        sha256=sha,
        canonical_sha256=sha,
        original=f"clips/original/{sha}",
        canonical=f"clips/canonical/{sha}.flac",
        source_codec="pcm_s16le",
        source_sample_rate=48_000,
        channels=2,
        n_samples=int(seconds * 48_000),
        duration_s=seconds,
        n_bytes=1000,
        loudness_lufs=-23.0,
        true_peak_dbtp=-3.0,
        peaks=b"\x80\x7f" * 10,
    )


def rating_task(
    study: Study, name: str, *, system: str = "system-1", overlap: int | None = None, **version: Any
) -> Task:
    """A task that asks about one text answer."""
    version = {"question": f"What is heard in {name}?", "reference": "A bell.", **version}
    return _task(study, name, [(system, {"text": f"{system} says: a bell."})], overlap, version)


def comparison_task(study: Study, name: str, *, overlap: int | None = None, **version: Any) -> Task:
    """A task that compares two clips."""
    candidates = [(f"system-{side}", {"clip": clip(f"{name}-{side}")}) for side in (1, 2)]
    return _task(study, name, candidates, overlap, {"prompt": f"Prompt of {name}", **version})


def panel_task(
    study: Study, name: str, texts: list[str], *, overlap: int | None = None, **version: Any
) -> Task:
    """A task that asks about several text answers; the protocol's layout has to be a panel."""
    candidates = [(f"system-{n}", {"text": text}) for n, text in enumerate(texts, start=1)]
    return _task(study, name, candidates, overlap, {"question": f"What is heard in {name}?", **version})


def _task(
    study: Study,
    name: str,
    candidates: list[tuple[str, dict[str, Any]]],
    overlap: int | None,
    version: dict[str, Any],
) -> Task:
    item = Item.objects.create(study=study, external_id=name)
    item_version = ItemVersion.objects.create(item=item, content_sha256="0" * 64, **version)
    item.current_version = item_version
    item.save(update_fields=["current_version"])
    task = Task.objects.create(
        study=study,
        item_version=item_version,
        external_id=name,
        overlap=overlap or study.overlap,
        shuffle_key=ordering.shuffle_key(study.seed, name),
    )
    for slot, (system_name, fields) in enumerate(candidates):
        system, _ = System.objects.get_or_create(study=study, name=system_name)
        candidate = Candidate.objects.create(item_version=item_version, system=system, **fields)
        TaskCandidate.objects.create(task=task, slot=slot, candidate=candidate)
    Study.objects.filter(pk=study.pk).update(n_items=study.items.count(), n_tasks=study.tasks.count())
    return task


def membership(user: User, study: Study) -> Membership:
    return Membership.objects.get(user=user, study=study)
