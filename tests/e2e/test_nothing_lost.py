"""A vote stays on the page until the server has said yes, and is stored once whatever happens on the way."""

from __future__ import annotations

import pytest
from playwright.sync_api import Route, expect

from annotation.models import Assignment, Judgment
from annotation.rating import leases
from tests.e2e import studies
from tests.e2e.test_accessibility import check
from tests.e2e.votes import (
    VOTES,
    answer,
    arrives,
    chip,
    cut,
    goes_on,
    is_still_here,
    page_of,
    problem,
    question_shown,
    send_again,
    tab,
)

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# What may come back instead of a yes, and what the page then says.
NO_YES = {
    "signed out": (problem(401, "not_authenticated"), "You are signed out"),
    "token replaced": (problem(403, "permission_denied"), "You are signed out"),
    "refused by a proxy": (page_of(403), "could not save this"),
    "too large for a proxy": (page_of(413), "could not save this"),
    "not found by a proxy": (page_of(404), "could not save this"),
    "too many": (problem(429, "throttled"), "could not save this"),
    "broken": (page_of(500), "could not save this"),
    "overloaded": (page_of(503), "could not save this"),
    "a captive portal": (page_of(200), "could not save this"),
    "an empty yes": (page_of(200, ""), "could not save this"),
    "a yes to something else": (
        lambda route: route.fulfill(status=200, json={"client_id": "other"}),
        "not save this",
    ),
    "a yes without a word": (lambda route: route.fulfill(status=204), "could not save this"),
    "a sign-in page": (page_of(302, Location="/accounts/login/"), "asks for a sign-in"),
    "time-out": (lambda route: route.abort("timedout"), "cannot be reached"),
    "no connection": (cut, "cannot be reached"),
}


def test_nothing_but_a_yes_lets_the_page_go_on(page, at_work):
    """All faults in a row, each to the next try of the same vote."""
    faults = iter(NO_YES.values())
    fault: list = []

    def meet_the_next(route: Route) -> None:
        fault[:] = next(faults, [None])
        route.continue_() if fault[0] is None else fault[0](route)

    page.route(VOTES, meet_the_next)
    studies.submit(page)
    for name, (_, said) in NO_YES.items():
        page.get_by_role("alert").get_by_text(said).wait_for()
        assert is_still_here(page, at_work), name
        assert not Judgment.objects.exists(), name
        expect(chip(page)).to_have_text("1 unsaved")
        page.evaluate("document.querySelector('[data-part=notice]').replaceChildren()")
        page.evaluate("dispatchEvent(new Event('online'))")
    arrives(page, at_work)
    expect(chip(page)).to_have_count(0)


def test_a_refusal_stays_on_the_page_until_it_is_mended(page, at_work):
    errors = [{"field": "answers[0].value", "message": "6 is not on the scale."}]
    refusal = {"title": "invalid", "status": 400, "detail": "Not complete.", "errors": errors}
    page.route(VOTES, lambda route: route.fulfill(status=400, json=refusal))
    studies.submit(page)
    page.get_by_role("radiogroup").get_by_text("6 is not on the scale.").wait_for()
    assert is_still_here(page, at_work)
    page.unroute(VOTES)
    studies.submit(page)
    arrives(page, at_work)


def test_a_server_that_asks_for_a_while_is_left_alone_for_it(page, at_work):
    tries = []

    def be_busy(route: Route) -> None:
        tries.append(True)
        problem(429, "throttled", **{"Retry-After": "90"})(route)

    page.route(VOTES, be_busy)
    studies.submit(page)
    page.get_by_text("Next try in 90 s.").wait_for()
    for event in ("online", "focus"):
        page.evaluate("name => dispatchEvent(new Event(name))", event)
    assert len(tries) == 1
    page.unroute(VOTES)
    send_again(page)
    arrives(page, at_work)


def test_offline_it_says_what_waits_and_the_vote_goes_by_itself_once_the_network_is_back(
    page, context, at_work
):
    context.set_offline(True)
    studies.submit(page)
    page.get_by_text("The server cannot be reached").wait_for()
    assert is_still_here(page, at_work)
    chip(page).click()
    dialog = page.get_by_role("dialog", name="Not saved yet")
    expect(dialog.get_by_role("listitem")).to_contain_text("The server cannot be reached")
    check(page)
    dialog.get_by_role("button", name="Send now").click()
    assert is_still_here(page, at_work)
    dialog.get_by_role("button", name="Close").click()
    context.set_offline(False)
    arrives(page, at_work)


def lose_the_first_answer(page) -> None:
    lost = iter([True])

    def lose(route: Route) -> None:
        if next(lost, False):
            route.fetch()
            route.abort()
        else:
            route.continue_()

    page.route(VOTES, lose)


def test_a_vote_whose_answer_got_lost_is_stored_once(page, at_work):
    lose_the_first_answer(page)
    studies.submit(page)
    page.get_by_text("The server cannot be reached").wait_for()
    send_again(page)
    arrives(page, at_work)


def test_an_answer_changed_after_it_had_arrived_unnoticed_is_not_a_second_vote(page, at_work):
    lose_the_first_answer(page)
    studies.submit(page)
    page.get_by_role("button", name="Change my answer").click()
    page.get_by_label("Comment").fill("On second thoughts.")
    studies.submit(page)
    page.get_by_text("had already arrived, and it stands").wait_for()
    page.get_by_role("button", name="Go on to the next task").click()
    arrives(page, at_work)
    assert Judgment.objects.get().comment == "Nearly."


def test_a_vote_after_its_time_ran_out_is_still_taken(page, at_work):
    Assignment.objects.update(expires_at="2020-01-01T00:00:00Z")
    studies.submit(page)
    arrives(page, at_work)
    assert Judgment.objects.filter(effective=True).count() == 1


# ── Pages that end ───────────────────────────────────────────────────────────


@pytest.fixture
def given_back_elsewhere(page, at_work):
    """The rater has given the task back in another tab, and this one has heard of it; the question it still shows."""
    shown = Assignment.objects.select_related("rater__user").earliest("leased_at")
    leases.give_back(shown.rater.user, shown.pk)
    beat(page)
    page.get_by_text("The time for this task has run out").wait_for()
    return at_work


def beat(page) -> None:
    with page.expect_response("**/heartbeat/"):
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def test_a_vote_for_a_task_given_back_in_another_tab_is_still_taken(page, given_back_elsewhere):
    studies.submit(page)
    arrives(page, given_back_elsewhere)
    assert not Judgment.objects.get().surplus


def test_that_the_time_is_over_is_said_once(page, given_back_elsewhere):
    page.route(VOTES, problem(400, "invalid"))
    studies.submit(page)
    page.get_by_text("The server did not accept this answer").wait_for()
    beat(page)
    beat(page)
    assert page.get_by_text("The server did not accept this answer").is_visible()


def test_a_task_whose_time_is_over_can_be_skipped_all_the_same(page, given_back_elsewhere):
    page.get_by_role("button", name="Skip…").click()
    page.get_by_role("dialog").get_by_role("radio").first.check(force=True)
    with page.expect_response(lambda response: "/skip/" in response.url and response.status == 409):
        page.get_by_role("dialog").get_by_role("button", name="Skip this task").click()
    page.get_by_role("dialog").wait_for(state="hidden")
    goes_on(page, given_back_elsewhere)


def test_a_reload_loses_nothing_that_was_begun(page, at_work):
    page.on("dialog", lambda dialog: dialog.accept())
    page.reload()
    page.wait_for_selector("[data-state=working]")
    assert is_still_here(page, at_work)
    studies.submit(page)
    arrives(page, at_work)


def test_a_tab_killed_with_an_unsent_vote_sends_it_once_when_it_opens_again(page, context, study, at_work):
    page.route(VOTES, cut)
    studies.submit(page)
    page.get_by_text("The server cannot be reached").wait_for()
    page.close()  # as a crash: nothing on the page is asked or told
    again = context.new_page()
    order = []
    again.on("request", lambda request: order.append(request.url.rsplit("/", 2)[-2]))
    again.goto(f"/studies/{study.slug}/work/")
    again.get_by_text("1 of 3 done", exact=True).wait_for()
    again.wait_for_selector("[data-state=working]")
    assert question_shown(again) != at_work
    assert order.index("judgment") < order.index("next"), "what was left goes before anything new is fetched"
    judgment = Judgment.objects.get()
    assert (judgment.comment, [a.value for a in judgment.answers.all()]) == ("Nearly.", [4])
    assert order.count("judgment") == 1


def test_a_vote_left_behind_that_cannot_be_sent_is_waited_for(page, context, study, at_work):
    context.route(VOTES, cut)
    studies.submit(page)
    page.get_by_text("The server cannot be reached").wait_for()
    page.close()
    again = tab(context, study)
    again.get_by_text("The server cannot be reached").wait_for()
    expect(chip(again)).to_have_text("1 unsaved")
    context.unroute(VOTES)
    again.get_by_role("button", name="Try again").click()
    again.wait_for_selector("[data-state=working]")
    assert Judgment.objects.count() == 1


def test_a_vote_left_behind_that_is_refused_waits_until_its_rater_has_read_why(page, context, study, at_work):
    page.route(VOTES, cut)
    studies.submit(page)
    page.get_by_text("The server cannot be reached").wait_for()
    page.close()
    held = Assignment.objects.filter(state=Assignment.State.OPEN).values_list("pk", flat=True)
    leases.release(list(held), state=Assignment.State.SKIPPED)
    again = tab(context, study)
    chip(again).click()
    expect(again.get_by_role("listitem")).to_contain_text("You skipped this task")
    again.get_by_role("button", name="Understood").click()
    expect(again.get_by_role("listitem")).to_have_text("All your answers are saved.")
    expect(chip(again)).to_have_count(0)


def test_leaving_with_an_unsent_answer_warns(page, at_work):
    kinds = []
    page.on("dialog", lambda dialog: kinds.append(dialog.type) or dialog.accept())
    page.get_by_role("link", name="Concord: my studies").click()
    page.get_by_role("heading", name="My studies").wait_for()
    assert kinds == ["beforeunload"]


def test_a_browser_that_keeps_nothing_says_so_and_votes_go_all_the_same(page, begin, study):
    page.add_init_script("indexedDB.open = () => { throw new DOMException('no', 'SecurityError'); }")
    begin(study)
    page.get_by_text("This browser stores nothing for this site.").wait_for()
    answer(page)
    question = question_shown(page)
    studies.submit(page)
    arrives(page, question)
