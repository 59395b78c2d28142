"""A study whose review is over, written down row by row so that every number about it can be counted by hand.

item   ratings of version 1      what the review did                        version 2
bell   1 (code R, comment), 5    corrected: reference (draft), question     4, 4, and wants one more
dog    2, 2                      found fine
cat    5 (code A), 4             rationale corrected (edited draft), undone 1, kept out since
owl    1, 3                      withdrawn
hen    3, kept out as careless   none: it is before nothing and after nothing
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from annotation.models import (
    Candidate,
    CaseEvent,
    CaseReason,
    Correction,
    Draft,
    Exclusion,
    Item,
    ItemVersion,
    Judgment,
    Rater,
    Return,
    ReviewCase,
    Study,
    System,
    Task,
    TaskCandidate,
    User,
)
from annotation.models.people import Role
from annotation.rating import exclusions
from tests import factories
from tests.analytics.votes import vote

START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


@dataclass(frozen=True)
class Reviewed:
    study: Study
    expert: User
    tasks: dict[str, Task]


def reviewed(**fields: object) -> Reviewed:
    study = factories.StudyFactory(overlap=3, **fields)
    expert = factories.member(study, Role.EXPERT, email="expert@example.org", name="Ex Pert")
    tasks = {name: factories.rating_task(study, name) for name in ("bell", "dog", "cat", "owl", "hen")}
    for name, benchmark in (("bell", "MMAU"), ("dog", "MMAR"), ("cat", "MMAR"), ("owl", "MMAU")):
        Item.objects.filter(study=study, external_id=name).update(strata={"benchmark": benchmark})
    world = Reviewed(study, expert, tasks)
    _first_ratings(world)
    _correct_bell(world)
    _find_dog_fine(world)
    _correct_cat_and_undo(world)
    _withdraw_owl(world)
    return world


def _first_ratings(world: Reviewed) -> None:
    vote(world.tasks["bell"], 1, codes=["R"], comment="It is a gong.", submitted_at=START)
    vote(world.tasks["bell"], 5, submitted_at=START)
    for name, values in (("dog", (2, 2)), ("owl", (1, 3)), ("hen", (3,))):
        for value in values:
            vote(world.tasks[name], value, submitted_at=START)
    vote(world.tasks["cat"], 5, codes=["A"], submitted_at=START)
    vote(world.tasks["cat"], 4, submitted_at=START)
    keep_out(world.tasks["hen"], "careless")


def _correct_bell(world: Reviewed) -> None:
    case = _case(world, "bell", rules=["codes", "disagreement"], decision="corrected", after=180, claimed=60)
    case.blind_judgment = _blind(world, "bell", 4)
    case.save()
    accepted = _draft(case, "reference", "Qwen", "accepted", text="A gong.")
    _draft(case, "question", "Qwen", "rejected", text="What?")
    _draft(case, "transcript", "Whisper", "failed")
    task = world.tasks["bell"]
    version = next_version(task, reference="A gong.", question="What is struck?")
    _correction(case, version, "reference", "A bell.", "A gong.", draft=accepted, author=world.expert)
    _correction(case, version, "question", task.item_version.question, "What is struck?", author=world.expert)
    keep_out(task, "item_corrected")
    again = replacement(task, version)
    for value in (4, 4):
        vote(again, value)


def _find_dog_fine(world: Reviewed) -> None:
    case = _case(world, "dog", rules=["audit"], decision="fine", after=120, claimed=100)
    case.blind_judgment = _blind(world, "dog", 2)
    case.save()
    _draft(case, "reference", "Qwen", "unused")  # not written when the case was decided
    task = world.tasks["dog"]
    Return.objects.create(
        case=case, task=task, n_wanted=1, comment="One more, please.", state="judged", created_by=world.expert
    )


def _correct_cat_and_undo(world: Reviewed) -> None:
    case = _case(world, "cat", rules=["codes"])
    edited = _draft(case, "rationale", "Qwen", "edited", text="A cat purs.")
    task = world.tasks["cat"]
    version = next_version(task, rationale="A cat purrs.", retracted=True)
    _correction(case, version, "rationale", "", "A cat purrs.", draft=edited, author=world.expert)
    vote(replacement(task, version), 1)
    keep_out(Task.objects.get(replaces=task), "correction_undone")
    Task.objects.filter(replaces=task).update(state=Task.State.WITHDRAWN)
    Item.objects.filter(external_id="cat").update(current_version=task.item_version)
    CaseEvent.objects.create(case=case, kind="undone", actor=world.expert)


def _withdraw_owl(world: Reviewed) -> None:
    _case(world, "owl", rules=["disagreement"], decision="withdrawn", after=600)
    keep_out(world.tasks["owl"], "item_withdrawn")
    Item.objects.filter(external_id="owl").update(state=Item.State.WITHDRAWN)


def keep_out(task: Task, reason: str) -> None:
    judgments = Judgment.objects.filter(task=task).exclude(origin=Judgment.Origin.EXPERT)
    exclusions.exclude_or_restore(
        judgments, study=task.study, action=Exclusion.Action.EXCLUDE, reason=reason, actor=None
    )


def next_version(task: Task, *, retracted: bool = False, **texts: str) -> ItemVersion:
    old, item = task.item_version, task.item_version.item
    texts = {"question": old.question, "reference": old.reference, **texts}
    number = item.versions.count() + 1
    made = ItemVersion.objects.create(
        item=item, number=number, content_sha256="1" * 64, retracted=retracted, **texts
    )
    Item.objects.filter(pk=item.pk).update(current_version=made)
    return made


def replacement(task: Task, version: ItemVersion) -> Task:
    """The task of the version before, again, about an answer that was carried over."""
    old = task.slots.get().candidate
    candidate = Candidate.objects.create(
        item_version=version, system=old.system, text=old.text, carried_from=old
    )
    made = Task.objects.create(
        study=task.study, item_version=version, external_id=f"{task.external_id}~v{version.number}",
        overlap=3, shuffle_key=task.shuffle_key, replaces=task,
    )  # fmt: skip
    TaskCandidate.objects.create(task=made, slot=0, candidate=candidate)
    Task.objects.filter(pk=task.pk).update(state=Task.State.WITHDRAWN)
    return made


def another_answer(task: Task, text: str) -> Task:
    """A task about one more answer to the same item."""
    system, _ = System.objects.get_or_create(study=task.study, name="another")
    version, take = task.item_version, system.candidates.count() + 1
    candidate = Candidate.objects.create(item_version=version, system=system, text=text, take=take)
    made = Task.objects.create(
        study=task.study, item_version=version, external_id=f"{task.external_id}-{take}", overlap=3,
        shuffle_key=task.shuffle_key,
    )  # fmt: skip
    TaskCandidate.objects.create(task=made, slot=0, candidate=candidate)
    return made


def _case(
    world: Reviewed,
    name: str,
    *,
    rules: list[str],
    decision: str = "",
    after: int | None = None,
    claimed: int | None = None,
) -> ReviewCase:
    """`after` and `claimed` are in seconds since it was opened."""
    task = world.tasks[name]
    case = ReviewCase.objects.create(
        study=world.study, item=task.item_version.item, item_version=task.item_version, task=task, rules=rules,
        created_at=START, decision=decision, state="resolved" if decision else "open",
        decided_by=world.expert if decision else None,
        resolved_at=None if after is None else START + timedelta(seconds=after),
    )  # fmt: skip
    for rule in rules:
        CaseReason.objects.create(case=case, rule=rule, fired_at=START)
    if claimed is not None:
        at = START + timedelta(seconds=claimed)
        CaseEvent.objects.create(case=case, kind="claimed", actor=world.expert, at=at)
    return case


def _blind(world: Reviewed, name: str, value: float) -> Judgment:
    rater = Rater.objects.get(study=world.study, user=world.expert)
    return vote(
        world.tasks[name], value, rater=rater, origin=Judgment.Origin.EXPERT,
        submitted_at=START + timedelta(seconds=90),
    )  # fmt: skip


def _draft(case: ReviewCase, field: str, writer: str, state: str, *, text: str = "") -> Draft:
    provenance = {
        "model": "Qwen/Qwen2.5",
        "server": "http://gpu.example:8000/v1",
        "checkpoint": "/home/me/x.pt",
    }
    return Draft.objects.create(
        case=case, item_version=case.item_version, field=field, writer=writer, state=state, text=text,
        provenance=provenance,
    )  # fmt: skip


def _correction(
    case: ReviewCase,
    version: ItemVersion,
    field: str,
    before: str,
    after: str,
    *,
    author: User,
    draft: Draft | None = None,
) -> None:
    unedited = draft is not None and draft.text == after
    origin = Correction.Origin.EXPERT if draft is None else Correction.Origin.DRAFT_EDITED
    Correction.objects.create(
        study=case.study, case=case, version_before=case.item_version, version_after=version, field=field,
        before=before, after=after, reason="wrong", comment="=1+1", author=author, draft=draft, created_at=START,
        origin=Correction.Origin.DRAFT_ACCEPTED if unedited else origin,
    )  # fmt: skip
