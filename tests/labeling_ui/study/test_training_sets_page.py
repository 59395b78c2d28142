from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.models import Job
from labeling_ui.study.dataset_forms import TrainingSetForm
from tests.analytics.votes import vote
from tests.factories import StudyFactory, member, rating_task

pytestmark = pytest.mark.django_db

DEFAULTS = {
    name: field.initial for name, field in TrainingSetForm.base_fields.items() if field.initial is not None
}
ASKED = {**DEFAULTS, "format": "mos", "ratios": "1:0:0"}


def page(study) -> str:
    return reverse("training_sets", args=[study.slug])


def test_a_preview_shows_first_rows_and_sizes_and_starts_nothing(signed_in, study):
    vote(rating_task(study, "one"), 3)
    shown = signed_in.post(page(study), {**ASKED, "preview": ""})
    (table,) = shown.context["tried"]["tables"]
    assert (table["sizes"], table["first"][0]["mean"]) == ({"train": 1, "dev": 0, "test": 0}, 3.0)
    assert "What is heard in one?" in shown.text
    assert not Job.objects.exists()


def test_making_one_leads_to_its_job(signed_in, researcher, study):
    answer = signed_in.post(page(study), {**ASKED, "hold_out_systems": "a\n\nb"})
    job = Job.objects.get()
    assert answer.url == reverse("job", args=[job.pk])
    assert (job.kind, job.created_by) == ("training_set", researcher)
    assert job.params["hold_out_systems"] == ["a", "b"]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"format": "arena"}, "Select a valid choice"),
        ({"ratios": "0:1:1"}, "train:dev:test"),
        ({"ratios": "lots"}, "as in 8:1:1"),
        ({"ratios": "8:nan:1"}, "from 0 to a million"),
        ({"ratios": "8:inf:1"}, "from 0 to a million"),
        ({"ratios": "8:1"}, "three numbers"),
    ],
)
def test_what_does_not_go_together_is_told_and_starts_nothing(signed_in, study, wrong, told):
    assert told in signed_in.post(page(study), {**ASKED, **wrong}).text
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    ("preset", "offered", "finer"),
    [
        ("orca", ["orca", "mos"], ["hold_out_systems"]),
        (
            "cmi-pref",
            ["trl-preference", "trl-unpaired", "soft-preferences", "cmi-pref", "arena"],
            ["ties", "margin"],
        ),
    ],
)
def test_only_what_fits_the_questions_is_offered(signed_in, preset, offered, finer):
    study = StudyFactory(preset=preset)
    signed_in.force_login(member(study, "admin"))
    form = signed_in.get(page(study)).context["form"]
    assert [key for key, _ in form.fields["format"].choices] == offered
    assert set(finer) <= {field.name for field in form.finer}
    assert ("weights" in form.fields) is (preset == "cmi-pref")


def test_a_study_without_votes_says_so(signed_in, study):
    assert "Collect votes first" in signed_in.post(page(study), {**ASKED, "preview": ""}).text


def test_sets_of_other_studies_are_not_listed(signed_in, study):
    Job.objects.create(kind="training_set", study=StudyFactory(), params={"format": "mos"}, state="done")
    assert "There are none yet." in signed_in.get(page(study)).text
