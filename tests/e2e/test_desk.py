"""The review desk by keyboard alone: from the queue through both stages, and back by undo."""

from __future__ import annotations

import os

import pytest
from playwright.sync_api import Page, expect

from annotation.models import CaseEvent, Correction, Draft, Judgment, Return, ReviewCase
from annotation.review import adjudication, drafts
from tests.e2e.studies import tone
from tests.e2e.test_accessibility import check
from tests.labeling_ui.cases import Flagged, flagged, judged

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SHOTS = os.environ.get("CONCORD_SHOTS", "")


def shot(page: Page, name: str) -> None:
    if SHOTS:
        page.wait_for_timeout(300)
        page.screenshot(path=f"{SHOTS}/{name}.png", full_page="full" in name)


def propose(case: ReviewCase, field: str, text: str) -> Draft:
    draft = drafts.request_draft(case, field=field, writer="Rewriter", actor=None)
    drafts.store_proposal(draft.pk, text=text, provenance={"model": "tiny-writer-7b", "prompt": "rewrite-1"})
    return draft


def judge_blind(page: Page) -> None:
    page.wait_for_selector("[data-module=blind][data-state=working]")
    page.keyboard.press("4")
    page.keyboard.press("Control+Enter")
    ready(page)


def ready(page: Page) -> None:
    """The desk takes keys once it names them."""
    page.wait_for_selector("[data-do=correct] kbd:not(:empty)", state="attached")


def decide(page: Page, key: str) -> None:
    """Press the key, and wait until the next page is there."""
    with page.expect_navigation(url="**/review-cases/**"):
        page.keyboard.press(key)


def judge_with_a_reload_between(page: Page) -> None:
    """An answer begun is there again; nothing of the votes is before the judgment, and all of it after."""
    page.wait_for_selector("[data-module=blind][data-state=working]")
    assert "pangolin" not in page.content()
    page.keyboard.press("4")
    page.reload()
    page.wait_for_selector("[data-module=blind][data-state=working]")
    assert page.get_by_label("Almost correct").is_checked()
    shot(page, "blind")
    page.keyboard.press("Control+Enter")
    ready(page)
    assert page.get_by_text("pangolin").count() == 2


def work_through_drafts(page: Page) -> None:
    """The clip plays; drafts are accepted, edited, rejected; what is typed outlives a reload."""
    page.get_by_role("button", name="Play Recording").wait_for()
    page.keyboard.press("p")
    page.get_by_role("button", name="Pause Recording").wait_for()
    page.keyboard.press("p")
    page.keyboard.press("1")
    page.keyboard.press("a")
    expect(page.locator("[data-field=question] ins")).to_have_text("[new: Which bell]")
    page.keyboard.press("2")
    page.keyboard.press("x")
    expect(page.locator("[data-field=reference] [data-draft]")).to_contain_text("Rejected")
    page.keyboard.press("3")
    page.keyboard.press("e")
    page.keyboard.type(" It fades. ancfwrxu?")  # letters that are keys elsewhere
    shot(page, "desk")
    page.on("dialog", lambda dialog: dialog.accept())
    page.reload()
    ready(page)
    rationale = page.get_by_role("textbox", name="As it should be").nth(2)
    expect(rationale).to_have_value("A hand bell rings twice. It fades. ancfwrxu?")
    rationale.focus()
    page.keyboard.press("Control+Enter")
    page.get_by_text("Say why it is corrected.").wait_for()
    page.keyboard.type("Wor")  # the reason's list has the focus
    decide(page, "Control+Enter")


def return_to_a_rater(page: Page) -> None:
    judge_blind(page)
    page.keyboard.press("r")
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.get_by_label("What should they look at?").focus()
    page.keyboard.type("Listen to the end, please.")
    with page.expect_navigation(url="**/review/**"):
        page.keyboard.press("Control+Enter")


def test_twenty_keys_take_an_expert_through_the_queue_and_back(page, signed_in):
    one = flagged(clip=tone("bell", hertz=500))
    two, three = flagged(name="clip-8"), flagged(name="clip-9")
    ReviewCase.objects.filter(pk=one.case.pk).update(priority=9)
    ReviewCase.objects.filter(pk=two.case.pk).update(priority=8)
    accepted = propose(one.case, "question", "Which bell is heard in clip-7?")
    edited = propose(one.case, "rationale", "A hand bell rings twice.")
    unwanted = propose(one.case, "reference", "A gong.")
    signed_in(one.expert)
    page.goto(f"/studies/{one.study.slug}/review/")
    page.locator("#review-next").press("Enter")

    judge_with_a_reload_between(page)
    work_through_drafts(page)
    made = {row.field: row for row in Correction.objects.all()}
    assert made["question"].origin == "draft"
    assert made["rationale"].origin == "edited"
    assert [Draft.objects.get(pk=d.pk).state for d in (accepted, edited, unwanted)] == [
        "accepted",
        "edited",
        "rejected",
    ]

    # The next case: fine as it is; then one that goes back to a rater.
    assert page.get_by_text("clip-7 corrected: Question, Rationale.").is_visible()
    judge_blind(page)
    decide(page, "f")
    return_to_a_rater(page)
    assert Return.objects.get().comment == "Listen to the end, please."
    assert ReviewCase.objects.get(pk=three.case.pk).state == ReviewCase.State.RETURNED

    # Undo of the one before.
    page.goto(f"/review-cases/{two.case.pk}/")
    page.locator("[data-undo] kbd:not(:empty)").wait_for()
    page.keyboard.press("z")
    ready(page)
    assert ReviewCase.objects.get(pk=two.case.pk).state == ReviewCase.State.CLAIMED
    assert CaseEvent.objects.filter(kind="undone").count() == 1
    assert Judgment.objects.filter(origin=Judgment.Origin.EXPERT).count() == 3


def test_a_case_lost_meanwhile_keeps_what_was_typed_and_says_what_to_do(page, signed_in):
    found = flagged()
    judged(found)
    signed_in(found.expert)
    page.goto(f"/review-cases/{found.case.pk}/")
    ready(page)
    page.keyboard.press("1")
    page.keyboard.press("e")
    page.keyboard.type("Or is it?")
    page.get_by_label("Why it is corrected").select_option("wording")
    ReviewCase.objects.update(state="open", claimed_by=None, claim_expires_at=None)
    page.keyboard.press("Control+Enter")
    page.get_by_text("Your claim of this case has ended").wait_for()
    page.get_by_role("button", name="Reload the page").click()
    ready(page)
    assert page.get_by_role("textbox", name="As it should be").first.input_value().endswith("Or is it?")
    page.keyboard.press("c")
    page.wait_for_url(f"**/review-cases/{found.case.pk}/")
    page.get_by_text("clip-7 corrected: Question.").wait_for()


@pytest.fixture
def stages() -> Flagged:
    found = flagged(clip=tone("bell", hertz=500))
    propose(found.case, "question", "Which bell is heard in clip-7?")
    drafts.store_failure(
        drafts.request_draft(found.case, field="rationale", writer="Explainer", actor=None).pk,
        problem="Too long.",
    )
    return found


@pytest.mark.parametrize(("width", "schemes"), [(1440, ("light", "dark")), (390, ("dark",))])
def test_both_stages_are_for_everyone(page, signed_in, stages, width, schemes):
    def look(name: str) -> None:
        for scheme in schemes:
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            shot(page, f"{name}-{width}-{scheme}-full")
        check(page)

    page.set_viewport_size({"width": width, "height": 900})
    page.on("dialog", lambda dialog: dialog.accept())
    signed_in(stages.expert)
    page.goto(f"/review-cases/{stages.case.pk}/")
    page.wait_for_selector("[data-module=blind][data-state=working]")
    look("blind")
    judge_blind(page)
    page.get_by_role("button", name="Play Recording").wait_for()
    page.locator("[data-field=question]").get_by_role("button", name="Accept").click()
    look("desk")
    page.locator("[data-do=send_back]").click()
    look("return")
    adjudication.approve_item(stages.expert, stages.case.pk)
    page.goto(f"/review-cases/{stages.case.pk}/")
    page.get_by_role("button", name="Play Recording").wait_for()
    look("read-only")
