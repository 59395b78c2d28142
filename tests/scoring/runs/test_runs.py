"""Asking for runs, stopping them, trying again, and how far they are."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.errors import Conflict, InvalidInput
from annotation.models import AuditEvent
from scoring.metrics.registry import MetricEntry, Option, Reads
from scoring.models import ScoringRow, ScoringRun
from scoring.policies import study_prompts
from scoring.runs import claims, engine, loaded_metric, scoring_runs, worker
from scoring.runs.claims import SCORING
from tests import factories
from tests.scoring.doubles import Scripted, register
from tests.scoring.studies import add, check_books, run_over, study_of, worked

pytestmark = pytest.mark.django_db

PROMPTS = {"questions": {"single": {"default": "Does it fit: {caption}?"}}}
ASKING = MetricEntry(
    "asking-pairs",
    "Asking",
    "Asks.",
    Reads.PAIR,
    "tests.scoring.doubles:open_word_count",
    options=(
        Option("backbone", "text", "Name a model.", required=True),
        Option("dtype", "choice", "How numbers are held.", default="auto", choices=("auto", "float32")),
        Option("prompts", "table", "Your own words."),
        Option("version", "text", "Any.", default="1"),
    ),
)


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    register(monkeypatch, ASKING)


@pytest.fixture
def woken(monkeypatch, django_capture_on_commit_callbacks) -> list[int]:
    found: list[int] = []
    monkeypatch.setattr(SCORING, "wake", found.append)
    return found


@pytest.fixture
def study():
    return study_of(["a bell", "rain"])


def refused(study, metric="asking-pairs", options=None, **asked) -> dict[str, str]:
    """The fields at fault, each with what is said of it; nothing is kept."""
    with pytest.raises(InvalidInput) as refusal:
        scoring_runs.request(study, metric, options or {}, actor=None, **asked)
    assert not ScoringRun.objects.exists()
    return {each.field: f"{each.message} {each.remedy}" for each in refusal.value.problems}


def test_a_run_is_kept_with_its_defaults_and_wakes_a_worker(study, woken, django_capture_on_commit_callbacks):
    actor = factories.UserFactory()
    with django_capture_on_commit_callbacks(execute=True):
        run = scoring_runs.request(study, "asking-pairs", {"backbone": "x"}, actor=actor)
        assert woken == []
    assert woken == [run.pk]
    assert run.state == "queued"
    assert run.options == {"backbone": "x", "dtype": "auto", "prompts": None, "version": "1"}
    event = AuditEvent.objects.get(action="scoring.requested")
    assert (event.actor, event.study, event.data["metric"]) == (actor, study, "asking-pairs")


def test_it_names_the_option_that_cannot_be_used(study):
    assert "Name a model" in refused(study)["options.backbone"]
    assert "asking-pairs has no such option" in refused(study, options={"bakbone": "x"})["options.bakbone"]
    wrong = refused(study, options={"backbone": "x", "dtype": "int4"})
    assert wrong == {"options.dtype": "'int4' is not one of auto, float32 How numbers are held."}
    assert "there is no scorer 'aqa'" in refused(study, "aqa")["scorer"]
    wrong = refused(study, options={"backbone": "x", "prompts": {"question": {}}})
    assert "question: not known here" in wrong["options.prompts"]


def test_it_names_what_a_filter_does_not_find(study):
    add(study, "item-0", "", system="system-2", strata={})
    wrong = refused(
        study, "word-count", filter={"systems": ["system-1", "sytem-2"], "items": ["item-9"], "sets": ["a"]}
    )
    assert wrong == {
        "filter.systems": "There is no system 'sytem-2' in this study. There are system-1, system-2.",
        "filter.items": "There is no item 'item-9' in this study. ",
        "filter.sets": "There is no such filter. Use systems, items, strata.",
    }


def test_it_names_a_stratum_that_no_item_has(study):
    study.items.filter(external_id="item-0").update(strata={"modality": "music"})
    wrong = refused(study, "word-count", filter={"strata": {"modality": ["speech"], "mood": ["sad"]}})
    assert wrong == {
        "filter.strata.modality": "No item has modality 'speech'. There are music.",
        "filter.strata.mood": "No item has mood 'sad'. There are none at all.",
    }
    assert "filter.strata" in refused(study, "word-count", filter={"strata": ["music"]})


@pytest.mark.parametrize("key", ["a__b", "audio type", 'x"y', "x'; --", "a%s", "0", "数"])
def test_a_stratum_may_have_any_name(study, key):
    study.items.filter(external_id="item-0").update(strata={key: "music"})
    study.items.filter(external_id="item-1").update(strata={key: None})
    assert "There are music." in refused(study, "word-count", filter={"strata": {key: ["no"]}}).popitem()[1]
    run = worked(run_over(study, filter={"strata": {key: ["music"]}}))
    assert (run.state, run.n_rows) == ("done", 1)


def test_a_stratum_that_is_no_text_is_named_as_json_writes_it(study):
    study.items.update(strata={"live": True, "take": 5})
    run = worked(run_over(study, filter={"strata": {"live": "true", "take": "5"}}))
    assert run.n_rows == 2


@pytest.mark.parametrize("odd", ["a\x00b", "\ud800"])
def test_a_text_that_the_database_cannot_hold_is_refused(study, odd):
    told = "A text in it holds a character that cannot be kept"
    for options in ({"version": odd}, {odd: "1"}, {"prompts": {"questions": [{"single": odd}]}}):
        assert told in refused(study, options=options)["options"]
    for part in ({"items": [odd]}, {"strata": {odd: ["1"]}}, {"strata": {"a": [odd]}}, {odd: []}):
        assert told in refused(study, "word-count", filter=part)["filter"]


def test_a_filter_is_kept_in_order_and_without_what_says_nothing(study):
    run = run_over(study, filter={"systems": [], "items": ["item-1", "item-0", "item-1"]})
    assert run.filter == {"items": ["item-0", "item-1"]}


def test_the_same_run_is_refused_while_the_first_is_under_way(study):
    first = run_over(study)
    with pytest.raises(Conflict, match=f"Run {first.pk} of this study does the same"):
        run_over(study, options={"version": "1"})
    run_over(study, options={"version": "2"})
    scoring_runs.cancel(first, actor=None)
    run_over(study)


# ── A study's own ────────────────────────────────────────────────────────────


def test_a_studys_own_prompts_are_used_unless_others_are_given(study):
    study = study_prompts.set_prompts(study, "asking", PROMPTS, actor=None)
    run = run_over(study, "asking-pairs", {"backbone": "x"})
    assert run.options["prompts"] == PROMPTS
    other = {"questions": {"single": {"default": "Or this?"}}}
    run = run_over(study, "asking-pairs", {"backbone": "x", "prompts": other})
    assert run.options["prompts"] == other
    study = study_prompts.set_prompts(study, "asking-pairs", None, actor=None)
    assert study.rules["prompts"] == {}


def test_prompts_that_cannot_be_read_are_not_kept(study):
    with pytest.raises(InvalidInput, match="questions: missing"):
        study_prompts.set_prompts(study, "asking", {"system": "x"}, actor=None)
    with pytest.raises(InvalidInput, match="belong to no scorer"):
        study_prompts.set_prompts(study, "asking-twice", PROMPTS, actor=None)
    study.refresh_from_db()
    assert "prompts" not in study.rules


# ── Afterwards ───────────────────────────────────────────────────────────────


def test_what_failed_is_tried_again(study, woken, django_capture_on_commit_callbacks):
    add(study, "bad", "undecodable")
    run = worked(run_over(study))
    assert (run.state, run.n_done, run.n_failed) == ("done", 2, 1)
    with django_capture_on_commit_callbacks(execute=True):
        run = scoring_runs.retry(run, actor=None)
    assert woken == [run.pk]
    assert (run.state, run.n_failed, run.working_since, run.finished_at) == ("queued", 0, None, None)
    row = run.rows.get(state=ScoringRow.State.WAITING)
    assert (row.attempts, row.fault, row.reason) == (0, "", "")
    worked(run)
    assert (run.state, run.n_done, run.n_failed) == ("done", 2, 1)


def test_very_much_that_failed_is_put_back_in_parts_before_it_is_tried_again(monkeypatch):
    monkeypatch.setattr(engine, "REQUEUED_AT_ONCE", 2)
    run = worked(run_over(study_of(["undecodable"] * 5 + ["a bell"])))
    tries: list[int] = []
    monkeypatch.setattr(
        loaded_metric, "load", lambda *_: Scripted(lambda batch: tries.extend(e.key for e in batch))
    )
    run.refresh_from_db()
    run = scoring_runs.retry(run, actor=None)
    assert (run.n_failed, run.rows.filter(state=ScoringRow.State.FAILED).count()) == (3, 3)
    assert claims.runs_with_work() == [run.pk]
    assert worker.work_on_run(run.pk, stopping=lambda: True)
    run.refresh_from_db()
    assert (run.state, run.n_failed, tries) == ("queued", 1, [])
    worker.work_on_run(run.pk)
    check_books(run)
    assert (run.state, run.n_failed, len(set(tries))) == ("done", 5, 5)


def test_what_is_put_back_only_by_the_worker_wakes_it_as_well(monkeypatch):
    run = worked(run_over(study_of(["undecodable"])))
    monkeypatch.setattr(engine, "REQUEUED_AT_ONCE", 0)
    run.refresh_from_db()
    scoring_runs.retry(run, actor=None)
    assert claims.runs_with_work() == [run.pk]


@pytest.mark.parametrize("halt", ["cancel", "fail"])
def test_a_run_whose_last_rows_were_stored_after_it_was_halted_goes_on_to_its_end(study, monkeypatch, halt):
    run = run_over(study)
    stop = {
        "cancel": lambda: scoring_runs.cancel(run, actor=None),
        "fail": lambda: SCORING.fail_run(run, "No weights."),
    }
    metric = Scripted(lambda _: None if ScoringRun.objects.get().is_finished else stop[halt]())
    monkeypatch.setattr(loaded_metric, "load", lambda *_: metric)
    worked(run)
    assert (run.is_finished, run.n_done) == (True, run.n_rows)
    scoring_runs.retry(run, actor=None)
    worker.work_on_run(run.pk)
    check_books(run)
    assert run.state == "done"
    assert claims.runs_with_work() == []


@pytest.mark.parametrize(
    ("verb", "refusal"), [(scoring_runs.retry, "Nothing failed"), (scoring_runs.cancel, "finished already")]
)
def test_a_run_that_is_done_is_neither_tried_again_nor_cancelled(study, verb, refusal):
    run = worked(run_over(study))
    with pytest.raises(Conflict, match=refusal):
        verb(run, actor=None)


def test_a_cancelled_run_goes_on_unless_another_does_the_same(study):
    run = scoring_runs.cancel(run_over(study), actor=None)
    assert (run.state, run.message) == ("cancelled", "Cancelled.")
    assert not worker.work_on_run(run.pk)
    other = run_over(study)
    with pytest.raises(Conflict, match=f"Run {other.pk}"):
        scoring_runs.retry(run, actor=None)
    worker.work_on_run(other.pk)
    run = scoring_runs.retry(run, actor=None)
    worked(run)
    assert (run.state, run.n_rows) == ("done", 0)  # the other has scored all of it


def test_faults_are_counted_by_reason_with_an_example():
    run = worked(run_over(study_of(["undecodable", "", "undecodable too", "fine"])))
    first, second = SCORING.count_faults(run)
    assert (first.code, first.n, first.item, first.system) == ("undecodable", 2, "item-0", "system-1")
    assert first.reason == "This file is damaged: decoding broke at 0.50 s."
    assert (second.code, second.n) == ("no_text", 1)


def test_a_run_waits_from_when_it_was_last_asked_for(study):
    add(study, "bad", "undecodable")
    run = run_over(study)
    assert run.waiting_since == run.created_at
    worked(run)
    assert run.waiting_since is None
    yesterday = timezone.now() - timedelta(days=1)
    ScoringRun.objects.update(created_at=yesterday, worked_at=yesterday)
    assert timezone.now() - scoring_runs.retry(run, actor=None).waiting_since < timedelta(hours=1)


def test_a_model_is_being_loaded_until_the_worker_comes_back(study):
    run = run_over(study)
    assert not run.is_loading
    run.n_openings = 1
    assert run.is_loading
    run.state = "failed"
    assert not run.is_loading


def test_of_very_many_faults_the_first_are_counted(monkeypatch):
    run = worked(run_over(study_of(["undecodable"] * 3 + ["memory"])))
    for counted, at_least, n in ((3, True, 3), (4, False, 4), (5, False, 4)):
        monkeypatch.setattr(engine, "MOST_ROWS_COUNTED", counted)
        found = SCORING.count_faults(run)
        assert {each.at_least for each in found} == {at_least}
        assert sum(each.n for each in found) == n


# ── How far ──────────────────────────────────────────────────────────────────


def made(**fields) -> ScoringRun:
    now = timezone.now()
    usual = {"state": "running", "working_since": now - timedelta(seconds=20), "worked_at": now}
    return ScoringRun(metric="m", n_rows=100, **{**usual, **fields})


@pytest.mark.parametrize(
    ("fields", "per_second", "seconds_left"),
    [
        pytest.param({"n_done": 30, "n_failed": 10}, 2.0, 30.0, id="failed rows count too"),
        pytest.param(
            {"n_done": 30, "n_failed": 10, "n_settled_before": 20},
            1.0,
            60.0,
            id="not what was settled before",
        ),
        pytest.param({"n_done": 1, "working_since": None}, None, None, id="nobody has worked on it"),
        pytest.param({"n_done": 1, "worked_at": None}, None, None, id="no row was settled"),
        pytest.param({"n_done": 0}, None, None, id="none is done"),
        pytest.param({"n_done": 100, "state": "done"}, 5.0, None, id="finished"),
    ],
)
def test_progress_tells_the_rate_and_what_remains(fields, per_second, seconds_left):
    run = made(**fields)
    assert run.per_second == pytest.approx(per_second)
    assert run.seconds_left == pytest.approx(seconds_left, abs=0.5)
