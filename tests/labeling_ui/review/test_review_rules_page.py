"""The page where rules are chosen: what is stored, what it would find, and what is wrong beside its field."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.jobs import jobs
from annotation.models import Job, ReviewCase, Study
from annotation.review.flag_rules import KINDS, FlagRules
from annotation.review.rules import ReviewSettings
from labeling_ui.review.forms import ReviewRulesForm
from tests.annotation.importing.reviewing import votes
from tests.factories import rater, rating_task

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(client, study, researcher):
    client.force_login(researcher)
    votes(rating_task(study, "far-apart"), 1, 5)
    votes(rating_task(study, "a-code"), 3, codes=("Q",), rater=rater(study))

    def open_page(name: str = "review_rules", *, part: bool = False, **changed):
        path = reverse(name, args=["s"])
        if not changed and name == "review_rules":
            return client.get(path)
        headers = {"HX-Request": "true"} if part else {}
        return client.post(path, {**as_stored(study), **changed}, headers=headers)

    return open_page


def as_stored(study: Study) -> dict[str, object]:
    """What a browser sends back of a page on which nothing was changed."""
    form = ReviewRulesForm(None, study=study, choices={"codes": [("Q", "Q")], "scorer": [], "question": []})
    return {name: value for name in form.fields if (value := form[name].value()) not in (None, False)}


def test_every_rule_is_explained(page):
    text = page().text
    assert [key for key, kind in KINDS.items() if f">{kind.title}<" not in text] == []


def test_nothing_changes_by_saving_what_was_shown(page, study):
    page(undo_minutes="10")
    stored = Study.objects.get().rules
    assert FlagRules.of(stored) == FlagRules.of(study.rules)
    assert ReviewSettings.of(stored) == ReviewSettings()


def test_rules_and_settings_are_saved_together_and_shares_are_said_in_per_cent(page):
    changed = {"flags.audit.on": "on", "flags.audit.share": "5", "flags.codes.codes": ["Q"]}
    page(same_raters="on", claim_minutes="45", **changed)
    rules = Study.objects.get().rules
    assert FlagRules.of(rules)["audit"]["share"] == 0.05
    assert FlagRules.of(rules)["codes"]["codes"] == ("Q",)
    assert ReviewSettings.of(rules) == ReviewSettings(same_raters=True, claim_minutes=45)


def test_a_rule_is_switched_off_by_leaving_its_box_empty(page):
    page(**{"flags.codes.on": ""})
    assert not FlagRules.of(Study.objects.get().rules)["codes"].on


@pytest.mark.parametrize(
    ("field", "value"),
    [("flags.disagreement.variance", "90"), ("flags.audit.share", "101"), ("claim_minutes", "1")],
)
def test_what_cannot_be_is_said_beside_its_field_and_changes_nothing(page, study, field, value):
    answer = page(**{field: value, "same_raters": "on"})
    assert "nothing was saved" in answer.text
    assert f'id="review_{field}_error"' in answer.text
    assert Study.objects.get().rules == study.rules


def test_the_preview_counts_by_what_is_in_the_form_and_saves_nothing(page, study):
    before = page("rules_preview", part=True, undo_minutes="10").text
    assert before.count("<b>1 item</b>, 1 of them new") == 2
    assert "far-apart" in before
    changed = page("rules_preview", part=True, **{"flags.disagreement.variance": "8"}).text
    assert changed.count("<b>1 item</b>") == 1
    assert Study.objects.get().rules == study.rules
    assert not ReviewCase.objects.exists()


def test_without_scripts_the_preview_is_the_page_with_counts(page):
    answer = page("rules_preview", undo_minutes="10").text
    assert "<html" in answer
    assert "<b>1 item</b>" in answer


def test_a_preview_of_what_cannot_be_asks_to_mend_it(page):
    assert "Correct the marked fields" in page("rules_preview", part=True, claim_minutes="1").text


def test_saving_and_looking_shows_the_job_and_then_what_it_found(page, client, monkeypatch):
    monkeypatch.setattr(jobs, "_send_message", lambda job_id: None)
    answer = page(apply="1", undo_minutes="5")
    job = Job.objects.get(kind="flag")
    assert answer.url == reverse("job", args=[job.pk])
    assert ReviewSettings.of(Study.objects.get().rules).undo_minutes == 5
    jobs.run(job.pk)
    text = client.get(answer.url).text
    assert "Search for items to review" in text
    assert "New cases" in text
    assert reverse("review_queue", args=["s"]) in text
    assert ReviewCase.objects.count() == 2
