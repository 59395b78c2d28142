"""The path before the rating: what comes first, what makes a step due again, and what a refused rater hears."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone

from annotation import access
from annotation.errors import Conflict, InvalidInput
from annotation.models import Consent, Demographics, Rater
from annotation.onboarding import consent, demographics, onboarding_settings, path
from annotation.rating import leases
from annotation.studies import copies, lifecycle, protocols
from tests import factories

pytestmark = pytest.mark.django_db
AGE = {
    "key": "age",
    "texts": {"en": "How old are you?"},
    "required": True,
    "options": [{"key": key, "texts": {"en": key}} for key in ("young", "old")],
}


@pytest.fixture
def study():
    study = factories.StudyFactory(slug="s")
    factories.rating_task(study, "one")
    return study


def ask(study, text: str = "", **settings) -> None:
    if text:
        consent.publish_version(study, texts={"en": text}, reconsent="everybody", actor=None)
    onboarding_settings.set_onboarding(study, actor=None, **settings)
    study.refresh_from_db()


def rater_in(study) -> Rater:
    pk = factories.rater(study).pk
    return Rater.objects.select_related("study", "user").get(pk=pk)


def next_key(rater: Rater) -> str | None:
    step = path.next_step(Rater.objects.select_related("study").get(pk=rater.pk))
    return step and step.code


def agree(rater: Rater, *, accepted: bool = True) -> Consent:
    current = consent.current_version(rater.study)
    return consent.decide(rater, version=current.number, accepted=accepted, language="en")


def test_a_study_without_steps_has_no_path(study):
    assert path.steps(rater_in(study)) == []
    assert next_key(rater_in(study)) is None


def test_the_steps_come_in_their_order_and_then_a_task_is_given(study):
    ask(study, "We store your votes.", consent=True, guidelines=True, questions=[AGE])
    rater = rater_in(study)
    assert next_key(rater) == "consent_due"
    agree(rater)
    assert next_key(rater) == "demographics_due"
    demographics.save_answers(rater, answers={"age": "young"})
    assert next_key(rater) == "guidelines_due"
    with pytest.raises(Conflict) as refused:
        leases.lease_next(rater.user, "s")
    assert refused.value.code == "guidelines_due"
    path.read_guidelines(rater)
    assert leases.lease_next(rater.user, "s")[1] is not None
    rater.refresh_from_db()
    assert path.is_cleared(rater)


def test_a_refusal_over_the_api_names_the_next_step_and_its_address(study, api):
    ask(study, "Text", consent=True)
    answer = api(rater_in(study).user).post("studies/s/next/")
    assert (answer.status_code, answer.json()["title"]) == (409, "consent_due")
    assert answer.json()["next_step"] == {
        "key": "consent",
        "page": reverse("start", args=["s"]),
        "api": reverse("api_onboarding", args=["s"]),
    }


def test_a_simulated_rater_owes_nothing(study):
    ask(study, "Text", consent=True)
    rater = rater_in(study)
    Rater.objects.filter(pk=rater.pk).update(origin="simulated")
    assert leases.lease_next(rater.user, "s")[1] is not None


def test_a_new_text_asks_everybody_again_and_one_for_new_raters_does_not(study):
    ask(study, "First", consent=True)
    rater = rater_in(study)
    agree(rater)
    path.look_again(rater)
    consent.publish_version(study, texts={"en": "Second"}, reconsent="new", actor=None)
    rater.refresh_from_db()
    assert path.is_cleared(rater)
    assert next_key(rater) is None
    assert next_key(rater_in(study)) == "consent_due"
    consent.publish_version(study, texts={"en": "Third"}, reconsent="everybody", actor=None)
    rater.refresh_from_db()
    assert not path.is_cleared(rater)
    assert next_key(rater) == "consent_due"
    assert agree(rater).version.number == 3


def test_whoever_read_the_text_before_it_changed_reads_the_new_one(study):
    ask(study, "First", consent=True)
    rater = rater_in(study)
    consent.publish_version(study, texts={"en": "Second"}, reconsent="new", actor=None)
    with pytest.raises(Conflict) as refused:
        consent.decide(rater, version=1, accepted=True, language="en")
    assert refused.value.code == "consent_changed"
    assert not Consent.objects.exists()


def test_the_same_decision_in_two_tabs_is_one_and_a_declined_consent_may_be_given_later(study):
    ask(study, "Text", consent=True)
    rater = rater_in(study)
    assert agree(rater, accepted=False) == agree(rater, accepted=False)
    assert next_key(rater) == "consent_declined"
    agree(rater)
    assert next_key(rater) is None
    assert [row.accepted for row in Consent.objects.order_by("pk")] == [False, True]


def test_a_decision_cannot_be_changed_or_deleted(study):
    ask(study, "Text", consent=True)
    agree(rater_in(study))
    for change in (lambda: Consent.objects.update(accepted=False), lambda: Consent.objects.all().delete()):
        with pytest.raises(IntegrityError), transaction.atomic():
            change()


def test_a_new_protocol_version_asks_for_its_guidelines(study):
    ask(study, guidelines=True)
    rater = rater_in(study)
    path.read_guidelines(rater)
    path.look_again(rater)
    protocols.add_protocol_version(study, preset="pam", actor=None)
    rater = Rater.objects.select_related("study").get(pk=rater.pk)
    assert not path.is_cleared(rater)
    assert next_key(rater) == "guidelines_due"


def test_after_a_gap_the_path_is_looked_at_again_but_not_while_they_work(study):
    rater = rater_in(study)
    study.rules = {**study.rules, "onboarding": {"on": True, "gap": 60, "guidelines": True,
                                                "training": {"required": True, "again_minutes": 60}}}  # fmt: skip
    study.save()
    now = timezone.now()
    for cleared, worked, expected in (
        (30, None, True),
        (-30, None, False),
        (-30, -10, True),
        (-90, -61, False),
    ):
        rater.study = study
        rater.cleared_until = now + timedelta(minutes=cleared)
        rater.last_judgment_at = worked and now + timedelta(minutes=worked)
        rater.save()
        assert path.is_cleared(rater) is expected
        assert access.rater_at_work(rater.user, "s").owes_steps is not expected


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"consent": True}, "consent"),
        ({"training": {"required": True}}, "training.required"),
        ({"training": {"pass_mark": 3}}, "training.pass_mark"),
        ({"training": {"pass_mark": -1}}, "training.pass_mark"),
        ({"questions": [AGE, AGE]}, "questions[0].key"),
        ({"questions": [{**AGE, "options": AGE["options"][:1]}]}, "questions[0].options"),
        ({"questions": [{**AGE, "texts": {"en": " "}}]}, "questions[0].texts"),
    ],
)
def test_settings_that_cannot_be_used_name_their_field(study, asked, field):
    with pytest.raises(InvalidInput) as refused:
        ask(study, **asked)
    assert refused.value.problems[0].field == field


def test_answers_about_oneself_are_checked_deleted_and_asked_again(study):
    ask(study, questions=[AGE])
    rater = rater_in(study)
    for answers in ({}, {"age": "middle"}, {"age": "old", "shoe": "42"}):
        with pytest.raises(InvalidInput):
            demographics.save_answers(rater, answers=answers)
    demographics.save_answers(rater, answers={"age": "prefer_not_to_say"})
    assert next_key(rater) is None
    demographics.delete_answers(rater, actor=None)
    assert next_key(rater) == "demographics_due"
    assert not Demographics.objects.exists()


def test_in_an_archived_study_answers_about_oneself_can_be_deleted_and_nothing_else(study, client):
    ask(study, "Take part?", consent=True, questions=[AGE])
    rater = rater_in(study)
    demographics.save_answers(rater, answers={"age": "young"})
    lifecycle.archive_study(study, actor=None)
    client.force_login(rater.user)
    own = "/api/v1/studies/s/onboarding"
    for response in (
        client.put(f"{own}/demographics/", {"answers": {"age": "old"}}, "application/json"),
        client.post(f"{own}/consent/", {"version": 1, "accepted": True}, "application/json"),
    ):
        assert (response.status_code, response.json()["title"]) == (409, "archived")
    assert client.delete(f"{own}/demographics/").status_code == 204


def test_counts_of_answers_hide_fewer_than_five_raters(study):
    ask(study, questions=[AGE])
    for answer in ["young"] * 6 + ["old"] * 2:
        demographics.save_answers(rater_in(study), answers={"age": answer})
    (counts,) = demographics.answer_counts(study)
    # Two are too few; of one cell alone the size would follow from the total.
    assert (counts.n, counts.cells) == (8, {"young": None, "old": None})


def test_a_copy_of_a_study_asks_the_same_with_its_own_text(study):
    ask(study, "Text", consent=True, questions=[AGE])
    copy = copies.copy_study(study, slug="copy", title="Copy", with_items=False, actor=None)
    assert consent.current_version(copy).texts == {"en": "Text"}
    assert onboarding_settings.as_json(copy)["questions"] == onboarding_settings.as_json(study)["questions"]
