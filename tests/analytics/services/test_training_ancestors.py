"""A training that starts from a version of its own study is not tested by what that one learned from."""

from __future__ import annotations

import pytest

from analytics.services import training_jobs
from annotation.models import Job, Judgment, Study
from annotation.services import jobs
from scoring.models import LearnedModel
from scoring.services import learned
from tests.analytics import learning

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _toy(monkeypatch, settings, tmp_path):
    settings.SCORING_CHECKPOINTS = tmp_path / "checkpoints"
    learning.register(monkeypatch)


def trained(study: Study, *, start_from: str = "", **plan) -> LearnedModel:
    model = training_jobs.start(study, "cmi-rm", {"start_from": start_from}, actor=None, **plan)
    jobs.run(model.job_id)
    return LearnedModel.objects.select_related("job", "study").get(pk=model.pk)


def test_a_version_may_be_trained_further_on_the_same_split_and_says_from_what():
    study = learning.music(raters=10)
    first = trained(study)
    second = trained(study, start_from=first.folder)
    third = trained(study, start_from=str(learned.place(second)))
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
    left = learned.place(trained(study)).with_name("cmi-rm-9")
    left.mkdir()
    assert "no version of this study" in trained(study, start_from=str(left)).job.message
