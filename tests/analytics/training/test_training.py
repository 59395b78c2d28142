"""Training on a study's votes: asked for, cut off, taken up, kept."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
import torch
from django.db.models import Max

from analytics.models import Release
from analytics.training import jobs, run
from analytics.training.run import PeakMemory, StoredWatch
from annotation.errors import InvalidInput
from annotation.jobs import jobs as jobs_jobs
from annotation.models import Job, Judgment
from scoring import learned
from scoring.models import LearnedModel, Score, Scorer, ScoringRun
from scoring.policies import predictions
from scoring.runs import loaded_metric, worker
from tests import factories
from tests.analytics import learning
from tests.analytics.learning import trained

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("toy")]


def test_a_training_leaves_a_version_with_its_record_its_curves_and_scores_of_what_it_has_not_seen():
    model = trained(learning.music())
    assert model.job.state == Job.State.DONE
    assert (learned.checkpoint_path(model) / "sounds.json").exists()
    assert model.curves["train loss"] == [[step + 1, 1 / (step + 1)] for step in range(learning.STEPS)]
    record = model.record
    assert record["figures"]["musicality accuracy"] == {"mean": pytest.approx(5 / 6), "sd": None, "n": 1}
    assert record["counts"]["units"] == 12
    assert len(record["data_sha256"]) == 64
    assert record["grouped_by"] == ["clip", "item", "prompt"]
    scored = Score.objects.filter(scorer=model.scorer).values_list("candidate__item_version__item", flat=True)
    assert set(scored) == set(record["held_out"]["items"])
    assert len(record["held_out"]["items"]) == record["counts"]["test_units"]


def test_what_held_out_raters_said_is_not_learned_from_and_is_told_apart(toy):
    model = trained(learning.music(raters=10), holdout_raters=0.2)
    assert len(model.record["held_out"]["raters"]) == 2
    assert {len(pair.votes["musicality"]) for pair in toy.given[0].pairs.train} == {8}
    assert "musicality accuracy, held-out raters" in model.record["figures"]


def test_few_raters_are_all_learned_from(toy):
    model = trained(learning.music(raters=3))
    assert model.record["held_out"]["raters"] == []
    assert {len(pair.votes["musicality"]) for pair in toy.given[0].pairs.train} == {3}


def test_repeats_tell_how_much_figures_vary():
    record = trained(learning.music(), repeats=3).record
    assert record["figures"]["musicality accuracy"]["n"] == 3
    assert record["figures"]["musicality accuracy"]["sd"] == pytest.approx(0.0)
    assert [repeat["seed"] for repeat in record["repeats"]] == [0, 1, 2]


def test_systems_can_be_held_out():
    record = trained(learning.music(prompts=24), split="systems", repeats=5).record
    assert len(record["repeats"]) == 2  # of four systems, two at a time, none twice


def test_a_killed_training_goes_on_where_it_was(toy):
    study = learning.music()
    model = jobs.start_training(study, "cmi-rm", {}, actor=None, repeats=2)
    toy.kill_at = 2
    with pytest.raises(learning.Stopped):
        jobs_jobs.run(model.job_id)
    Job.objects.filter(pk=model.job_id).update(lease_expires_at="2000-01-01T00:00:00Z")
    assert jobs_jobs.run(model.job_id)
    model.refresh_from_db()
    assert toy.steps == [0, 1, 2, 3, 0, 1, 2, 3]
    assert [step for step, _ in model.curves["train loss"]] == [1, 2, 3, 4]
    assert not learned.checkpoint_path(model).with_name("cmi-rm-1.work").exists()


def test_a_training_that_is_taken_up_after_votes_came_in_learns_from_them(toy):
    study = learning.music()
    late = Judgment.objects.filter(study=study, task__external_id__in=["item-10", "item-11"])
    late.update(effective=False)
    model = jobs.start_training(study, "cmi-rm", {}, actor=None, repeats=2)
    train = toy.train

    def killed_in_the_second(*args, **how):
        toy.kill_at = 2 if how["seed"] == 1 else None
        return train(*args, **how)

    toy.train = killed_in_the_second
    with pytest.raises(learning.Stopped):
        jobs_jobs.run(model.job_id)
    toy.train = train
    late.update(effective=True)
    Job.objects.filter(pk=model.job_id).update(lease_expires_at="2000-01-01T00:00:00Z")
    assert jobs_jobs.run(model.job_id)
    model.refresh_from_db()
    pairs = [given.pairs for given in toy.given]
    assert [len([*each.train, *each.dev, *each.test]) for each in pairs] == [10, 10, 12, 12]
    assert [each["counts"]["units"] for each in model.record["repeats"]] == [12, 12]


def test_a_cancelled_training_leaves_nothing(toy, monkeypatch):
    study = learning.music()
    model = jobs.start_training(study, "cmi-rm", {}, actor=None)
    researcher = factories.UserFactory()
    monkeypatch.setattr(jobs_jobs, "_REPORT_EVERY_SECONDS", 0)
    train = toy.train

    def cancelled(*args, **how):
        jobs_jobs.cancel(model.job, actor=researcher)
        return train(*args, **how)

    monkeypatch.setattr(toy, "train", cancelled)
    jobs_jobs.run(model.job_id)
    model.refresh_from_db()
    assert (model.record, model.scorer, toy.steps) == ({}, None, [])
    assert not list(learned.checkpoint_path(model).parent.glob("*"))


def test_a_training_cancelled_at_its_very_end_leaves_nothing(monkeypatch):
    model = jobs.start_training(learning.music(), "cmi-rm", {}, actor=None)
    of_record = run.training_record

    def cancelled(*args, **how):
        jobs_jobs.cancel(model.job, actor=factories.UserFactory())
        return of_record(*args, **how)

    monkeypatch.setattr(run, "training_record", cancelled)
    jobs_jobs.run(model.job_id)
    model.refresh_from_db()
    assert (model.record, model.scorer) == ({}, None)
    assert not list(learned.checkpoint_path(model).parent.glob("*"))


def test_what_a_training_left_that_was_cancelled_while_no_worker_was_at_it_goes_with_the_next(toy):
    study = learning.music()
    model = jobs.start_training(study, "cmi-rm", {}, actor=None)
    toy.kill_at = 2
    with pytest.raises(learning.Stopped):
        jobs_jobs.run(model.job_id)
    jobs_jobs.cancel(model.job, actor=factories.UserFactory())
    work = learned.checkpoint_path(model).with_name("cmi-rm-1.work")
    assert work.exists()
    after = trained(study)
    assert not work.exists()
    assert learned.checkpoint_path(after).exists()


REFUSAL = "There are 3 votes and 20 are needed. Collect more."


@pytest.mark.parametrize(
    ("study", "refusal", "message"),
    [
        ({}, REFUSAL, REFUSAL),
        ({"prompt": "the same for all"}, "", "The 12 judged units hang together in 1 group"),
        ({"raters": 0}, "", "no judged clips with votes"),
    ],
    ids=["by the recipe", "one group", "no votes"],
)
def test_a_refused_training_says_why(toy, study, refusal, message):
    toy.refuse = refusal
    model = trained(learning.music(**study))
    assert model.job.state == Job.State.FAILED
    assert message in model.job.message


@pytest.mark.parametrize(
    ("field", "value"),
    [("repeats", 0), ("holdout_raters", 0.9), ("split", "by the moon"), ("question", "musicality")],
)
def test_a_plan_that_makes_no_sense_is_refused_by_name(field, value):
    with pytest.raises(InvalidInput) as refused:
        jobs.start_training(learning.music(prompts=3), "cmi-rm", {}, actor=None, **{field: value})
    assert refused.value.problems[0].field == field
    assert not LearnedModel.objects.exists()


def test_a_kind_that_cannot_learn_from_the_study_is_refused():
    with pytest.raises(InvalidInput, match="cannot learn"):
        jobs.start_training(factories.StudyFactory(preset="fense"), "orca", {}, actor=None)


def test_promotion_makes_a_version_the_studys_scorer_and_scores_the_rest():
    study = learning.music()
    first, second = trained(study), trained(study)
    learned.promote(first, actor=None)
    learned.promote(second, actor=None)
    study.refresh_from_db()
    assert study.rules["prescore"] == [{"metric": "cmi-rm", "options": {"checkpoint": second.folder}}]
    assert learned.promoted_version(study) == second
    assert ScoringRun.objects.filter(study=study, metric="cmi-rm").count() == 2
    learned.demote(second, actor=None)
    study.refresh_from_db()
    assert (study.rules["prescore"], learned.promoted_version(study)) == ([], None)


def test_what_a_promoted_version_opens_as_on_the_scoring_worker_is_what_counts():
    study = learning.music()
    model = trained(study)
    learned.promote(model, actor=None)
    assert learned.promoted_scorer(study, "cmi-rm") == model.scorer
    elsewhere = Scorer.objects.create(key="cmi-rm", digest="opened on another device")
    ScoringRun.objects.update(scorer=elsewhere)
    assert predictions.study_scorer(study, "cmi-rm") == elsewhere
    assert learned.promoted_scorer(study) == elsewhere
    # With other settings, or of a part of the study, it is asked for something else.
    other = Scorer.objects.create(key="cmi-rm", digest="other settings")
    for asked in ({"options": {"checkpoint": "another"}}, {"filter": {"systems": ["good"]}}):
        run = {"options": learned.scorer_options(model), **asked}
        ScoringRun.objects.create(study=study, metric="cmi-rm", scorer=other, **run)
    assert predictions.study_scorer(study, "cmi-rm") == elsewhere


def test_a_version_that_was_not_trained_to_the_end_is_not_promoted():
    model = jobs.start_training(learning.music(), "cmi-rm", {}, actor=None)
    with pytest.raises(learned.Conflict, match="not been trained"):
        learned.promote(model, actor=None)


def test_what_a_scorer_says_of_what_is_not_held_out_is_learned_from_first(toy, monkeypatch):
    study = learning.music(prompts=20)
    teacher = trained(study)
    learned.promote(teacher, actor=None)
    worker.score_in_foreground(ScoringRun.objects.get(study=study))
    model = trained(study, pseudo=[str(teacher.scorer)])
    given = toy.given[-1]
    assert model.record["counts"]["first"] == len(given.pseudo) > 0
    assert model.record["data_sha256"] != teacher.record["data_sha256"]
    held_out = {pair.prompt.text for part in (given.pairs.dev, given.pairs.test) for pair in part}
    assert not {pair.prompt.text for pair in given.pseudo} & held_out
    # The toy prefers the longer.
    assert all(
        (pair.votes["musicality"][0].first == 1.0) == (pair.first.seconds > pair.second.seconds)
        for pair in given.pseudo
    )


def test_a_scorer_that_has_not_scored_the_study_cannot_be_learned_from():
    with pytest.raises(InvalidInput, match="has not scored this study"):
        jobs.start_training(learning.music(prompts=3), "cmi-rm", {}, actor=None, pseudo=["clapscore"])


# ── memory: nothing of another model, no more than there is, and how much ──


def test_a_training_begins_with_nothing_else_open(toy, monkeypatch):
    monkeypatch.setattr(loaded_metric.LOADED, "_model", object())
    found, train = [], toy.train
    monkeypatch.setattr(
        toy, "train", lambda *args, **how: found.append(loaded_metric.LOADED._model) or train(*args, **how)
    )
    assert trained(learning.music()).job.state == Job.State.DONE
    assert found == [None]


@pytest.mark.parametrize("error", [MemoryError, torch.OutOfMemoryError])
def test_what_does_not_fit_into_memory_is_told_with_what_to_do(toy, monkeypatch, error):
    def too_large(*args, **how):
        raise error

    monkeypatch.setattr(toy, "train", too_large)
    model = trained(learning.music())
    assert model.job.state == Job.State.FAILED
    assert "Choose a smaller batch, a smaller encoder" in model.job.message
    assert not learned.checkpoint_path(model).with_name("cmi-rm-1.work").exists()


def test_the_record_has_the_memory_of_the_training(toy):
    record = trained(learning.music()).record
    assert record["peak_memory_mb"] > 0
    assert (record["gpu_peak_memory_mb"] is None) is not torch.cuda.is_available()


def test_memory_that_was_held_before_is_not_counted():
    held = np.ones(50_000_000)
    with PeakMemory() as before:
        pass
    most = before.mb
    assert most is not None
    del held
    with PeakMemory() as after:
        pass
    assert after.mb is not None
    assert after.mb < most - 300


# ── the release that has the votes a version learned from ──


@pytest.mark.parametrize(("lasts", "number"), [((), None), ((0, 7), 2), ((-1,), None)])
def test_the_newest_release_is_named_where_it_has_all_votes(lasts, number):
    study = learning.music(prompts=3)
    newest = Judgment.objects.filter(study=study).aggregate(last=Max("pk"))["last"]
    for place, last in enumerate(lasts, 1):
        manifest = {"cut": {"horizon": {"judgments": newest + last}}}
        Release.objects.create(study=study, number=place, manifest=manifest, sha256=f"{place}" * 64)
    assert run.release_with(study) == (number and {"number": number, "sha256": f"{number}" * 64})


def test_a_training_that_begins_anew_tells_its_curves_anew(tmp_path):
    file = tmp_path / "curves.jsonl"
    killed = StoredWatch(None, None, file, number=1, of=2)
    for step in (10, 20):
        killed.log_metric("train loss", step, 0.5)
    again = StoredWatch(None, None, file, number=1, of=2)
    again.log_metric("train loss", 10, 0.25)
    assert StoredWatch(None, None, file, number=1, of=2).curves == {"train loss": [[10, 0.25]]}


# A training that starts from a version of its own study is not tested by what that one learned from.


def test_a_version_may_be_trained_further_on_the_same_split_and_says_from_what():
    study = learning.music(raters=10)
    first = trained(study)
    second = trained(study, start_from=first.folder)
    third = trained(study, start_from=str(learned.checkpoint_path(second)))
    assert third.job.state == Job.State.DONE
    assert third.record["ancestors"] == ["cmi-rm 2", "cmi-rm 1"]
    assert third.record["held_out"] == first.record["held_out"]


@pytest.mark.parametrize(
    ("began", "plan", "said"),
    [
        ({}, {"repeats": 2}, "other splits of 2 repeats"),
        ({"split": "systems"}, {}, "cmi-rm 1 held out systems, and this training holds out groups"),
        ({"holdout_raters": 0}, {}, "2 of the 2 raters that this training holds out were not held out"),
    ],
)
def test_a_start_that_has_learned_from_what_is_held_out_is_refused(began, plan, said):
    study = learning.music(raters=10)
    first = trained(study, **began)
    model = trained(study, start_from=first.folder, **plan)
    assert model.job.state == Job.State.FAILED
    assert said in model.job.message


def test_a_start_is_refused_where_items_are_held_out_that_it_did_not_hold_out():
    study = learning.music(prompts=24)
    first = trained(study)
    Judgment.objects.filter(
        study=study, task__item_version__item__in=first.record["held_out"]["items"]
    ).update(effective=False)
    model = trained(study, start_from=first.folder)
    assert (
        "items that this training holds out were not held out when cmi-rm 1 was trained" in model.job.message
    )


def test_what_is_left_of_an_unfinished_version_is_no_start():
    study = learning.music()
    left = learned.checkpoint_path(trained(study)).with_name("cmi-rm-9")
    left.mkdir()
    assert "no version of this study" in trained(study, start_from=str(left)).job.message


def test_a_copy_of_a_versions_folder_is_that_version(tmp_path):
    study = learning.music()
    first = trained(study)
    copy = tmp_path / "elsewhere"
    shutil.copytree(learned.checkpoint_path(first), copy)
    assert "other splits of 2 repeats" in trained(study, start_from=str(copy), repeats=2).job.message
    assert trained(study, start_from=str(copy)).record["ancestors"] == ["cmi-rm 1"]


def test_a_version_of_another_study_is_no_start_where_that_shares_prompts_with_what_is_held_out():
    first = trained(learning.music(slug="before"))
    model = trained(learning.music(slug="after"), start_from=first.folder)
    assert model.job.state == Job.State.FAILED
    assert "learned from in another study" in model.job.message
    assert "before/cmi-rm 1" in model.job.message


def test_a_version_of_another_study_about_other_things_is_a_start_and_told_with_its_study():
    first = trained(learning.music(slug="before", prompt="other {}"))
    second = trained(learning.music(slug="after"), start_from=first.folder)
    assert second.record["ancestors"] == ["before/cmi-rm 1"]
    third = trained(second.study, start_from=second.folder)
    assert third.record["ancestors"] == ["cmi-rm 1", "before/cmi-rm 1"]


def test_a_scorer_that_is_a_version_teaches_no_repeats_whose_test_votes_it_learned_from():
    study = learning.music(prompts=20)
    teacher = trained(study)
    learned.promote(teacher, actor=None)
    worker.score_in_foreground(ScoringRun.objects.get(study=study))
    taught = trained(study, pseudo=[teacher.kind], repeats=3)
    assert taught.job.state == Job.State.FAILED
    assert (
        "pseudo: cmi-rm 1 has learned from what the other splits of 3 repeats hold out" in taught.job.message
    )
    assert trained(study, pseudo=[teacher.kind]).record["ancestors"] == ["cmi-rm 1"]
