"""The queue's page: who sees it, what is on it, and what is not."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.models import Item, Job, ReviewCase, SavedView
from annotation.models.people import Role
from annotation.review import cases, queue
from tests.annotation.importing.reviewing import case, vote
from tests.factories import StudyFactory, UserFactory, member, rater, rating_task

pytestmark = pytest.mark.django_db


@pytest.fixture
def expert(study):
    return member(study, Role.EXPERT, name="Eva Expert")


@pytest.fixture
def flagged(study) -> ReviewCase:
    task = rating_task(study, "bird-1", question="What sings at dawn?")
    Item.objects.update(strata={"category": "birds"})
    vote(task, 2, rater=rater(study), codes=("Q",), comment="recorded twice")
    return case(task, rules=("codes", "disagreement"), priority=2.0)


def page_of(client, user, **query) -> str:
    client.force_login(user)
    return client.get(reverse("review_queue", args=["s"]), query).text


def post(client, user, page, *args, **data):
    client.force_login(user)
    return client.post(reverse(page, args=["s", *args]), data, follow=True)


def test_experts_and_those_who_run_the_study_see_it_and_nobody_else(client, study, expert, researcher):
    path = reverse("review_queue", args=["s"])
    statuses = []
    for user in (expert, researcher, member(study), UserFactory()):
        client.force_login(user)
        statuses.append(client.get(path).status_code)
    assert statuses == [200, 200, 403, 404]


def test_a_case_shows_its_item_and_its_rules_and_nothing_of_the_votes(client, flagged, expert):
    page = page_of(client, expert)
    for words in ("bird-1", "What sings at dawn?", "Feedback codes", "Disagreement", "category: birds"):
        assert words in page
    for words in ("recorded twice", "system-1", "says: a bell"):
        assert words not in page
    assert reverse("desk", args=[flagged.pk]) in page


def test_those_who_run_the_study_are_led_to_the_history_and_not_to_the_desk(client, flagged, researcher):
    page = page_of(client, researcher)
    assert reverse("item_history", args=["s", flagged.item_id]) in page
    assert reverse("desk", args=[flagged.pk]) not in page
    assert "Review next" not in page


def test_filters_say_what_is_shown(client, flagged, expert):
    assert "bird-1" in page_of(client, expert, rule="codes", text="dawn", **{"strata.category": "birds"})
    assert "No case matches the filter" in page_of(client, expert, rule="audit")
    assert "No case matches" in page_of(client, expert, text="dusk")


def test_a_filter_that_makes_no_sense_is_said_and_the_queue_shown_as_it_is(client, flagged, expert):
    page = page_of(client, expert, rule="astrology")
    assert "bird-1" in page
    assert "problem" in page


def test_the_next_case_is_claimed_and_opened(client, flagged, expert):
    client.force_login(expert)
    answer = client.post(reverse("review_next", args=["s"]), {"rule": "codes"})
    assert answer.url == reverse("desk", args=[flagged.pk]) + "?from=rule%3Dcodes"
    flagged.refresh_from_db()
    assert flagged.claimed_by == expert


def test_the_next_case_is_one_that_the_filters_let_through(client, flagged, expert):
    answer = post(client, expert, "review_next", rule="audit")
    assert "No case is left" in answer.text
    assert ReviewCase.objects.get().state == "open"


def test_a_long_queue_comes_page_by_page(client, flagged, expert, monkeypatch):
    for number in range(3):
        case(rating_task(flagged.study, f"later-{number}"))
    monkeypatch.setattr(queue.queue_page, "__kwdefaults__", {"after": None, "limit": 2})
    first = page_of(client, expert)
    assert [name in first for name in ("bird-1", "later-0", "later-1")] == [True, True, False]
    last = ReviewCase.objects.get(item__external_id="later-0")
    second = page_of(client, expert, after=last.pk)
    assert [name in second for name in ("later-0<", "later-1", "later-2")] == [False, True, True]


def test_a_view_is_saved_shown_as_a_tab_and_removed(client, flagged, expert, researcher):
    post(client, expert, "save_view", name="Birds", shared="on", rule="codes")
    view = SavedView.objects.get()
    assert (view.owner, view.shared, view.filters["rule"]) == (expert, True, "codes")
    assert "Birds" in page_of(client, researcher)
    assert post(client, member(flagged.study, Role.EXPERT), "delete_view", view.pk).status_code == 404
    post(client, researcher, "delete_view", view.pk)
    assert not SavedView.objects.exists()


def test_a_view_without_a_name_is_refused_in_words(client, flagged, expert):
    assert "A view needs a name" in post(client, expert, "save_view", name="", rule="codes").text
    assert not SavedView.objects.exists()


def test_chosen_cases_are_given_to_an_expert_and_taken_back(client, flagged, expert, researcher):
    page = post(client, researcher, "assign_cases", cases=[flagged.pk], expert=expert.email).text
    assert "1 case is assigned." in page
    assert "Assigned to Eva Expert" in page
    assert "bird-1" in page_of(client, expert, assigned="me")
    post(client, researcher, "assign_cases", cases=[flagged.pk], expert="nobody")
    assert ReviewCase.objects.get().assigned_to is None


def test_to_give_nothing_or_to_somebody_else_changes_nothing(client, flagged, expert, researcher):
    assert "Choose some cases first" in post(client, researcher, "assign_cases", expert=expert.email).text
    post(client, researcher, "assign_cases", cases=[flagged.pk], expert="stranger@example.org")
    assert ReviewCase.objects.get().assigned_to is None


@pytest.mark.parametrize(
    ("flags", "role", "said"),
    [
        ({}, Role.EXPERT, "The rules have not looked yet"),
        ({}, Role.RESEARCHER, "Run the flag rules now"),
        ({}, Role.RESEARCHER, "Preview the flag rules"),
        ("off", Role.EXPERT, "A researcher of this study chooses them"),
        ("off", Role.RESEARCHER, "Choose rules"),
    ],
)
def test_an_empty_queue_says_what_to_do(client, study, flags, role, said):
    if flags == "off":
        keys = ("codes", "disagreement", "low_confidence", "failed_gold")
        study.rules = {"review": {"flags": {key: {"on": False} for key in keys}}}
        study.save(update_fields=["rules"])
    assert said in page_of(client, member(study, role))


@pytest.mark.parametrize(
    ("state", "said"), [("queued", "The rules are looking now"), ("done", "Nothing is flagged")]
)
def test_an_empty_queue_says_whether_the_rules_have_looked(client, study, state, said):
    Job.objects.create(kind="flag", study=study, state=state)
    assert said in page_of(client, member(study, Role.EXPERT))


def test_a_queue_that_was_worked_off_says_so(client, flagged, expert):
    ReviewCase.objects.update(state="resolved", decision="fine")
    assert "All done" in page_of(client, expert)
    assert "Fine as it is" in page_of(client, expert, state="resolved")


def test_a_case_that_its_expert_left_open_is_led_back_to(client, flagged, expert, researcher):
    cases.claim(expert, flagged.pk)
    page = page_of(client, expert)
    assert "Continue bird-1" in page
    assert reverse("desk", args=[flagged.pk]) in page
    assert "All done" not in page
    assert "Continue bird-1" not in page_of(client, member(flagged.study, Role.EXPERT))
    assert post(client, expert, "review_next").redirect_chain == [(reverse("desk", args=[flagged.pk]), 302)]


def test_its_queries_do_not_grow_with_the_queue(client, flagged, expert, django_assert_num_queries):
    for number in range(4):
        case(rating_task(flagged.study, f"later-{number}"))
    client.force_login(expert)
    # The account, its membership, the filters' values (2), the page, the counts, the saved views, what one is at.
    with django_assert_num_queries(10):
        client.get(reverse("review_queue", args=["s"]))


def test_the_way_there_is_on_the_pages_before(client, flagged, expert, researcher):
    for user in (expert, researcher):
        client.force_login(user)
        home = client.get(reverse("home")).text
        assert reverse("review_queue", args=["s"]) in home
        assert "1 open" in home
    assert reverse("review_queue", args=["s"]) in client.get(reverse("study", args=["s"])).text


def test_a_study_of_another_slug_has_its_own_queue(client, flagged):
    other = StudyFactory(slug="other")
    client.force_login(member(other, Role.EXPERT))
    assert "bird-1" not in client.get(reverse("review_queue", args=["other"])).text
