"""Sessions that end, accounts that change and several tabs: one vote arrives, under the name of whoever gave it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from annotation.models import Assignment, Judgment
from tests.e2e import studies
from tests.e2e.votes import (
    NEXT,
    VOTES,
    answer,
    arrives,
    chip,
    cut,
    goes_on,
    is_still_here,
    question_shown,
    send_again,
    tab,
    text_study,
)
from tests.factories import PASSWORD, member

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


# ── Sessions ─────────────────────────────────────────────────────────────────


def sign_in(page, email: str = "ada@example.org") -> None:
    page.get_by_label("E-mail address").fill(email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Sign in").click()


def test_a_session_that_ended_keeps_the_vote_until_somebody_signed_in_again_in_another_tab(
    page, context, at_work
):
    context.clear_cookies()
    studies.submit(page)
    page.get_by_text("You are signed out").wait_for()
    assert is_still_here(page, at_work)
    with context.expect_page() as opened:
        page.get_by_role("link", name="Sign in (opens a new tab)").click()
    sign_in(opened.value)
    opened.value.get_by_role("heading", name="My studies").wait_for()
    opened.value.close()
    page.evaluate("dispatchEvent(new Event('focus'))")
    arrives(page, at_work)


def test_a_session_that_ended_keeps_the_vote_until_somebody_signed_in_again_in_place(
    page, context, study, at_work
):
    context.clear_cookies()
    studies.submit(page)
    page.get_by_text("You are signed out").wait_for()
    page.on("dialog", lambda dialog: dialog.accept())
    page.reload()
    sign_in(page)
    page.get_by_text("1 of 3 done", exact=True).wait_for()
    assert Judgment.objects.get().comment == "Nearly."


def test_a_vote_is_never_sent_under_another_account(page, context, signed_in, study, at_work):
    page.route(VOTES, cut)
    studies.submit(page)
    page.get_by_text("The server cannot be reached").wait_for()
    page.unroute(VOTES)
    other = member(study)
    signed_in(other)
    send_again(page)
    page.get_by_text("Another account has signed in on this browser.").wait_for()
    assert is_still_here(page, at_work)
    theirs = context.new_page()
    theirs.goto(f"/studies/{study.slug}/guidelines/")
    theirs.get_by_role("button", name="Start rating").click()
    theirs.get_by_role("heading", name="Thank you").wait_for()  # the first account holds all there is
    expect(chip(theirs)).to_have_text("1 unsaved of another account")
    assert not Judgment.objects.exists()
    theirs.close()
    signed_in(type(other).objects.get(email="ada@example.org"))
    send_again(page)
    arrives(page, at_work)
    assert Judgment.objects.get().rater.user.email == "ada@example.org"


# ── Two tabs ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("can_talk", [True, False], ids=["told at once", "told by the server"])
def test_two_tabs_with_one_task_leave_one_vote_and_one_clear_message(context, page, begin, study, can_talk):
    if not can_talk:
        context.add_init_script("delete globalThis.BroadcastChannel")
    begin(study)
    other = tab(context, study)
    other.wait_for_selector("[data-state=working]")
    question = question_shown(page)
    assert question_shown(other) == question
    answer(page, comment="Of this window.")
    answer(other, comment="Of the other window.")
    studies.submit(other)
    goes_on(other, question)
    if not can_talk:
        studies.submit(page)
    page.get_by_role("alert").get_by_text("this task").wait_for()
    page.get_by_role("button", name="Go on to the next task").click()
    arrives(page, question)
    assert Judgment.objects.get().comment == "Of the other window."
    page.get_by_text("1 of 3 done", exact=True).wait_for()


def test_two_tabs_do_not_send_one_vote_twice(page, context, study, at_work):
    taken = []  # what reached the server: the tabs try again by themselves, too, at any moment
    context.on(
        "response", lambda response: taken.append(response) if response.url.endswith("/judgment/") else None
    )
    context.route(VOTES, cut)
    studies.submit(page)
    page.get_by_text("The server cannot be reached").wait_for()
    other = tab(context, study)
    other.get_by_text("The server cannot be reached").wait_for()
    context.unroute(VOTES)
    for each in (page, other):
        each.evaluate("dispatchEvent(new Event('online'))")
    arrives(page, at_work)
    other.wait_for_selector("[data-state=working]")
    assert question_shown(other) != at_work
    assert len(taken) == 1


# ── Looking ahead ────────────────────────────────────────────────────────────


def test_the_next_tasks_are_there_before_they_are_needed_and_all_are_kept(page, signed_in):
    study = text_study(tasks=4)
    signed_in(member(study))
    with page.expect_response(lambda response: "next" in response.url and held(response) == 2):
        studies.open_work(page, study)
    assert Assignment.objects.filter(state=Assignment.State.OPEN).count() == 3
    beats = set()
    page.on("request", lambda request: beats.add(request.url) if "heartbeat" in request.url else None)
    with page.expect_response(lambda response: "heartbeat" in response.url and len(beats) == 3):
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.route(NEXT, lambda route: None)  # from now on nothing new can be had
    for done in range(2):
        question = question_shown(page)
        answer(page)
        studies.submit(page)
        arrives(page, question, n=done + 1)
        page.get_by_text(f"{done + 1} of 4 done", exact=True).wait_for()


def held(response) -> int:
    return len(response.request.post_data_json["holding"])
