"""Drafts for the review desk: who writes them, what becomes of them, and that they hold nothing up."""

from __future__ import annotations

import pytest
from django.utils import timezone

from annotation import hooks
from annotation.errors import Conflict, InvalidInput
from annotation.items import locks, versions
from annotation.models import AuditEvent, Draft, ItemVersion, ReviewCase, Study, System, User
from scoring.models import WritingRun
from scoring.writing import draft_requests, kinds, worker, writers, writing_runs
from tests import factories
from tests.scoring.writing_doubles import Echo, study_of, use, writer_of

__all__ = ["use"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("use")]


def case_of(study: Study) -> ReviewCase:
    item = study.items.first()
    return ReviewCase.objects.create(study=study, item=item, item_version=item.current_version)


def states(case: ReviewCase) -> dict[str, str]:
    return dict(case.drafts.values_list("writer", "state"))


def test_those_that_draft_by_themselves_are_asked_once():
    study = study_of(["rain"])
    writer_of(study, drafts=True)
    writer_of(study, "question", drafts=True)
    writer_of(study, "reference")
    writers.retire(writer_of(study, "transcript", drafts=True), actor=None)
    writer_of(study, "answer", drafts=True)
    case = case_of(study)
    assert {draft.field for draft in draft_requests.request_automatic_drafts(case, actor=None)} == {
        "rationale",
        "question",
    }
    assert draft_requests.request_automatic_drafts(case, actor=None) == []
    worker.work_on_runs()
    assert states(case) == {"rationale writer": "proposed", "question writer": "proposed"}
    assert draft_requests.request_automatic_drafts(case, actor=None) == []
    draft = case.drafts.get(field="rationale")
    assert draft.text == "On rain"
    assert draft.provenance["model"] == "echo"
    assert study.items.get().current_version.rationale == "", "nothing is published without a person"


def test_an_expert_asks_for_one_and_says_what_they_wish(use):
    echo = use(Echo())
    study = study_of(["rain"])
    writer, case, expert = writer_of(study), case_of(study), factories.member(study, "expert")
    draft = draft_requests.request_draft(case, writer, actor=expert, note="Name the drops.")
    assert draft.requested_by == expert
    with pytest.raises(Conflict, match="is at this already"):
        draft_requests.request_draft(case, writer, actor=expert)
    worker.work_on_runs()
    assert echo.asked[0].fields["note"] == "Name the drops."
    assert draft_requests.request_draft(case, writer, actor=expert).pk != draft.pk


@pytest.mark.parametrize(("who", "length"), [("answer", 0), ("foreign", 0), ("own", 2001)])
def test_what_cannot_be_asked_for_is_refused(who, length):
    study = study_of(["rain"])
    asked = {
        "answer": lambda: writer_of(study, "answer"),
        "foreign": lambda: writer_of(study_of([])),
        "own": lambda: writer_of(study),
    }[who]()
    with pytest.raises(InvalidInput):
        draft_requests.request_draft(case_of(study), asked, actor=None, note="x" * length)
    assert not Draft.objects.exists()


def test_a_draft_that_fails_says_why_and_one_writer_that_cannot_open_fails_all_its_drafts():
    study = study_of(["undecodable"])
    case = case_of(study)
    draft_requests.request_draft(case, writer_of(study), actor=None)
    worker.work_on_runs()
    assert case.drafts.get().problem == "This file is damaged."
    gone = study_of(["gone", "rain"])
    writer = writer_of(gone)
    cases = [
        ReviewCase.objects.create(study=gone, item=item, item_version=item.current_version)
        for item in gone.items.order_by("pk")
    ]
    for each in cases:
        draft_requests.request_draft(each, writer, actor=None)
    worker.work_on_runs()
    assert set(Draft.objects.filter(case__in=cases).values_list("state", "problem")) == {
        ("failed", "The server is gone. Start it again.")
    }
    assert not WritingRun.objects.filter(state__in=WritingRun.UNFINISHED).exists()
    told = AuditEvent.objects.filter(study=gone, action__in=("draft.failed", "writing.finished"))
    assert [event.action for event in told] == ["draft.failed"] * 2


def test_nothing_is_written_for_a_case_that_was_settled_meanwhile(use):
    echo = use(Echo())
    study = study_of(["rain"])
    draft = draft_requests.request_draft(case_of(study), writer_of(study), actor=None)
    Draft.objects.filter(pk=draft.pk).update(state=Draft.State.UNUSED)
    worker.work_on_runs()
    assert echo.asked == []
    draft.refresh_from_db()
    assert (draft.state, draft.text) == ("unused", "")


def test_drafts_come_before_whatever_else_is_to_be_written(use):
    study = study_of([f"q{n}" for n in range(9)])
    writer = writer_of(study)
    asked: list[str] = []

    def script(requests):
        asked.extend(request.fields["question"] for request in requests)
        if len(asked) == 4:
            draft_requests.request_draft(case_of(study), other, actor=None)

    use(Echo(script=script))
    other = writer_of(study, "question")
    run = writing_runs.request(writer, actor=None)
    worker.work_on_runs()
    assert asked == ["q0", "q1", "q2", "q3", "q0", "q4", "q5", "q6", "q7", "q8"]
    run.refresh_from_db()
    assert run.state == "done"


def test_a_run_that_is_stopped_fails_its_drafts():
    study = study_of(["rain"])
    draft = draft_requests.request_draft(case_of(study), writer_of(study), actor=None)
    run = writing_runs.cancel(WritingRun.objects.get(), actor=None)
    draft.refresh_from_db()
    assert (draft.state, draft.problem) == ("failed", "Cancelled.")
    with pytest.raises(Conflict, match="asked for anew at the review desk"):
        writing_runs.retry(run, actor=None)


def test_the_share_accepted_unedited_is_of_what_people_decided():
    study = study_of(["rain"])
    case = case_of(study)
    seen = (("accepted", 3), ("edited", 2), ("rejected", 1), ("unused", 2), ("failed", 1))
    for state, n, at in (
        *((*one, timezone.now()) for one in seen),
        ("unused", 4, None),
        ("waiting", 1, None),
    ):
        for _ in range(n):
            Draft.objects.create(
                case=case, item_version=case.item_version, field="rationale", writer="r", state=state,
                written_at=at,
            )  # fmt: skip
    (found,) = draft_requests.draft_outcomes(study)
    assert (found.writer, found.field, found.settled) == ("r", "rationale", 8)
    assert (found.unused, found.late, found.failed, found.waiting) == (2, 4, 1, 1)
    assert found.accepted_unedited == pytest.approx(3 / 8)
    assert draft_requests.DraftOutcomes("r", "rationale").accepted_unedited is None


def test_what_answers_are_asked_with_gives_nothing_away():
    assert kinds.PLACEHOLDER_RULES["answer"].may.isdisjoint({"reference", "rationale", "note"})


# ── After a correction ───────────────────────────────────────────────────────


def corrected(study: Study, *, rewrite: bool, actor: User | None = None) -> ItemVersion:
    item = locks.lock_item(study.items.order_by("pk").first().pk)
    version = versions.make_version(item, {"question": "What falls?"}, actor=actor, carry=not rewrite)
    hooks.run_after_correction(version, rewrite=rewrite, actor=actor)
    return version


def answered(study: Study, system: str) -> None:
    made, _ = System.objects.get_or_create(study=study, name=system)
    for item in study.items.all():
        versions.add_answer(item.current_version, made, f"{system} says rain", provenance={})


def test_answers_are_written_anew_and_those_that_nobody_here_can_write_are_carried_over():
    study = study_of(["rain"])
    writer_of(study, "answer")
    for system in ("robot", "imported"):
        answered(study, system)
    version = corrected(study, rewrite=True)
    assert answers_to(version) == {"imported": "imported says rain"}
    run = WritingRun.objects.get()
    assert (run.purpose, run.publishes, run.n_rows) == ("answers", True, 1)
    worker.work_on_runs()
    assert answers_to(version) == {"imported": "imported says rain", "robot": "On What falls?"}


def test_corrections_gather_in_one_run_as_long_as_it_has_not_finished():
    study = study_of(["rain"])
    writer_of(study, "answer")
    answered(study, "robot")
    corrected(study, rewrite=True)
    last = corrected(study, rewrite=True)
    assert WritingRun.objects.get().n_rows == 2
    worker.work_on_runs()
    assert WritingRun.objects.get().state == "done"
    assert answers_to(last) == {"robot": "On What falls?"}
    corrected(study, rewrite=True)
    assert WritingRun.objects.count() == 2
    told = AuditEvent.objects.filter(study=study, action__startswith="writing.").order_by("pk")
    assert [event.action.partition(".")[2] for event in told] == ["requested", "finished", "requested"]


def test_without_the_wish_for_new_answers_none_are_asked_for():
    study = study_of(["rain"])
    writer_of(study, "answer")
    answered(study, "robot")
    assert answers_to(corrected(study, rewrite=False)) == {"robot": "robot says rain"}
    assert not WritingRun.objects.exists()


def answers_to(version: ItemVersion) -> dict[str, str]:
    return dict(version.candidates.values_list("system__name", "text"))
