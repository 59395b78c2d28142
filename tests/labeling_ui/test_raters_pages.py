"""Pages about the quality of raters: the table, one rater, the rules with their preview, and what a rater is told."""

from __future__ import annotations

import pytest
from django.urls import reverse

from analytics.raters.rules import FIGURES
from annotation.models import CheckOutcome, Rater, RaterAction, Task
from annotation.models.people import Role
from annotation.raters import actions
from labeling_ui.data.cells import figure_text
from tests.analytics.votes import vote
from tests.factories import StudyFactory, member, rating_task

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return StudyFactory(slug="s", overlap=2)


@pytest.fixture
def people(study):
    """Accounts of two raters; the second always gives 3."""
    accounts = [member(study) for _ in range(2)]
    raters = [Rater.objects.get(study=study, user=account) for account in accounts]
    for n in range(12):
        task = rating_task(study, f"task-{n:02}")
        for one, value in zip(raters, (1.0 + n % 5, 3.0), strict=True):
            vote(task, value, rater=one)
    return accounts


@pytest.fixture
def bad(people):
    return Rater.objects.get(user=people[1])


@pytest.fixture
def researcher(study, client):
    user = member(study, role=Role.RESEARCHER)
    client.force_login(user)
    return client


def rule_form(**changes):
    form = {
        "minutes": "10", "panel": "", "recollect": "on",
        "r0-key": "", "r0-title": "Always 3", "r0-action": "exclude_all", "r0-message": "Use the whole scale.",
        "r0-c0_figure": "variance", "r0-c0_side": "below", "r0-c0_value": "0.1", "r0-c0_least_n": "10",
        "r0-c1_figure": "", "r0-c2_figure": "",
    }  # fmt: skip
    return {**form, **changes}


def test_the_table_is_sorted_and_filtered_by_figures(researcher, people, bad, django_assert_max_num_queries):
    researcher.get(reverse("raters", args=["s"]))
    with django_assert_max_num_queries(40):
        page = researcher.get(reverse("raters", args=["s"]), {"sort": "-longest_run"})
    names = [row.row.name for row in page.context["rows"]]
    assert names[0] == bad.pseudonym
    assert "aria-sort" in page.content.decode()

    page = researcher.get(reverse("raters", args=["s"]), {"variance.max": "0.5"})
    assert [row.row.name for row in page.context["rows"]] == [bad.pseudonym]
    page = researcher.get(reverse("raters", args=["s"]), {"text": bad.pseudonym[-4:].lower()})
    assert [row.row.name for row in page.context["rows"]] == [bad.pseudonym]
    file = b"".join(researcher.get(reverse("data_file", args=["s", "raters"]), {"columns": "variance"}))
    assert file.decode("utf-8-sig").splitlines()[0] == "id,variance"


def test_a_bulk_action_pauses_and_is_taken_back(researcher, people, bad):
    researcher.get(reverse("raters", args=["s"]))
    change = reverse("change_data", args=["s", "raters"])
    researcher.post(change, {"action": "pause", "reason": "careless", "ids": [bad.pk], "scope": "chosen"})
    bad.refresh_from_db()
    assert bad.state == "paused"

    researcher.post(change, {"action": "reinstate", "ids": [bad.pk], "scope": "chosen"})
    bad.refresh_from_db()
    assert bad.state == "active"


def test_a_rule_is_previewed_saved_applied_and_taken_back(researcher, people, bad, study):
    preview = researcher.post(
        reverse("quality_preview", args=["s"]), rule_form(), headers={"HX-Request": "true"}
    )
    assert "Would act on <b>1 rater</b> now." in preview.content.decode()
    assert "12 judgments would be excluded." in preview.content.decode()
    assert bad.pseudonym in preview.content.decode()
    assert not RaterAction.objects.exists()

    saved = researcher.post(reverse("quality_rules", args=["s"]), rule_form(**{"r0-on": "on"}))
    assert saved.status_code == 302
    assert "Always 3" in researcher.get(reverse("quality_rules", args=["s"])).content.decode()
    from analytics.raters import quality

    quality.refresh(study.pk)
    quality.refresh(study.pk)
    action = RaterAction.objects.get()
    log = researcher.get(reverse("rater_actions", args=["s"])).content.decode()
    assert "Excluded with all judgments" in log
    assert "Always 3" in log
    assert "Variance of ratings 0.00 (of 12 ratings)" in log

    researcher.post(reverse("revert_rater_action", args=["s", bad.pseudonym, action.pk]))
    bad.refresh_from_db()
    assert (bad.state, bad.n_judgments) == ("active", 12)


def test_presets_blank_rules_and_removal_store_nothing(researcher, study):
    page = researcher.post(
        reverse("quality_rules", args=["s"]), {"minutes": "10", "panel": "", "preset": "recommended"}
    )
    assert "Fails hidden checks" in page.content.decode()
    page = researcher.post(reverse("quality_rules", args=["s"]), rule_form(add="1"))
    assert [form.prefix for form in page.context["form"].rules] == ["r0", "r1"]
    page = researcher.post(reverse("quality_rules", args=["s"]), rule_form(**{"remove-r0": "1"}))
    assert page.context["form"].rules == []
    study.refresh_from_db()
    assert "quality" not in study.rules


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("content", -7.04, "−7.0"),
        ("content", 13.2, "13"),
        ("agreement", -0.6, "−0.60"),
        ("hasty", 0.256, "26 %"),
    ],
)
def test_figures_are_written_with_a_minus_sign_in_every_unit(key, value, text):
    assert figure_text(FIGURES[key], value) == text


def test_a_simulation_offers_no_simulation_of_itself(researcher, study):
    pages = [reverse(name, args=["s"]) for name in ("quality_rules", "people")]
    assert all(reverse("simulate", args=["s"]) in researcher.get(page).text for page in pages)
    study.rules["simulation"] = {"of": "another"}
    study.save()
    assert not any(reverse("simulate", args=["s"]) in researcher.get(page).text for page in pages)


def test_prolific_refuses_a_rule_that_its_policy_forbids(researcher, study):
    page = researcher.post(
        reverse("quality_rules", args=["s"]), rule_form(panel="prolific", **{"r0-on": "on"})
    )
    assert "2 failed checks" in page.content.decode()
    study.refresh_from_db()
    assert "quality" not in study.rules


def test_the_page_of_a_rater_says_what_each_figure_means(researcher, people, bad):
    gold = vote(rating_task(bad.study, "gold"), 3.0, rater=bad)
    Task.objects.filter(pk=gold.task_id).update(kind=Task.Kind.GOLD)
    CheckOutcome.objects.create(
        judgment=gold, rater=bad, task=gold.task, kind=Task.Kind.GOLD, passed=True, score=1
    )
    page = researcher.get(reverse("rater", args=["s", bad.pseudonym])).content.decode()
    assert "95 % interval 21 % to 100 %" in page
    assert "Variance of ratings" in page
    assert "0 for always the same value." in page

    researcher.post(
        reverse("act_on_rater", args=["s", bad.pseudonym]),
        {"action": "warn", "reason": "Always 3", "message": "Use the whole scale."},
    )
    page = researcher.get(reverse("rater", args=["s", bad.pseudonym])).content.decode()
    assert "Always 3" in page


def test_a_rater_reads_what_was_done_until_they_dismiss_it(client, study, people, bad):
    actions.act(bad, "warn", actor=None, reason="secret reason", message="Use the whole scale.")
    client.force_login(people[1])

    page = client.get(reverse("guidelines", args=["s"])).content.decode()
    assert "Please take care with your answers" in page
    assert "Use the whole scale." in page
    assert "secret reason" not in page

    client.post(reverse("dismiss_notices", args=["s"]), {"next": "guidelines"})
    assert "Please take care" not in client.get(reverse("guidelines", args=["s"])).content.decode()
