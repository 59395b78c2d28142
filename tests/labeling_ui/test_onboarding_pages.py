"""Pages of the path: a rater walks it step by step, and those who run the study set it up and look at it."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.models import AuditEvent, Consent, Demographics, GoldKey, GuidelinesReading, Rater, Task
from annotation.onboarding import consent, onboarding_settings, path
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    study = factories.StudyFactory(slug="s")
    factories.rating_task(study, "one")
    return study


@pytest.fixture
def ask(study):
    def change(text: str = "We store **your votes**.", **settings) -> None:
        if text:
            consent.publish_version(study, texts={"en": text}, reconsent="everybody", actor=None)
        onboarding_settings.set_onboarding(study, actor=None, **settings)
        study.refresh_from_db()

    return change


@pytest.fixture
def rater(study, client):
    user = factories.member(study)
    client.force_login(user)
    return Rater.objects.get(user=user)


def url(name: str, *more) -> str:
    return reverse(name, args=["s", *more])


def test_a_study_that_asks_nothing_leads_on_to_the_work(client, rater):
    assert client.get(url("start")).url == url("work")


def test_a_rater_walks_the_path_and_always_sees_the_next_step(client, rater, ask):
    question = {"key": "age", "texts": {"en": "How old are you?"}, "required": True}
    ask(consent=True, guidelines=True, questions=[question])
    assert client.get(url("work")).url == url("start")
    page = client.get(url("start")).text
    assert "We store <strong>your votes</strong>" in page
    assert "Step 1 of 3" in page
    client.post(url("decide_consent"), {"version": 1, "decision": "accept"})
    refused = client.post(url("save_demographics"), {})
    assert refused.status_code == 400
    assert "Prefer not to say" in refused.text
    client.post(url("save_demographics"), {"age:declined": "on"})
    assert url("guidelines") in client.get(url("start")).text
    assert client.post(url("guidelines")).url == url("work")
    assert client.get(url("work")).status_code == 200
    assert (
        Consent.objects.count(),
        Demographics.objects.get().answers,
        GuidelinesReading.objects.count(),
    ) == (
        1,
        {"age": "prefer_not_to_say"},
        1,
    )
    assert "You are ready" in client.get(url("start")).text


def test_declining_ends_kindly_and_may_be_reconsidered(client, rater, ask):
    ask(consent=True)
    client.post(url("decide_consent"), {"version": 1, "decision": "decline"})
    page = client.get(url("start")).text
    assert "Thank you for your time" in page
    assert "I agree and take part" not in page
    assert "I agree and take part" in client.post(url("reconsider_consent")).text


@pytest.mark.parametrize("name", ["reconsider_consent", "save_demographics"])
def test_the_address_of_an_answer_that_is_shown_again_leads_to_the_start_page(client, rater, ask, name):
    ask(consent=True)
    assert client.get(url(name)).url == url("start")


def test_whoever_agrees_to_a_text_that_has_changed_sees_the_new_one(client, rater, ask, study):
    ask(consent=True)
    consent.publish_version(study, texts={"en": "Another text"}, reconsent="new", actor=None)
    page = client.post(url("decide_consent"), {"version": 1, "decision": "accept"}, follow=True).text
    assert "Read the new version" in page
    assert "Another text" in page


def test_own_answers_can_be_deleted(client, rater, ask):
    ask("", questions=[{"key": "shoe", "texts": {"en": "Your shoes?"}}])
    client.post(url("save_demographics"), {"shoe": "brown"})
    client.post(url("delete_demographics"))
    assert not Demographics.objects.exists()


@pytest.fixture
def researcher(study, client):
    user = factories.member(study, "researcher")
    client.force_login(user)
    return user


def test_a_researcher_sets_consent_and_questions(client, researcher, study):
    form = {"part": "consent", "on": "on", "text_en": "", "text_zh": "", "reconsent": "everybody"}
    refused = client.post(url("before_rating"), form)
    assert "Write the text in at least one language" in refused.text
    client.post(url("before_rating"), {**form, "text_en": "Text", "text_zh": "文字"})
    assert consent.current_version(study).texts == {"en": "Text", "zh-hans": "文字"}
    own = {"own0_en": "Which city?", "own0_options": "Berlin | 柏林\nRome", "own0_inclusion": "required"}
    client.post(url("before_rating"), {"part": "questions", "age": "optional", **own})
    study.refresh_from_db()
    age, city = onboarding_settings.as_json(study)["questions"]
    assert (age["key"], age["required"], city["key"], city["required"]) == ("age", False, "which-city", True)
    assert [option["key"] for option in city["options"]] == ["berlin", "rome"]
    page = client.get(url("before_rating")).text
    assert "Berlin | 柏林" in page
    preview = client.get(url("preview_path")).text
    assert "How old are you?" in preview
    assert "Step 2 of 2" in preview


def test_a_pass_mark_above_the_number_of_tasks_is_said_at_its_field(client, researcher, study):
    task = factories.rating_task(study, "practice")
    Task.objects.filter(pk=task.pk).update(kind=Task.Kind.TRAINING)
    GoldKey.objects.create(task=task, question_key="correctness", value=4, explanation={"en": "A bell."})
    form = {"part": "training", "required": "on", "pass_mark": 2, "attempts": 2, "again_minutes": 0}
    refused = client.post(url("before_rating"), form)
    assert refused.context["forms"]["training"].errors["pass_mark"]
    client.post(url("before_rating"), {**form, "pass_mark": 1})
    page = client.get(url("before_rating")).text
    assert "A bell." in page
    stays = client.post(url("order_training"), {"task": task.pk, "to": "out"}, follow=True).text
    assert "Add training tasks first" in stays


def test_answers_about_raters_are_a_file_of_their_own_and_logged(client, researcher, study, ask):
    assert client.get(url("demographics_file")).status_code == 404
    ask("", questions=[{"key": "shoe", "texts": {"en": "Your shoes?"}}])
    Demographics.objects.create(rater=factories.rater(study), answers={"shoe": "=1+1"})
    assert "'=1+1" in client.get(url("demographics_file")).text
    assert AuditEvent.objects.filter(study=study, action="demographics.exported").exists()


def test_the_page_of_a_rater_tells_what_they_have_done_and_asks_for_training_again(
    client, researcher, study, ask
):
    ask(consent=True)
    rater = factories.rater(study)
    rater = Rater.objects.select_related("study").get(pk=rater.pk)
    consent.decide(rater, version=1, accepted=True, language="en")
    assert "Agreed to version 1" in client.get(url("rater", rater.pseudonym)).text
    refused = client.post(url("train_again", rater.pseudonym), {"reason": "x"}, follow=True).text
    assert "This study has no training" in refused
    assert path.step_counts(study).raters == 1


def test_a_task_becomes_a_training_task_by_what_it_expects(client, researcher, study):
    found = client.get(url("find_training_task"), {"name": "one"})
    task = study.tasks.get()
    assert found.url == url("training_task", task.pk)
    refused = client.post(found.url, {"correctness.answer": "", "correctness.explanation_en": ""})
    assert "Give the answer that is expected" in refused.text
    form = {"correctness.answer": "4", "correctness.tolerance": "1", "correctness.explanation_zh": "钟声。"}
    assert client.post(found.url, form).url == url("before_rating")
    task.refresh_from_db()
    key = task.gold_keys.get()
    assert (task.kind, key.value, key.tolerance, key.explanation) == (
        Task.Kind.TRAINING,
        4,
        1,
        {"zh-hans": "钟声。"},
    )
    missing = client.get(url("find_training_task"), {"name": "nothing"}, follow=True)
    assert "no task or item named" in missing.text
