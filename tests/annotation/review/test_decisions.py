"""What a decision does to a case, its item, its tasks and what was said of them."""

from __future__ import annotations

import pytest

from annotation import hooks
from annotation.importing.records import content_digest
from annotation.models import (
    Assignment,
    AuditEvent,
    BarredRater,
    CaseEvent,
    Correction,
    Draft,
    Exclusion,
    GoldKey,
    Judgment,
    ReviewCase,
    Task,
)
from annotation.rating import exclusions, judgments, leases
from annotation.review import adjudication, cases, drafts
from tests import factories
from tests.annotation.importing import reviewing
from tests.annotation.importing.answers import comparison, rating
from tests.annotation.importing.desk import (
    claimed,
    corrections,
    give,
    judged,
    leased,
    people,
    true_counters,
    withdraw,
)
from tests.annotation.review.conftest import code_of, problems_of

pytestmark = pytest.mark.django_db
WITHDRAWN = Task.State.WITHDRAWN


def successor(task: Task) -> Task:
    return Task.objects.get(replaces=task)


class TestBeforeADecision:
    def test_nobody_decides_before_they_have_judged(self, study, task, expert):
        one = claimed(expert, task)
        assert code_of(adjudication.approve_item, expert, one.pk) == "not_judged"
        assert code_of(adjudication.correct_item, expert, one.pk, corrections(one)) == "not_judged"
        assert code_of(adjudication.withdraw_case_item, expert, one.pk, comment="No sound.") == "not_judged"
        assert task.item_version.item.versions.count() == 1

    def test_a_claim_that_is_gone_decides_nothing(self, study, task, expert):
        one = judged(expert, task)
        cases.put_back(expert, one.pk)
        assert code_of(adjudication.approve_item, expert, one.pk) == "claim_lost"
        cases.claim(factories.member(study, "expert"), one.pk)
        assert code_of(adjudication.correct_item, expert, one.pk, corrections(one)) == "claimed_by_other"

    def test_what_was_corrected_or_withdrawn_meanwhile_is_not_decided_again(self, study, task, expert):
        one = judged(expert, task)
        stale = corrections(one, version_id=0)
        assert code_of(adjudication.correct_item, expert, one.pk, stale) == "version_changed"
        item = task.item_version.item
        withdraw(item)
        one.refresh_from_db()
        assert (one.state, one.decision) == ("resolved", "withdrawn")
        ReviewCase.objects.filter(pk=one.pk).update(state="open")
        cases.claim(expert, one.pk)
        assert code_of(adjudication.approve_item, expert, one.pk) == "item_withdrawn"

    @pytest.mark.parametrize("text", ["What is heard in a?", "  What is heard in a?\r\n"])
    def test_a_correction_has_to_change_something(self, task, expert, text):
        one = judged(expert, task)
        changed = corrections(one, texts={"question": text, "reference": "A bell."})
        assert code_of(adjudication.correct_item, expert, one.pk, changed) == "nothing_changed"
        assert not Correction.objects.exists()

    @pytest.mark.parametrize(
        ("wanted", "field"),
        [
            ({"reason": "because"}, "reason"),
            ({"texts": {"clip": "x"}}, "texts.clip"),
            ({"texts": {"question": " "}}, "texts.question"),
            ({"texts": {"rationale": "a\0b"}}, "texts.rationale"),
            ({"drafts": {"question": 9}}, "drafts.question"),
        ],
    )
    def test_a_faulty_correction_names_the_field_and_changes_nothing(self, task, expert, wanted, field):
        one = judged(expert, task)
        assert list(problems_of(adjudication.correct_item, expert, one.pk, corrections(one, **wanted))) == [
            field
        ]
        one.refresh_from_db()
        assert one.state == "claimed"
        assert task.item_version.item.versions.count() == 1

    def test_answers_that_are_sounds_are_not_written_anew(self, expert):
        study = factories.StudyFactory(preset="cmi-pref")
        user, pair = factories.member(study, "expert"), factories.comparison_task(study, "pair")
        one = judged(user, pair)
        wanted = corrections(one, texts={"prompt": "A waltz"}, rewrite_answers=True)
        assert list(problems_of(adjudication.correct_item, user, one.pk, wanted)) == ["rewrite_answers"]


class TestFine:
    def test_a_case_is_settled_and_everything_stands(self, study, task, expert):
        give(factories.member(study), task)
        one = adjudication.approve_item(expert, judged(expert, task).pk, comment=" As it should be. ")
        assert (one.state, one.decision, one.decided_by) == ("resolved", "fine", expert)
        assert (one.comment, one.claimed_by) == ("As it should be.", None)
        assert CaseEvent.objects.filter(case=one, kind="decided", data__decision="fine").exists()
        assert AuditEvent.objects.filter(action="case.fine", actor=expert).exists()
        assert not Judgment.objects.filter(excluded=True).exists()
        true_counters(study)


class TestCorrecting:
    def test_the_item_gets_a_version_and_each_changed_field_a_correction(self, study, task, expert):
        one = judged(expert, task)
        texts = {"question": "What rings? ", "reference": "A bell.", "transcript": "ding\r\ndong"}
        version = adjudication.correct_item(expert, one.pk, corrections(one, texts=texts, reason="ambiguous"))
        item = version.item
        item.refresh_from_db()
        assert (item.current_version, version.number, version.created_by) == (version, 2, expert)
        stored = {"question": "What rings?", "reference": "A bell.", "transcript": "ding\ndong"}
        assert {name: getattr(version, name) for name in stored} == stored
        assert version.content_sha256 == content_digest(stored, reference_audio=None, audio=None)
        rows = Correction.objects.order_by("pk").values_list("field", "before", "after", "reason", "origin")
        assert list(rows) == [
            ("question", "What is heard in a?", "What rings?", "ambiguous", "expert"),
            ("transcript", "", "ding\ndong", "ambiguous", "expert"),
        ]
        one.refresh_from_db()
        assert (one.state, one.decision) == ("resolved", "corrected")

    def test_a_task_with_votes_is_withdrawn_replaced_and_wants_all_its_judgments_again(
        self, study, task, expert
    ):
        GoldKey.objects.create(task=task, question_key="correctness", value=4, tolerance=1)
        Task.objects.filter(pk=task.pk).update(priority=2.5)
        said = [give(user, task) for user in people(study, 2)]
        one = judged(expert, task)
        version = adjudication.correct_item(expert, one.pk, corrections(one))
        task.refresh_from_db()
        new = successor(task)
        assert (task.state, task.item_version_id) == (WITHDRAWN, one.item_version_id)
        assert (new.item_version, new.external_id, new.overlap, new.kind) == (version, "a~v2", 2, task.kind)
        assert (new.shuffle_key, new.priority, new.n_judgments) == (task.shuffle_key, 2.5, 0)
        assert [key.value for key in new.gold_keys.all()] == [4]
        answer = new.slots.get().candidate
        assert (answer.carried_from, answer.text) == (task.slots.get().candidate, "system-1 says: a bell.")
        assert {(mark.reason, mark.action) for mark in Exclusion.objects.all()} == {
            ("item_corrected", "exclude")
        }
        assert {mark.judgment_id for mark in Exclusion.objects.all()} == {judgment.pk for judgment in said}
        true_counters(study)

    def test_what_somebody_excluded_before_keeps_their_reason_and_the_experts_own_stays(
        self, study, task, expert
    ):
        said = give(factories.member(study), task)
        exclusions.exclude_or_restore(
            Judgment.objects.filter(pk=said.pk), study=study, action="exclude", reason="careless", actor=None
        )
        one = judged(expert, task)
        adjudication.correct_item(expert, one.pk, corrections(one))
        assert [mark.reason for mark in said.exclusions.all()] == ["careless"]
        one.blind_judgment.refresh_from_db()
        assert not one.blind_judgment.excluded
        true_counters(study)

    def test_a_task_that_nobody_met_moves_along(self, study, task, expert):
        give(factories.member(study), task)
        item_version = task.item_version
        fresh = Task.objects.create(
            study=study, item_version=item_version, external_id="a2", overlap=3, shuffle_key=0.5
        )
        fresh.slots.create(slot=0, candidate=task.slots.get().candidate)
        study.n_tasks = 2
        study.save(update_fields=["n_tasks"])
        one = judged(expert, task)
        version = adjudication.correct_item(expert, one.pk, corrections(one))
        fresh.refresh_from_db()
        assert (fresh.item_version, fresh.state, fresh.external_id) == (version, Task.State.READY, "a2")
        assert fresh.slots.get().candidate.item_version == version
        true_counters(study)

    def test_leases_end_and_late_votes_are_kept_as_surplus(self, study, task, expert):
        user = factories.member(study)
        lease = leased(user, task)
        one = judged(expert, task)
        adjudication.correct_item(expert, one.pk, corrections(one))
        lease.refresh_from_db()
        assert lease.state == Assignment.State.EXPIRED
        assert judgments.submit(user, lease.pk, rating(2)).surplus
        task.refresh_from_db()
        assert (task.n_judgments, task.n_leases) == (0, 0)
        true_counters(study)

    @pytest.mark.parametrize("same_raters", [False, True])
    def test_who_saw_the_version_before_meets_the_new_one_as_the_study_says(self, study, task, same_raters):
        study.rules = {**study.rules, "review": {"same_raters": same_raters}}
        study.save(update_fields=["rules"])
        expert, (judge, skipper, stranger) = factories.member(study, "expert"), people(study, 3)
        give(judge, task)
        leases.skip(skipper, leased(skipper, task).pk, reason="audio")
        one = judged(expert, task)
        adjudication.correct_item(expert, one.pk, corrections(one))
        # Two places: of those who saw it before both, or whoever comes new.
        met = [user for user in (judge, skipper, stranger) if leases.lease_next(user, study.slug)[1]]
        assert met == ([judge, skipper] if same_raters else [stranger])
        assert leases.lease_next(expert, study.slug)[1] is None
        reasons = set(BarredRater.objects.filter(task=successor(task)).values_list("reason", flat=True))
        assert reasons == ({"reviews"} if same_raters else {"reviews", "saw_earlier"})

    def test_a_pair_keeps_its_slots_and_a_second_correction_its_name(self):
        study = factories.StudyFactory(preset="cmi-pref", overlap=2)
        expert, pair = factories.member(study, "expert"), factories.comparison_task(study, "pair")
        give(factories.member(study), pair, comparison())
        one = judged(expert, pair)
        adjudication.correct_item(expert, one.pk, corrections(one, texts={"prompt": "A waltz"}))
        new = successor(pair)
        names = [slot.candidate.system.name for slot in new.slots.all()]
        assert names == ["system-1", "system-2"]
        give(factories.member(study), new, comparison())
        other = factories.member(study, "expert")
        two = judged(other, new)
        adjudication.correct_item(other, two.pk, corrections(two, texts={"prompt": "A polka"}))
        assert successor(new).external_id == "pair~v3"
        true_counters(study)

    def test_a_paused_study_stays_paused_and_what_follows_is_told_of_the_version(
        self, study, task, expert, monkeypatch
    ):
        followed = []
        monkeypatch.setattr(
            hooks, "run_after_correction", lambda version, **how: followed.append((version, how))
        )
        study.state = "paused"
        study.save(update_fields=["state"])
        one = judged(expert, task)
        version = adjudication.correct_item(expert, one.pk, corrections(one))
        study.refresh_from_db()
        assert (study.state, successor(task).state) == ("paused", Task.State.READY)
        assert followed == [(version, {"rewrite": False, "actor": expert})]

    def test_cases_of_other_versions_are_superseded(self, study, task, expert):
        one = judged(expert, task)
        stale = reviewing.case(task, state="resolved")
        version = task.item_version.item.versions.create(number=9, content_sha256="0" * 64)
        ReviewCase.objects.filter(pk=stale.pk).update(item_version=version, state="open")
        adjudication.correct_item(expert, one.pk, corrections(one))
        stale.refresh_from_db()
        assert (stale.state, stale.decision) == ("resolved", "superseded")


class TestDrafts:
    def proposed(self, one, field, text):
        draft = drafts.request_draft(one, field=field, writer="W", actor=None)
        assert drafts.store_proposal(draft.pk, text=text, provenance={"model": "m"})
        return draft.pk

    def test_a_correction_says_which_drafts_were_taken_and_how(self, task, expert):
        one = judged(expert, task)
        taken = self.proposed(one, "question", "What rings?\r\n")
        edited = self.proposed(one, "rationale", "It rings.")
        left = self.proposed(one, "transcript", "ding")
        waits = drafts.request_draft(one, field="reference", writer="W", actor=None).pk
        texts = {"question": "What rings?", "rationale": "It rings twice."}
        began = {"question": taken, "rationale": edited}
        adjudication.correct_item(expert, one.pk, corrections(one, texts=texts, drafts=began))
        states = dict(Draft.objects.values_list("pk", "state"))
        assert states == {taken: "accepted", edited: "edited", left: "unused", waits: "unused"}
        assert list(Correction.objects.order_by("pk").values_list("origin", "draft")) == [
            ("draft", taken),
            ("edited", edited),
        ]
        assert not drafts.store_proposal(waits, text="Too late.", provenance={})

    def test_a_draft_is_asked_for_once_and_fails_in_words(self, task, expert):
        one = judged(expert, task)
        draft = drafts.request_draft(one, field="question", writer="W", actor=expert)
        assert drafts.request_draft(one, field="question", writer="W", actor=expert) == draft
        assert drafts.store_failure(draft.pk, problem="The server did not answer.")
        draft.refresh_from_db()
        assert (draft.state, draft.problem) == ("failed", "The server did not answer.")
        assert drafts.request_draft(one, field="question", writer="W", actor=expert) != draft
        assert list(problems_of(drafts.request_draft, one, field="clip", writer="W", actor=None)) == ["field"]

    def test_a_rejected_draft_stays_rejected_and_cannot_be_used(self, task, expert):
        one = judged(expert, task)
        draft = self.proposed(one, "question", "What rings?")
        assert drafts.reject_draft(expert, draft).state == "rejected"
        assert drafts.reject_draft(expert, draft).state == "rejected"
        wanted = corrections(one, drafts={"question": draft})
        assert list(problems_of(adjudication.correct_item, expert, one.pk, wanted)) == ["drafts.question"]
        adjudication.approve_item(expert, one.pk)
        assert Draft.objects.get().state == "rejected"
        assert code_of(drafts.request_draft, one, field="question", writer="W", actor=None) == "resolved"


class TestWithdrawing:
    def test_an_item_leaves_with_its_tasks_and_what_was_said(self, study, task, expert):
        factories.rating_task(study, "b")
        give(factories.member(study), task)
        user = factories.member(study)
        lease = leased(user, task)
        one = judged(expert, task)
        assert list(problems_of(adjudication.withdraw_case_item, expert, one.pk, comment=" ")) == ["comment"]
        adjudication.withdraw_case_item(expert, one.pk, comment="The recording is broken.")
        task.refresh_from_db()
        item = task.item_version.item
        item.refresh_from_db()
        assert (item.state, task.state) == ("withdrawn", WITHDRAWN)
        assert [mark.reason for mark in Exclusion.objects.all()] == ["item_withdrawn"]
        assert judgments.submit(user, lease.pk, rating(2)).surplus
        study.refresh_from_db()
        assert (study.n_items, study.n_tasks) == (1, 1)
        true_counters(study)
