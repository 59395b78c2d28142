"""The desk: who sees what of a case and when, and what becomes of it when they go on."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import ReviewCase
from annotation.models.people import Role
from annotation.review import adjudication, drafts
from annotation.review.adjudication import Corrections
from labeling_ui.review import desk_page
from tests.factories import UserFactory, member
from tests.labeling_ui.cases import SECRETS, Flagged, flagged, judged

pytestmark = pytest.mark.django_db


@pytest.fixture
def found() -> Flagged:
    return flagged()


def browser(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def opened(user, case, **query):
    return browser(user).get(reverse("desk", args=[case.pk]), query)


def words(response) -> str:
    return response.text


def propose(found: Flagged, text: str = "What is ringing?"):
    draft = drafts.request_draft(found.case, field="question", writer="Rewriter", actor=None)
    drafts.store_proposal(draft.pk, text=text, provenance={"model": "tiny-writer"})
    return draft


def test_before_the_expert_has_judged_nothing_of_the_rest_is_sent(found):
    propose(found, "The draft says xylophone.")
    client = browser(found.expert)
    page = client.get(reverse("desk", args=[found.case.pk]))
    briefing = client.get(reverse("api_blind", args=[found.case.pk]))
    sent = words(page) + words(briefing)
    assert "Disagreement" in words(page)
    assert "clip-7" in words(page)
    assert "system-1 says: a bell." in words(briefing)
    assert [secret for secret in (*SECRETS, "xylophone", "Rewriter") if secret in sent] == []
    assert client.get(reverse("case_drafts", args=[found.case.pk, "question"])).status_code == 404


def test_once_judged_everything_is_there(found):
    propose(found, "The draft says xylophone.")
    judged(found)
    page = words(opened(found.expert, found.case))
    assert [secret for secret in (*SECRETS, "xylophone") if secret not in page and secret != "Ocelot"] == []
    assert "Your own judgment" in page
    assert "my own words" in page
    assert "Ocelot" not in page  # raters go by their pseudonyms


def test_opening_a_free_case_claims_it(found):
    opened(found.expert, found.case)
    found.case.refresh_from_db()
    assert (found.case.state, found.case.claimed_by) == (ReviewCase.State.CLAIMED, found.expert)


def test_a_case_of_somebody_else_says_whose_it_is_and_nothing_more(found):
    judged(found)
    other = member(found.study, Role.EXPERT)
    page = opened(other, found.case)
    assert page.status_code == 409
    assert "Eve Expert is working on this case now." in words(page)
    assert [secret for secret in (*SECRETS, "my own words") if secret in words(page)] == []


def test_those_who_run_the_study_read_the_desk_and_decide_nothing(found):
    page = opened(member(found.study, Role.RESEARCHER), found.case)
    assert "sys-quagga" in words(page)
    assert "Reviewing is for experts." in words(page)
    assert "data-do=" not in words(page)
    assert "<textarea" not in words(page)
    found.case.refresh_from_db()
    assert found.case.state == ReviewCase.State.OPEN


@pytest.mark.parametrize("role", [Role.ANNOTATOR, None])
def test_to_others_there_is_no_such_case(found, role):
    user = member(found.study, role) if role else UserFactory()
    assert opened(user, found.case).status_code == 404


def test_what_experts_do_at_the_desk_nobody_else_does(found):
    people = {403: member(found.study, Role.RESEARCHER), 404: member(found.study)}
    for status, user in people.items():
        client = browser(user)
        assert client.post(reverse("leave_case", args=[found.case.pk])).status_code == status
        assert client.post(reverse("case_drafts", args=[found.case.pk, "question"])).status_code == status
    for name in ("desk", "leave_case"):
        answer = Client().post(reverse(name, args=[found.case.pk]))
        assert answer.url.startswith(reverse("sign_in"))


def test_a_decided_case_is_read_only_and_can_be_taken_back_from_its_own_page(found):
    judged(found)
    adjudication.approve_item(found.expert, found.case.pk)
    page = words(opened(found.expert, found.case))
    assert "data-do=" not in page
    assert f'data-undo="{found.case.pk}"' in page
    assert "clip-7: fine as it is." in page


def leave(user, case, **data):
    return browser(user).post(reverse("leave_case", args=[case.pk]), {"to": "next", **data})


def test_going_on_leads_to_the_next_case_with_word_of_the_one_before(found):
    following = flagged(name="clip-8").case
    judged(found)
    correct(found)
    answer = leave(found.expert, found.case, decided=found.case.pk, **{"from": "rule=disagreement"})
    assert answer.url == f"/review-cases/{following.pk}/?from=rule%3Ddisagreement&decided={found.case.pk}"
    page = words(opened(found.expert, following, decided=found.case.pk))
    assert "clip-7 corrected: Question." in page
    assert f'data-undo="{found.case.pk}"' in page


def correct(found: Flagged, text: str = "What rings?"):
    return adjudication.correct_item(
        found.expert,
        found.case.pk,
        Corrections(version_id=found.case.item_version_id, texts={"question": text}, reason="wording"),
    )


def test_putting_a_case_back_leads_to_another_one_or_to_the_queue_not_back_to_it(found):
    opened(found.expert, found.case)
    assert leave(found.expert, found.case).url == reverse("review_queue", args=["s"])
    found.case.refresh_from_db()
    assert found.case.state == ReviewCase.State.OPEN


def test_the_end_of_the_queue_leads_to_the_case_that_can_still_be_taken_back(found):
    judged(found)
    correct(found)
    assert leave(found.expert, found.case, decided=found.case.pk).url == f"/review-cases/{found.case.pk}/"
    adjudication.undo_decision(found.expert, found.case.pk)
    assert "data-do=" in words(opened(found.expert, found.case))


def test_a_draft_is_rejected_from_its_field_and_is_marked_so(found):
    draft = propose(found)
    judged(found)
    client = browser(found.expert)
    path = reverse("case_drafts", args=[found.case.pk, "question"])
    assert "data-reject" in words(client.get(path))
    part = words(client.post(path, {"reject": draft.pk}))
    assert "Rejected" in part
    assert "data-reject" not in part
    assert client.post(path, {"reject": "999999"}).status_code == 404
    assert client.get(reverse("case_drafts", args=[found.case.pk, "extra"])).status_code == 404


def test_a_field_asks_again_only_while_a_draft_is_awaited(found):
    drafts.request_draft(found.case, field="question", writer="Rewriter", actor=None)
    judged(found)
    assert words(opened(found.expert, found.case)).count("hx-get=") == 1


def test_the_desk_takes_as_many_queries_for_many_votes_as_for_few(found, django_assert_num_queries):
    judged(found)
    many = flagged(values=(1, 2, 3, 4, 5), name="clip-9")
    judged(many)
    for each in (found, many):
        case = ReviewCase.objects.select_related("study", "item", "item_version", "task").get(pk=each.case.pk)
        with django_assert_num_queries(QUERIES):
            desk_page.build_desk_page(case, reader=each.expert, decides=True)


# The case's judgment and its rater; tasks, slots, votes, answers, scores, slots in words; reasons with their systems,
# returns, versions, corrections; drafts, writers that draft and writers that answer; opinions of judges, runs over the
# item and judges that can be asked.
QUERIES = 20
