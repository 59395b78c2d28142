"""A training that starts from a version of its own study is not tested by what that one learned from."""

from __future__ import annotations

import shutil

import pytest

from annotation.models import Job, Judgment
from scoring import learned
from scoring.models import ScoringRun
from scoring.runs import worker
from tests.analytics import learning
from tests.analytics.learning import trained

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("toy")]


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
