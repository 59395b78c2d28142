"""Listening: what a briefing asks for, what a vote needs to show, and the gains that are kept with it."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from annotation.errors import InvalidInput
from annotation.listening import coverage
from annotation.models import Assignment, Clip, Judgment, Study, Task
from annotation.protocols import definition_of_preset
from annotation.rating import briefings, judgments, leases
from annotation.studies import protocols
from tests import factories
from tests.annotation.importing.answers import comparison, rating

pytestmark = pytest.mark.django_db

ENOUGH = {"heard": {"a": [[0, 10]], "b": [[10, 20]]}, "switches": 1}


@pytest.fixture
def pairs() -> Study:
    """A study with the rules of a new one; its pair has 20 s each, the second piece 8 LU louder."""
    study = factories.StudyFactory(preset="cmi-pref", overlap=2, rules={})
    reference = factories.clip("reference", seconds=4.0)
    factories.comparison_task(study, "pair", reference_clip=reference)
    for side, lufs, peak in ((1, -18.0, -2.0), (2, -10.0, 0.5)):
        piece = factories.clip(f"pair-{side}")
        Clip.objects.filter(pk=piece.pk).update(duration_s=20.0, loudness_lufs=lufs, true_peak_dbtp=peak)
    return study


def lease(study: Study, *, seconds_ago: float = 60.0):
    """A task handed out a while ago: long enough to have heard what a test says was heard."""
    user = factories.member(study)
    _, leased = leases.lease_next(user, study.slug)
    started = timezone.now() - timedelta(seconds=seconds_ago)
    Assignment.objects.filter(pk=leased.id).update(leased_at=started)
    return user, Assignment.objects.get(pk=leased.id)


def refused(user, assignment, submission) -> list[str]:
    with pytest.raises(InvalidInput) as caught:
        judgments.submit(user, assignment.pk, submission)
    assert caught.value.code == "unheard"
    return [problem.field for problem in caught.value.problems]


def test_a_vote_on_what_was_heard_is_stored_with_its_log_and_the_gains_of_the_briefing(pairs):
    user, assignment = lease(pairs)
    briefing = briefings.brief(assignment)
    judgments.submit(user, assignment.pk, comparison(telemetry=ENOUGH))
    judgment = Judgment.objects.get()
    assert judgment.telemetry == ENOUGH
    assert dict(zip(judgment.presentation, judgment.gains, strict=True)) == {0: -5.0, 1: -13.0}
    assert judgment.gains == [part["clip"]["gain_db"] for part in briefing["candidates"]]


@pytest.mark.parametrize(
    ("telemetry", "fields"),
    [
        (None, ["telemetry.heard.a", "telemetry.heard.b", "telemetry.switches"]),
        ({**ENOUGH, "heard": {"a": [[0, 10]]}}, ["telemetry.heard.b"]),
        ({**ENOUGH, "switches": 0}, ["telemetry.switches"]),
        ({**ENOUGH, "heard": {"a": [[0, 10]], "b": [[0, 30]]}}, ["telemetry.heard.b"]),
        ({**ENOUGH, "heard": {"a": [[0, 20]] * 3, "b": [[0, 20]]}}, ["telemetry.heard"]),
    ],
)
def test_a_vote_on_what_was_not_heard_is_refused_and_changes_nothing(pairs, telemetry, fields):
    user, assignment = lease(pairs)
    assert refused(user, assignment, comparison(telemetry=telemetry)) == fields
    assert not Judgment.objects.exists()
    assert Assignment.objects.get().state == Assignment.State.OPEN


def test_nobody_hears_more_than_there_was_time_for_and_a_late_vote_has_to_be_heard_too(pairs):
    user, assignment = lease(pairs, seconds_ago=15)
    assert refused(user, assignment, comparison(telemetry=ENOUGH)) == ["telemetry.heard"]
    started = timezone.now() - timedelta(seconds=60)
    Assignment.objects.update(leased_at=started, expires_at=timezone.now() - timedelta(seconds=1))
    leases.expire_due()
    assert refused(user, assignment, comparison()) != []
    judgments.submit(user, assignment.pk, comparison(telemetry=ENOUGH))
    assert Judgment.objects.get().gains is not None


def test_a_replay_is_answered_without_asking_again(pairs):
    user, assignment = lease(pairs)
    submission = comparison(telemetry=ENOUGH)
    judgments.submit(user, assignment.pk, submission)
    Study.objects.update(rules={"listening": {"short_seconds": 20}})
    assert judgments.submit(user, assignment.pk, submission).replayed


HALF = {"heard": {"a": [[0, 5]], "b": [[0, 5]]}, "switches": 1}


def test_a_task_handed_out_before_a_raise_needs_what_was_asked_then(pairs):
    user, assignment = lease(pairs)
    coverage.set_listening_rules(pairs, actor=None, short_seconds=15.0, min_switches=3)
    assert refused(user, assignment, comparison(telemetry=HALF)) == ["telemetry.heard.a", "telemetry.heard.b"]
    judgments.submit(user, assignment.pk, comparison(telemetry=ENOUGH))


def test_a_task_handed_out_after_a_raise_needs_what_it_asks(pairs):
    coverage.set_listening_rules(pairs, actor=None, short_seconds=15.0, min_switches=3)
    Study.objects.update(rules=shifted(pairs, seconds=-120))
    user, assignment = lease(pairs)
    assert refused(user, assignment, comparison(telemetry=ENOUGH)) == [
        "telemetry.heard.a", "telemetry.heard.b", "telemetry.switches",
    ]  # fmt: skip
    more = {"heard": {"a": [[0, 15]], "b": [[0, 15]]}, "switches": 3}
    judgments.submit(user, assignment.pk, comparison(telemetry=more))


def test_a_vote_from_before_two_raises_needs_neither(pairs):
    user, assignment = lease(pairs)
    for seconds in (15.0, 20.0):
        coverage.set_listening_rules(pairs, actor=None, short_seconds=seconds)
    assert not judgments.submit(user, assignment.pk, comparison(telemetry=ENOUGH)).surplus


def test_lowered_minimums_hold_for_every_task(pairs):
    user, assignment = lease(pairs)
    coverage.set_listening_rules(pairs, actor=None, short_seconds=5.0, short_share=0.0)
    assert not judgments.submit(user, assignment.pk, comparison(telemetry=HALF)).surplus


def test_what_a_draft_asked_is_not_kept_nor_what_is_no_minimum(pairs):
    coverage.set_listening_rules(pairs, actor=None, fade_ms=10, min_switches=1)
    Study.objects.update(state=Study.State.DRAFT)
    coverage.set_listening_rules(pairs, actor=None, short_seconds=20.0)
    pairs.refresh_from_db()
    assert pairs.rules == {"listening": {"fade_ms": 10, "min_switches": 1, "short_seconds": 20.0}}


def shifted(study: Study, *, seconds: float) -> dict:
    """The study's rules as if they had been changed that much earlier."""
    study.refresh_from_db()
    before = [
        {**then, "until": (datetime.fromisoformat(then["until"]) + timedelta(seconds=seconds)).isoformat()}
        for then in study.rules["listening_before"]
    ]
    return {**study.rules, "listening_before": before}


def test_a_study_that_judges_loudness_leaves_it_as_it_is(pairs):
    Study.objects.update(rules={"listening": {"loudness": "off"}})
    user, assignment = lease(pairs)
    judgments.submit(user, assignment.pk, comparison(telemetry=ENOUGH))
    assert Judgment.objects.get().gains == [0.0, 0.0]


# ── Text answers ─────────────────────────────────────────────────────────────


@pytest.fixture
def answers() -> Study:
    study = factories.StudyFactory(overlap=2, rules={})
    factories.rating_task(study, "only", clip=factories.clip("recording", seconds=8.0))
    return study


def test_an_answer_that_can_be_judged_from_text_needs_no_listening_but_a_log_that_makes_sense(answers):
    user, assignment = lease(answers)
    backwards = rating(4, telemetry={"heard": {"recording": [[5, 1]]}})
    assert refused(user, assignment, backwards) == ["telemetry.heard.recording"]
    judgments.submit(user, assignment.pk, rating(4))
    assert Judgment.objects.get().gains is None


def test_a_protocol_can_want_the_recording_heard(answers):
    wanted = {**definition_of_preset("orca"), "listening": {"must_hear": ["clip"]}}
    protocols.add_protocol_version(answers, definition=wanted, actor=None)
    user, assignment = lease(answers)
    assert refused(user, assignment, rating(4)) == ["telemetry.heard.recording"]
    judgments.submit(user, assignment.pk, rating(4, telemetry={"heard": {"recording": [[0, 8]]}}))
    assert Judgment.objects.get().gains is None


# ── The briefing ─────────────────────────────────────────────────────────────


def test_a_briefing_says_what_must_be_heard_and_how_loud_it_is_played(pairs):
    _, assignment = lease(pairs)
    told = briefings.brief(assignment)
    clips = {part["clip"]["name"]: part["clip"] for part in told["candidates"]}
    quieter = "ab"[assignment.presentation.index(0)]
    assert (clips[quieter]["gain_db"], clips[quieter]["must_hear"]) == (-5.0, 10.0)
    reference = told["content"][-1]["clip"]
    assert (reference["name"], reference["gain_db"], reference["must_hear"]) == ("reference", 0.0, 0.0)
    assert told["listening"] == {
        "fade_ms": 5,
        "min_switches": 1,
        "instruction_seconds": 3.0,
        "break_minutes": 25,
        "stop_minutes": 45,
        "change_minutes": 10,
    }


def test_a_task_without_pieces_to_hear_or_an_instruction_waits_for_none(pairs, answers):
    _, assignment = lease(answers)
    listening = briefings.brief(assignment)["listening"]
    assert (listening["instruction_seconds"], listening["min_switches"]) == (0, 0)
    task = factories.comparison_task(pairs, "bare", prompt="")
    pairs.tasks.exclude(pk=task.pk).update(state=Task.State.WITHDRAWN)
    _, assignment = lease(pairs)
    assert briefings.brief(assignment)["listening"]["instruction_seconds"] == 0


def test_listening_costs_one_query_more_and_only_where_something_is_heard(
    pairs, answers, django_assert_num_queries
):
    for study, submission, queries in ((pairs, comparison(telemetry=ENOUGH), 3), (answers, rating(4), 2)):
        user, assignment = lease(study)
        protocols.load_protocol(assignment.protocol_version_id)
        with django_assert_num_queries(queries):
            judgments.submit(user, assignment.pk, submission)
