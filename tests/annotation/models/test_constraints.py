"""What the database itself refuses, whichever code asks for it."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from annotation.models import (
    Answer,
    Assignment,
    Candidate,
    Clip,
    GoldKey,
    Item,
    ItemVersion,
    Judgment,
    Membership,
    Question,
    Rater,
    ReviewCase,
    Study,
    System,
    Task,
    TaskCandidate,
    User,
)
from tests import factories
from tests.annotation.kept_world import world_of
from tests.annotation.world import World

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return world_of("here")


def again(row: Any, **changes: Any) -> Any:
    """A second row like this one."""
    values = {f.attname: getattr(row, f.attname) for f in row._meta.concrete_fields if not f.generated}
    values.pop(row._meta.pk.attname)
    return type(row)(**{**values, **changes})


def second_case(world: World) -> ReviewCase:
    version = ItemVersion.objects.first()
    case = ReviewCase(study=world.study, item=version.item, item_version=version)
    case.save()
    return again(case)


TWICE: dict[str, Callable[[World], Any]] = {
    "user_email": lambda w: again(w.annotator),
    "study_slug": lambda w: again(w.study),
    "membership_one_role_per_study": lambda w: again(w.membership, role="admin"),
    "rater_user_once_per_study": lambda w: again(w.rater, pseudonym="R-OTHER"),
    "rater_pseudonym_once_per_study": lambda w: again(w.rater, user_id=None),
    "rater_external_id_once_per_study": lambda w: again(imported(w), pseudonym="R-OTHER"),
    "system_name_once_per_study": lambda w: again(System.objects.first()),
    "item_external_id_once_per_study": lambda w: again(Item.objects.first()),
    "item_version_number_once": lambda w: again(ItemVersion.objects.first()),
    "candidate_take_once": lambda w: again(Candidate.objects.first()),
    "annotation_clip_sha256": lambda w: again(Clip.objects.first()),
    "task_external_id_once_per_study": lambda w: again(w.task),
    "task_slot_once": lambda w: again(TaskCandidate.objects.first()),
    "question_key_once": lambda w: again(Question.objects.first()),
    "protocol_version_number_once": lambda w: again(w.study.protocol_version),
    "judgment_client_id_once_per_task": lambda w: again(w.judgment, assignment_id=None),
    "judgment_revision_once_per_assignment": lambda w: again(w.judgment, client_id=uuid.uuid4()),
    "answer_once_per_question": lambda w: again(Answer.objects.filter(candidate=None).first()),
    "gold_key_once_per_question": lambda w: again(gold(w)),
    "assignment_once_per_pass": lambda w: again(w.submitted, id=uuid.uuid4()),
    "review_case_one_unresolved_per_version": second_case,
}


def imported(world: World) -> Rater:
    return Rater.objects.create(study=world.study, external_id="user 7")


def gold(world: World) -> GoldKey:
    return GoldKey.objects.create(task=world.task, question_key="alignment", choice=1)


@pytest.mark.parametrize("constraint", TWICE)
def test_it_refuses_a_second(world, constraint):
    row = TWICE[constraint](world)
    with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        row.save(force_insert=True)


def test_what_may_be_there_twice_is_not_refused(world):
    """Raters without a name, leases that ended, resolved cases, a person's studies, votes that name nobody."""
    version, user = ItemVersion.objects.first(), factories.UserFactory()
    for state in (Assignment.State.RETURNED, Assignment.State.EXPIRED):
        for _ in range(2):
            again(world.submitted, id=uuid.uuid4(), state=state).save(force_insert=True)
    for state in ("resolved", "resolved", "open"):
        ReviewCase.objects.create(study=world.study, item=version.item, item_version=version, state=state)
    for _ in range(2):
        Rater.objects.create(study=world.study)
        Membership.objects.create(user=user, study=factories.StudyFactory(), role="annotator")
        Judgment.objects.create(
            study=world.study,
            task=world.task,
            protocol_version=world.study.protocol_version,
            payload_sha256=b"",
            origin=Judgment.Origin.IMPORTED,
        )
    assert ReviewCase.objects.filter(study=world.study).count() >= 3
    assert Judgment.objects.filter(study=world.study, rater=None, task=world.task).count() == 2


@pytest.mark.parametrize(
    "counters",
    [
        {"n_judgments": 3},
        {"n_leases": 3},
        {"n_judgments": 1, "n_leases": 2},
        {"overlap": 0, "n_judgments": 1},
    ],
)
def test_judgments_and_leases_never_pass_the_overlap(counters):
    task = factories.rating_task(factories.StudyFactory(), "only", overlap=2)
    with pytest.raises(IntegrityError, match="task_overlap_never_exceeded"), transaction.atomic():
        Task.objects.filter(pk=task.pk).update(**counters)


@pytest.mark.parametrize("counter", ["n_judgments", "n_leases"])
def test_counters_never_go_below_nothing(counter):
    task = factories.rating_task(factories.StudyFactory(), "only")
    with pytest.raises(IntegrityError), transaction.atomic():
        Task.objects.filter(pk=task.pk).update(**{counter: -1})


@pytest.mark.parametrize(
    ("state", "n_judgments", "n_leases", "wants_more"),
    [
        (1, 0, 0, True),
        (1, 1, 0, True),
        (1, 1, 1, False),
        (1, 2, 0, False),
        (2, 0, 0, False),
        (3, 0, 0, False),
    ],
)
def test_a_task_wants_more_while_it_is_ready_and_has_a_free_place(state, n_judgments, n_leases, wants_more):
    task = factories.rating_task(factories.StudyFactory(), "only", overlap=2)
    Task.objects.filter(pk=task.pk).update(state=state, n_judgments=n_judgments, n_leases=n_leases)
    task.refresh_from_db()
    assert task.wants_more is wants_more


# ── Small facts of one row ───────────────────────────────────────────────────


def test_an_account_has_a_name_an_address_in_small_letters_and_an_operator_every_right():
    assert User(email="ada@example.org", name="Ada Lovelace").get_short_name() == "Ada Lovelace"
    assert User(email="ada@example.org").get_short_name() == "ada"
    assert User.objects.create_user(" Ada@Example.ORG ", "x").email == "ada@example.org"
    operator = User.objects.create_superuser("op@example.org", "x")
    assert (operator.is_staff, operator.is_superuser, operator.may_create_studies) == (True, True, True)


def test_pseudonyms_hold_no_letters_that_are_mistaken_for_another():
    names = {Rater(study_id=1).pseudonym for _ in range(300)}
    assert len(names) == 300
    assert not set("".join(names).replace("R-", "")) & set("01OILl")


def test_studies_get_seeds_of_their_own():
    assert len({Study().seed for _ in range(100)}) == 100
