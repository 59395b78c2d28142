"""What an export says of each judgment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from analytics.datasets import records
from analytics.datasets.records import judgment_records
from annotation.models import Answer, Assignment, Candidate, Judgment, Rater, Study, Task
from annotation.rating import exclusions, judgments, leases, task_selection
from annotation.studies import protocols
from tests import factories
from tests.analytics.protocols import protocol, scale, side
from tests.analytics.votes import vote
from tests.annotation.importing.answers import comparison, rating

pytestmark = pytest.mark.django_db


def only(study: Study) -> dict:
    (record,) = judgment_records(study)
    return record


@pytest.fixture
def rated() -> Study:
    study = factories.StudyFactory(overlap=2)
    factories.rating_task(study, "only", system="parrot")
    user = factories.member(study)
    assignment = leases.lease_next(user, study.slug)[1]
    judgments.submit(user, assignment.id, rating(4, codes=["R", "A"], comment="faint"))
    return study


@pytest.fixture
def compared() -> Study:
    """One comparison, shown with the second candidate as A; the rater preferred A, then B."""
    study = factories.StudyFactory(preset="cmi-pref", overlap=1)
    factories.comparison_task(study, "pair")
    Task.objects.update(order_balance=1)
    user = factories.member(study)
    judgments.submit(user, leases.lease_next(user, study.slug)[1].id, comparison("A", "B"))
    return study


def test_it_says_what_was_judged_by_whom_and_how(rated):
    judgment, rater = Judgment.objects.get(), Rater.objects.get()
    assert only(rated) == {
        "study": rated.slug,
        "item": "only",
        "item_version": 1,
        "task": "only",
        "task_kind": "regular",
        "systems": ["parrot"],
        "takes": [1],
        "roles": ["judged"],
        "rater_marks": [],
        "presentation": [0],
        "client_id": str(judgment.client_id),
        "rater": rater.pseudonym,
        "origin": "rated",
        "revision": 1,
        "effective": True,
        "excluded": False,
        "exclusion_reason": "",
        "surplus": False,
        "protocol_version": 1,
        "preset": "orca",
        "codes": ["A", "R"],
        "comment": "faint",
        "hint": None,
        "hint_shown": None,
        "ordering_policy": None,
        "inclusion_probability": None,
        "leased_at": records.utc_text(Assignment.objects.get().leased_at),
        "started_at": records.utc_text(judgment.started_at),
        "submitted_at": records.utc_text(judgment.submitted_at),
        "gains_db": None,
        "heard_s": None,
        "heard_item_s": None,
        "switches": None,
        "session_s": None,
        "answers": [
            {
                "question": "correctness",
                "slot": 0,
                "system": "parrot",
                "choice": None,
                "choice_slot": None,
                "choice_shown": None,
                "value": 4,
                "confidence": None,
                "text": "",
                "events": None,
            }
        ],
    }


def test_it_says_what_a_model_had_said_and_whether_the_rater_saw_it(compared):
    hint = {"scorer": "cmi-rm@1a2b3c4d", "answers": {"alignment": 0.7}}
    Assignment.objects.update(hint=hint, hint_shown=False)
    assert (only(compared)["hint"], only(compared)["hint_shown"]) == (hint, False)


def test_a_choice_is_told_as_the_system_preferred_and_as_the_rater_saw_it(compared):
    record = only(compared)
    assert (record["systems"], record["presentation"]) == (["system-1", "system-2"], [1, 0])
    alignment, musicality, evidence = record["answers"]
    assert (alignment["choice"], alignment["choice_slot"], alignment["choice_shown"]) == ("system-2", 1, "A")
    assert (musicality["choice"], musicality["choice_slot"], musicality["choice_shown"]) == (
        "system-1",
        0,
        "B",
    )
    assert (alignment["confidence"], musicality["confidence"]) == (4, 3)
    assert (alignment["slot"], alignment["system"]) == (None, None)
    assert (evidence["question"], evidence["choice"], evidence["text"][:1]) == ("evidence", None, "A")


@pytest.mark.parametrize(
    ("choice", "name"), [(Answer.Choice.TIE, "tie"), (Answer.Choice.BOTH_BAD, "both_bad")]
)
def test_a_vote_for_neither_has_a_name_and_no_slot(choice, name):
    study = factories.StudyFactory()
    protocols.add_protocol_version(
        study, definition=protocol(side(tie=True, both_bad=True), layout="comparison"), actor=None
    )
    vote(factories.comparison_task(study, "a"), question="better", choice=choice, presentation=[1, 0])
    (answer,) = only(study)["answers"]
    assert (answer["choice"], answer["choice_slot"], answer["choice_shown"]) == (name, None, name)


def test_a_judgment_of_a_task_that_a_policy_drew_says_which_and_with_what_chance():
    study = factories.StudyFactory()
    for name in "ab":
        factories.rating_task(study, name)
    task_selection.set_ordering(study, actor=None)
    user = factories.member(study)
    judgments.submit(user, leases.lease_next(user, study.slug)[1].id, rating(4))
    record = only(study)
    assert (record["ordering_policy"], record["inclusion_probability"]) == (1, 0.5)


def test_where_an_import_does_not_say_how_a_pair_was_shown_nothing_is_guessed():
    study = factories.StudyFactory(preset="cmi-pref")
    vote(factories.comparison_task(study, "a"), question="alignment", choice=2)
    record = only(study)
    assert (record["presentation"], record["leased_at"], record["started_at"]) == (None, None, None)
    assert (record["answers"][0]["choice"], record["answers"][0]["choice_shown"]) == ("system-2", None)


def test_two_takes_of_one_system_are_told_apart():
    study = factories.StudyFactory(preset="cmi-pref")
    task = factories.comparison_task(study, "a")
    first = task.slots.get(slot=0).candidate
    again = Candidate.objects.create(item_version=task.item_version, system=first.system, take=2)
    task.slots.filter(slot=1).update(candidate=again)
    vote(task, question="alignment", choice=2)
    record = only(study)
    assert (record["systems"], record["takes"]) == (["system-1", "system-1"], [1, 2])
    assert (record["answers"][0]["choice"], record["answers"][0]["choice_slot"]) == ("system-1", 1)


def test_an_answer_about_one_of_several_candidates_names_it():
    study = factories.StudyFactory()
    protocols.add_protocol_version(
        study, definition=protocol(scale(per_candidate=True), layout="comparison"), actor=None
    )
    vote(factories.comparison_task(study, "a"), 2.5, question="quality", slot=1)
    (answer,) = only(study)["answers"]
    assert (answer["slot"], answer["system"], answer["value"]) == (1, "system-2", 2.5)


def test_an_unnamed_rater_is_empty_and_an_imported_one_is_a_pseudonym():
    study = factories.StudyFactory()
    task = factories.rating_task(study, "a")
    imported = Rater.objects.create(study=study, external_id="jane@example.org", origin="imported")
    vote(task, 3)
    vote(task, 3, rater=imported)
    assert [record["rater"] for record in judgment_records(study)] == ["", imported.pseudonym]


def test_marks_tell_which_judgments_count(rated):
    excluded = Judgment.objects.all()
    exclusions.exclude_or_restore(excluded, study=rated, action="exclude", reason="careless", actor=None)
    vote(Task.objects.get(), 2, surplus=True)
    first, second = judgment_records(rated)
    assert (first["effective"], first["excluded"], first["exclusion_reason"]) == (True, True, "careless")
    assert (second["effective"], second["excluded"], second["surplus"]) == (False, False, True)


def test_the_reason_of_a_mark_that_was_taken_back_is_gone(rated):
    for action in ("exclude", "restore"):
        exclusions.exclude_or_restore(
            Judgment.objects.all(), study=rated, action=action, reason=action, actor=None
        )
    assert (only(rated)["excluded"], only(rated)["exclusion_reason"]) == (False, "")


def test_the_reason_of_the_last_mark_stands(rated):
    for action, reason in (("exclude", "first"), ("restore", "back"), ("exclude", "second")):
        exclusions.exclude_or_restore(
            Judgment.objects.all(), study=rated, action=action, reason=reason, actor=None
        )
    assert only(rated)["exclusion_reason"] == "second"


@pytest.mark.parametrize(
    ("field", "value", "name"),
    [
        ("origin", Judgment.Origin.EXPERT, "expert"),
        ("origin", Judgment.Origin.SIMULATED, "simulated"),
        ("origin", Judgment.Origin.IMPORTED, "imported"),
    ],
)
def test_origins_have_names(field, value, name):
    study = factories.StudyFactory()
    vote(factories.rating_task(study, "a"), 3, **{field: value})
    assert only(study)[field] == name


def test_times_are_in_utc():
    east = timezone(timedelta(hours=8))
    assert records.utc_text(datetime(2026, 3, 1, 9, 30, tzinfo=east)) == "2026-03-01T01:30:00.000000Z"
    assert records.utc_text(datetime(2026, 3, 1, 9, 30, 0, 5, tzinfo=UTC)) == "2026-03-01T09:30:00.000005Z"


def test_batches_join_without_gap_or_repeat(monkeypatch):
    study = factories.StudyFactory(overlap=9)
    task = factories.rating_task(study, "a")
    votes = [str(vote(task, value).client_id) for value in (1, 2, 3, 4, 5)]
    vote(factories.rating_task(factories.StudyFactory(), "other"), 1)
    monkeypatch.setattr(records, "JUDGMENT_BATCH", 2)
    assert [record["client_id"] for record in judgment_records(study)] == votes


def test_a_batch_takes_three_queries_and_one_more_when_something_is_excluded(django_assert_num_queries):
    study = factories.StudyFactory(overlap=9)
    for name in "abc":
        task = factories.rating_task(study, name)
        for value in (1, 2, 3):
            vote(task, value, rater=factories.rater(study))
    # The questions, whom trials have marked, the batch with its slots and answers, the batch that is empty, and what
    # the anonymised said.
    with django_assert_num_queries(7):
        assert len(list(judgment_records(study))) == 9
    exclusions.exclude_or_restore(
        Judgment.objects.filter(pk=Judgment.objects.first().pk),
        study=study, action="exclude", reason="careless", actor=None,
    )  # fmt: skip
    with django_assert_num_queries(8):
        list(judgment_records(study))
