"""Going back to an answer and changing it, while the study lets its rater."""

from __future__ import annotations

import pytest

from annotation.models import Answer, Judgment, Return, Study
from tests.e2e import studies
from tests.e2e.test_accessibility import check
from tests.e2e.votes import NEXT, VOTES, answer, goes_on, is_still_here, problem, question_shown, text_study
from tests.factories import NOTHING_TO_HEAR, member, rating_task

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

BANNER = "You are changing your answer."


@pytest.fixture
def at_second(page, begin, study):
    """A rater who has answered one task and begun the next; both questions."""
    begin(study)
    first = question_shown(page)
    answer(page, comment="Of the first.")
    studies.submit(page)
    goes_on(page, first)
    answer(page, comment="Of the second.")
    return first, question_shown(page)


def standing() -> list[tuple[int, float, str]]:
    rows = Judgment.objects.filter(effective=True).order_by("pk")
    return [(j.revision, Answer.objects.get(judgment=j).value, j.comment) for j in rows]


def test_an_answer_is_changed_and_the_task_at_hand_is_as_it_was(page, at_second):
    first, second = at_second
    page.get_by_role("button", name="Previous").click()
    page.get_by_text(BANNER).first.wait_for()
    assert is_still_here(page, first, comment="Of the first.")
    page.get_by_label("Not correct").check(force=True)
    page.get_by_label("Comment").fill("Changed.")
    page.get_by_role("button", name="Save change").click()
    page.get_by_text("Your change is saved.").wait_for()
    assert is_still_here(page, second, comment="Of the second.")
    assert standing() == [(2, 1, "Changed.")]
    page.get_by_text("1 of 3 done", exact=True).wait_for()
    studies.submit(page)
    goes_on(page, second)
    assert [comment for _, _, comment in standing()] == ["Changed.", "Of the second."]


def test_an_answer_is_looked_at_again_by_key_and_left_as_it_was(page, at_second):
    first, second = at_second
    page.route(VOTES, problem(500, "server_error"))
    page.get_by_role("button", name="Previous").click()
    page.get_by_text("Your earlier answer could not be fetched").wait_for()
    assert is_still_here(page, second, comment="Of the second.")
    page.unroute(VOTES)
    page.keyboard.press("Escape")
    page.keyboard.press("z")
    page.get_by_role("button", name="Leave as it was").wait_for()
    check(page)
    page.get_by_label("Comment").fill("Thrown away.")
    page.get_by_role("button", name="Leave as it was").click()
    assert is_still_here(page, second, comment="Of the second.")
    page.get_by_role("button", name="Previous").click()
    page.get_by_role("button", name="Leave as it was").wait_for()
    assert is_still_here(page, first, comment="Of the first.")
    page.get_by_role("button", name="Save change").click()
    page.get_by_text("Nothing was changed: your answer stays as it was.").wait_for()
    assert is_still_here(page, second, comment="Of the second.")
    assert Judgment.objects.count() == 1


def test_a_change_is_as_safe_as_a_vote(page, context, study, at_second):
    page.get_by_role("button", name="Previous").click()
    page.get_by_role("button", name="Save change").wait_for()
    page.get_by_label("Comment").fill("Changed.")
    page.route("**/revisions/", lambda route: route.abort())
    page.get_by_role("button", name="Save change").click()
    page.get_by_text("The server cannot be reached").wait_for()
    assert page.get_by_text(BANNER).first.is_visible()
    page.close()
    again = context.new_page()
    again.goto(f"/studies/{study.slug}/work/")
    again.wait_for_selector("[data-state=working]")
    assert standing() == [(2, 4, "Changed.")]


def test_a_change_that_comes_too_late_says_so_and_leads_back(page, at_second):
    _, second = at_second
    page.get_by_role("button", name="Previous").click()
    page.get_by_role("button", name="Save change").wait_for()
    page.get_by_label("Comment").fill("Changed.")
    Study.objects.update(rules={**Study.objects.get().rules, "listening": {"change_minutes": 0}})
    page.get_by_role("button", name="Save change").click()
    page.get_by_text("The time to change this answer is over.").wait_for()
    page.get_by_role("button", name="Go on to the next task").click()
    assert is_still_here(page, second, comment="Of the second.")
    assert standing() == [(1, 4, "Of the first.")]


def test_the_last_answer_can_be_changed_at_the_end(page, begin):
    begin(text_study(tasks=1))
    answer(page)
    studies.finish(page)
    page.get_by_role("button", name="Change my last answer").click()
    page.get_by_label("Comment").fill("Changed.")
    page.get_by_role("button", name="Save change").click()
    page.get_by_role("heading", name="Thank you").wait_for()
    assert standing() == [(2, 4, "Changed.")]


def test_an_answer_fetched_too_late_is_not_put_beside_the_next_task(page, begin):
    study = begin(text_study(tasks=1))
    answer(page)
    studies.finish(page)
    rating_task(study, "late", question="One more?")
    held: list = []
    for what in (VOTES, NEXT):
        page.route(what, lambda route: held.append(route))
    page.get_by_role("button", name="Change my last answer").click()
    with page.expect_request(NEXT):
        page.get_by_role("button", name="Check for new tasks").click()
    vote, following = held
    with page.expect_response(VOTES):
        vote.continue_()
    following.continue_()
    page.get_by_text("One more?").first.wait_for()
    assert page.get_by_label("Almost correct").count() == 1
    assert page.get_by_text(BANNER).first.is_hidden()


def test_what_was_heard_for_a_vote_is_not_asked_for_again_nor_forgotten_of_the_task_at_hand(page, begin):
    study = studies.comparison_study(tasks=2)
    rules = {**NOTHING_TO_HEAR["listening"], "short_seconds": 1}
    Study.objects.update(rules={"listening": rules})
    begin(study)
    hear(page, "a", "b")
    first = question_shown(page)
    studies.answer_comparison(page, evidence="Of the first.")
    studies.submit(page)
    goes_on(page, first)
    hear(page, "a")
    page.get_by_role("button", name="Previous").click()
    page.get_by_role("button", name="Save change").wait_for()
    assert page.locator(".listen-meter").count() == 0
    page.get_by_label("What did you hear?").fill("Changed.")
    page.get_by_role("button", name="Save change").click()
    page.get_by_text("Your change is saved.").wait_for()
    hear(page, "b")
    page.locator("[data-clip=a] .listen-meter").get_by_text("heard enough").wait_for()
    before, now = Judgment.objects.order_by("revision")
    assert Answer.objects.get(judgment=now, question__key="evidence").text == "Changed."
    assert (now.gains, now.presentation) == (before.gains, before.presentation)
    assert set(now.telemetry["heard"]) == {"a", "b"}


def hear(page, *names: str) -> None:
    for name in names:
        page.get_by_role("button", name=f"Play {name.upper()}", exact=True).click()
        page.locator(f"[data-clip={name}] .listen-meter").get_by_text("heard enough").wait_for()
    page.keyboard.press("Space")


def test_what_an_expert_returned_is_opened_from_its_list_and_changed(page, signed_in):
    study = studies.rating_study(tasks=2)
    user = member(study)
    studies.returned_answer(study, user)
    signed_in(user)
    page.goto("/")
    page.get_by_role("link", name="An expert asks you to look again (1)").click()
    page.get_by_text("Is it really a bell?").wait_for()
    page.get_by_role("link", name="Look again").click()
    page.get_by_text(BANNER).first.wait_for()
    assert "again" not in page.url
    assert page.get_by_label("Comment").input_value() == "Too quiet to tell."
    page.get_by_label("Almost correct").check(force=True)
    page.get_by_role("button", name="Save change").click()
    page.get_by_text("There are no more requests for you.").wait_for()
    assert Return.objects.get().state == "changed"
