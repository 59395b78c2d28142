"""A vote stays on the page until the server has said yes, and is stored once whatever happens on the way."""

from __future__ import annotations

import pytest
from playwright.sync_api import Route

from annotation.models import Assignment, Judgment
from tests.e2e import studies
from tests.factories import PASSWORD, member

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

VOTES = "**/judgment/"


@pytest.fixture
def at_work(page, signed_in):
    """A rater with a comparison answered but not sent, one more to come; the prompt on the screen."""
    study = studies.comparison_study(tasks=2)
    signed_in(member(study, email="ada@example.org"))
    studies.open_work(page, study)
    studies.answer_comparison(page, evidence="A keeps time.")
    return studies.prompt_shown(page)


def still_here(page, prompt: str) -> bool:
    answered = page.get_by_label("What did you hear?").input_value() == "A keeps time."
    return studies.prompt_shown(page) == prompt and answered and not Judgment.objects.exists()


def arrives(page, prompt: str) -> None:
    page.wait_for_function("was => document.querySelector('.given .headline').innerText !== was", arg=prompt)
    assert Judgment.objects.count() == 1


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_that_fails_does_not_advance_and_gets_the_vote_again(page, at_work, status):
    answers = iter([status])

    def fail_once(route: Route) -> None:
        code = next(answers, None)
        route.continue_() if code is None else route.fulfill(status=code, body="<h1>down</h1>")

    page.route(VOTES, fail_once)
    studies.submit(page)
    page.get_by_text("The server could not save this").wait_for()
    assert page.get_by_text("1 answer not sent yet").is_visible()
    assert still_here(page, at_work)
    page.get_by_role("button", name="Send now").click()
    arrives(page, at_work)
    assert not page.get_by_text("1 answer not sent yet").is_visible()


def test_offline_does_not_advance_and_the_vote_goes_by_itself_once_the_network_is_back(
    page, context, at_work
):
    context.set_offline(True)
    studies.submit(page)
    page.get_by_text("The server cannot be reached").wait_for()
    assert still_here(page, at_work)
    context.set_offline(False)
    arrives(page, at_work)


def test_a_vote_whose_answer_got_lost_is_stored_once(page, at_work):
    lost = iter([True])

    def lose_the_first_answer(route: Route) -> None:
        if next(lost, False):
            route.fetch()
            route.abort()
        else:
            route.continue_()

    page.route(VOTES, lose_the_first_answer)
    studies.submit(page)
    page.get_by_text("The server cannot be reached").wait_for()
    page.get_by_role("button", name="Send now").click()
    arrives(page, at_work)


def test_an_answer_changed_after_it_had_arrived_unnoticed_is_not_a_second_vote(page, at_work):
    lost = iter([True])

    def lose_the_first_answer(route: Route) -> None:
        if next(lost, False):
            route.fetch()
            route.abort()
        else:
            route.continue_()

    page.route(VOTES, lose_the_first_answer)
    studies.submit(page)
    page.get_by_role("button", name="Change my answer").click()
    page.get_by_label("What did you hear?").fill("On second thoughts, B.")
    studies.submit(page)
    page.get_by_text("had already arrived, and it stands").wait_for()
    page.get_by_role("button", name="Go on to the next task").click()
    arrives(page, at_work)
    assert Judgment.objects.get().answers.get(question__key="evidence").text == "A keeps time."


def test_a_session_that_ended_keeps_the_vote_until_somebody_signed_in_again(page, context, at_work):
    context.clear_cookies()
    studies.submit(page)
    page.get_by_text("You are signed out").wait_for()
    assert still_here(page, at_work)
    with context.expect_page() as opened:
        page.get_by_role("link", name="Sign in (opens a new tab)").click()
    form = opened.value
    form.get_by_label("E-mail address").fill("ada@example.org")
    form.get_by_label("Password").fill(PASSWORD)
    form.get_by_role("main").get_by_role("button", name="Sign in").click()
    form.get_by_role("heading", name="My studies").wait_for()
    form.close()
    page.get_by_role("button", name="Send now").click()
    arrives(page, at_work)


def test_a_refused_answer_marks_its_question_and_stays(page, at_work):
    errors = [{"field": "answers[1].choice", "message": "Choose one of A, B."}]
    problem = {"title": "invalid", "status": 400, "detail": "This answer is not complete.", "errors": errors}
    page.route(VOTES, lambda route: route.fulfill(status=400, json=problem))
    studies.submit(page)
    music = page.get_by_role("radiogroup", name="Which is better music?")
    music.get_by_text("Choose one of A, B.").wait_for()
    assert still_here(page, at_work)
    page.unroute(VOTES)
    studies.submit(page)
    arrives(page, at_work)


def test_a_task_answered_in_another_window_says_so_and_leads_on(page, context, at_work):
    other = context.new_page()
    other.goto(page.url)
    other.wait_for_selector("[data-state=working]")
    assert studies.prompt_shown(other) == at_work
    studies.answer_comparison(other, evidence="From the other window.")
    studies.submit(other)
    other.wait_for_function(
        "was => document.querySelector('.given .headline').innerText !== was", arg=at_work
    )
    studies.submit(page)
    page.get_by_text("already").wait_for()
    page.get_by_role("button", name="Go on to the next task").click()
    arrives(page, at_work)


def test_a_reload_loses_nothing(page, at_work):
    page.on("dialog", lambda dialog: dialog.accept())
    page.reload()
    page.wait_for_selector("[data-state=working]")
    assert still_here(page, at_work)
    assert page.get_by_role("radiogroup", name="How sure are you?").get_by_label("Quite").is_checked()
    studies.submit(page)
    arrives(page, at_work)


def test_leaving_with_an_unsent_answer_warns(page, at_work):
    kinds = []
    page.on("dialog", lambda dialog: kinds.append(dialog.type) or dialog.accept())
    page.get_by_role("link", name="Concord: my studies").click()
    page.get_by_role("heading", name="My studies").wait_for()
    assert kinds == ["beforeunload"]


def test_a_vote_after_its_time_ran_out_is_still_taken(page, at_work):
    Assignment.objects.update(expires_at="2020-01-01T00:00:00Z")
    studies.submit(page)
    arrives(page, at_work)
