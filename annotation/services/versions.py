"""New versions of items, and what becomes of the candidates and tasks of the version before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from annotation.errors import Conflict
from annotation.importers.records import TEXT_FIELDS, content_digest, task_name
from annotation.models import (
    Candidate,
    Item,
    ItemVersion,
    Study,
    System,
    Task,
    TaskCandidate,
    User,
)
from annotation.services import item_locks, queue_places, replacements, reviewers
from annotation.services.protocols import loaded
from annotation.services.set_asides import count_tasks, set_aside


def make(
    item: Item,
    changes: Mapping[str, str],
    *,
    actor: User | None,
    carry: bool = True,
    written: Mapping[str, Any] | None = None,
) -> ItemVersion:
    """The next version of an item: its current one with these texts in place of its own.

    With `carry` its answers are carried over and its tasks with them: those that nobody has met move to the new
    version, the others are withdrawn and replaced (`Task.replaces`; same overlap, kind, gold keys and place in the
    queue). Without, no answer is carried over and all its tasks are withdrawn; each comes back when `add_answer` has
    brought what it shows. Judgments of the version before leave the count, with the reason `item_corrected`.

    `written` says of texts that a model wrote which one did, and from what; it stays with the version and its
    successors (`extra["written"]`) until somebody changes the text. The caller is in a transaction and holds the item's
    lock (`item_locks.lock`).
    """
    study = Study.objects.get(pk=item.study_id)
    before = current(item)
    version = _next(item, before, changes, written=written or {}, actor=actor)
    tasks = list(live_tasks(before))
    item_locks.stop([task.pk for task in tasks])
    successors = 0
    if carry:
        carried = _carry(before.candidates.all(), version)
        successors = _pass_on(tasks, version, carried, study=study)
        tasks = [task for task in tasks if task.item_version_id == before.pk]
    ids = [task.pk for task in tasks]
    Task.objects.filter(pk__in=ids).update(state=Task.State.WITHDRAWN)
    Item.objects.filter(pk=item.pk).update(current_version=version)
    item.current_version = version
    set_aside(ids, study=study, reason="item_corrected", actor=actor, item=item)
    count_tasks(study, successors - len(ids))
    return version


@transaction.atomic
def add_answer(
    version: ItemVersion, system: System, text: str, *, provenance: Mapping[str, Any]
) -> Candidate:
    """An answer that a system gave to this version, and the tasks that were waiting for it or that it makes possible.

    Where the protocol asks about one candidate, an answer without a task gets one. The same text of the same system is
    added once. Raises Conflict `version_changed` once the item has a later version, `item_withdrawn`.
    """
    item = _locked_with(version)
    given = list(Candidate.objects.filter(item_version=version, system=system).order_by("take"))
    answer = next((candidate for candidate in given if candidate.text == text), None)
    if answer is None:
        answer = Candidate.objects.create(
            item_version=version,
            system=system,
            take=1 + max((candidate.take for candidate in given), default=0),
            text=text,
            provenance=dict(provenance),
        )
    study = Study.objects.get(pk=item.study_id)
    woken = _wake_waiting(item, version, study=study)
    if not woken and _wants_a_task(answer, study):
        woken = _new_task(item, answer, study=study)
    count_tasks(study, woken)
    return answer


@transaction.atomic
def carry_over(version: ItemVersion, systems: Collection[System]) -> list[Candidate]:
    """Bring the answers of these systems from the version before after all: of those that nobody writes anew."""
    item = _locked_with(version)
    earlier = standing_before(version).values_list("pk", flat=True)
    there = set(version.candidates.values_list("system_id", flat=True))
    carried: list[Candidate] = []
    for system in systems:
        last = Candidate.objects.filter(item_version__in=earlier, system=system).order_by(
            "-item_version__number"
        )
        if system.pk not in there and (newest := last.first()) is not None:
            carried += _carry(last.filter(item_version=newest.item_version_id), version).values()
    study = Study.objects.get(pk=item.study_id)
    count_tasks(study, _wake_waiting(item, version, study=study))
    return carried


def lacks_answers(version: ItemVersion) -> bool:
    """Whether tasks of an earlier version wait for answers to this one."""
    return _waiting(version).exists()


def current(item: Item) -> ItemVersion:
    assert item.current_version_id is not None  # only while an import makes it
    return ItemVersion.objects.select_related("clip", "reference_clip").get(pk=item.current_version_id)


def live_tasks(version: ItemVersion) -> QuerySet[Task]:
    return Task.objects.filter(item_version=version).exclude(state=Task.State.WITHDRAWN).order_by("pk")


def standing_before(version: ItemVersion) -> QuerySet[ItemVersion]:
    """The versions that this one came after and that were not retracted."""
    return ItemVersion.objects.filter(item_id=version.item_id, number__lt=version.number, retracted=False)


def _next(
    item: Item,
    before: ItemVersion,
    changes: Mapping[str, str],
    *,
    written: Mapping[str, Any],
    actor: User | None,
) -> ItemVersion:
    texts = {name: changes.get(name, getattr(before, name)) for name in TEXT_FIELDS}
    clips = {"reference_audio": before.reference_clip, "audio": before.clip}
    last = item.versions.order_by("-number").values_list("number", flat=True)[0]
    return ItemVersion.objects.create(
        item=item,
        number=last + 1,
        **texts,
        reference_clip=before.reference_clip,
        clip=before.clip,
        extra=_extra(before.extra, changes, written),
        content_sha256=content_digest(
            texts, **{name: clip.sha256 if clip else None for name, clip in clips.items()}
        ),
        created_by=actor,
    )


def _extra(
    before: Mapping[str, Any], changes: Mapping[str, str], written: Mapping[str, Any]
) -> dict[str, Any]:
    still = {name: told for name, told in before.get("written", {}).items() if name not in changes}
    told = {**still, **written}
    rest = {name: value for name, value in before.items() if name != "written"}
    return {**rest, "written": told} if told else rest


def _carry(candidates: QuerySet[Candidate], version: ItemVersion) -> dict[int, Candidate]:
    """By the candidates' ids, the same outputs for another version."""
    found = list(candidates.order_by("pk"))
    made = Candidate.objects.bulk_create(
        Candidate(
            item_version=version,
            system_id=candidate.system_id,
            take=candidate.take,
            text=candidate.text,
            clip_id=candidate.clip_id,
            carried_from=candidate,
            provenance=candidate.provenance,
        )
        for candidate in found
    )
    return {candidate.pk: copy for candidate, copy in zip(found, made, strict=True)}


def _pass_on(
    tasks: list[Task], version: ItemVersion, carried: Mapping[int, Candidate], *, study: Study
) -> int:
    """Move tasks that nobody has met, replace the others; how many were replaced. Read after their locks."""
    slots = replacements.slots_of(tasks)
    shown = {pk: [carried[slot.candidate_id] for slot in rows] for pk, rows in slots.items()}
    fresh = replacements.untouched(tasks)
    replacements.move([task for task in tasks if task.pk in fresh], version, shown)
    old = [task for task in tasks if task.pk not in fresh]
    return len(replacements.replace(old, version, shown, study=study))


def _locked_with(version: ItemVersion) -> Item:
    item = item_locks.lock(version.item_id)
    if item.state == Item.State.WITHDRAWN:
        raise Conflict("This item was withdrawn; it takes no answers.", code="item_withdrawn")
    if item.current_version_id != version.pk:
        raise Conflict("This item has another version now; answer that one.", code="version_changed")
    return item


def _waiting(version: ItemVersion) -> QuerySet[Task]:
    """Withdrawn tasks of earlier versions that nothing stands in the place of yet."""
    earlier = Task.objects.filter(item_version__in=standing_before(version), state=Task.State.WITHDRAWN)
    return earlier.exclude(replaced_by__item_version__retracted=False)


def _wake_waiting(item: Item, version: ItemVersion, *, study: Study) -> int:
    """Replace the waiting tasks whose every slot has an answer to this version; how many."""
    tasks = list(_waiting(version).order_by("pk"))
    answers: dict[int, list[Candidate]] = {}
    for candidate in version.candidates.order_by("take"):
        answers.setdefault(candidate.system_id, []).append(candidate)
    shown: dict[int, list[Candidate]] = {}
    for pk, slots in replacements.slots_of(tasks).items():
        of_slots = _answers_to(slots, answers)
        if of_slots is not None:
            shown[pk] = of_slots
    ready = [task for task in tasks if task.pk in shown]
    return len(replacements.replace(ready, version, shown, study=study))


def _answers_to(
    slots: Sequence[TaskCandidate], answers: Mapping[int, Sequence[Candidate]]
) -> list[Candidate] | None:
    """For each slot an answer of its system: the second of a system that the task shows twice. None if one lacks."""
    used: Counter[int] = Counter()
    found = []
    for slot in slots:
        system_id = slot.candidate.system_id
        if used[system_id] >= len(answers.get(system_id, ())):
            return None
        found.append(answers[system_id][used[system_id]])
        used[system_id] += 1
    return found


def _wants_a_task(answer: Candidate, study: Study) -> bool:
    if loaded(study.protocol_version_id).spec.layout != "rating":
        return False
    shown = TaskCandidate.objects.filter(candidate=answer).exclude(task__state=Task.State.WITHDRAWN)
    return not shown.exists()


def _new_task(item: Item, answer: Candidate, *, study: Study) -> int:
    """A task for an answer that comes with none, as an import would name it."""
    [name] = replacements.free_names(study, [task_name(item.external_id, [answer.system.name])])
    [place] = queue_places.places(study, [name])
    task = Task.objects.create(
        study=study,
        item_version_id=answer.item_version_id,
        external_id=name,
        overlap=study.overlap,
        shuffle_key=place,
    )
    TaskCandidate.objects.create(task=task, slot=0, candidate=answer)
    reviewers.bar_from_new([task])
    return 1
