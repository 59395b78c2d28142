"""Judges' second opinions at the desk: there once the expert has judged blind, on the page and in the API, and not
before; asked for by the expert who holds the case."""

from __future__ import annotations

import json

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from annotation.models import Judgment, ReviewCase
from annotation.models.people import Role
from annotation.review import cases
from scoring.models import Score, Scorer, ScoringRun
from scoring.policies.second_opinions import reasons_of
from scoring.runs import scoring_runs
from tests.factories import UserFactory, member
from tests.labeling_ui.cases import Flagged, flagged, judged
from tests.scoring.openai_double import OpenAIDouble
from tests.scoring.studies import worked

pytestmark = pytest.mark.django_db

REASON = "The bell of a wombat is no bell."
ANSWER = json.dumps({"explanation": REASON, "score": 2})
SECRETS = ("wombat", "llm-judge", "numbat")


@pytest.fixture
def found() -> Flagged:
    return flagged()


def rated(found: Flagged) -> ScoringRun:
    """A judge has rated all answers of the study."""
    scorer = Scorer.objects.create(key="llm-judge", digest="numbat" + "0" * 58, config={})
    Score.objects.create(
        scorer=scorer, candidate=found.task.slots.get().candidate, output="value", value=0.3,
        distribution={"1": 0.0, "2": 0.8, "3": 0.2, "4": 0.0, "5": 0.0},
        provenance={"answers": {"rubric": [ANSWER, ANSWER]}, "tokens": {"prompt": 9}},
    )  # fmt: skip
    return ScoringRun.objects.create(
        study=found.study, metric="llm-judge", scorer=scorer, options={"backbone": "wombat"}, state="done"
    )


def browser(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def post(client: Client, address: str, body: dict[str, str]) -> HttpResponse:
    kind = {"content_type": "application/json"} if address.startswith("/api/") else {}
    return client.post(address, body, **kind)


def addresses(case: ReviewCase) -> list[str]:
    return [reverse(name, args=[case.pk]) for name in ("case_opinions", "api_case_opinions")]


def test_before_the_blind_judgment_there_is_no_opinion_anywhere_and_none_can_be_asked_for(found):
    run = rated(found)
    client = browser(found.expert)
    judge = {"judge": f"llm-judge@{run.scorer.digest}"}
    sent = client.get(reverse("desk", args=[found.case.pk])).text
    sent += client.get(reverse("api_blind", args=[found.case.pk])).text
    sent += client.get(reverse("api_case", args=[found.case.pk])).text
    for address in addresses(found.case):
        for answer in (client.get(address), post(client, address, judge)):
            assert answer.status_code == 404
            sent += answer.text
    assert [secret for secret in SECRETS if secret in sent] == []
    assert ScoringRun.objects.count() == 1


def test_after_it_rating_and_reason_stand_beside_the_experts_own(found):
    rated(found)
    judged(found, value=3)
    client = browser(found.expert)
    desk = client.get(reverse("desk", args=[found.case.pk])).text
    part = desk[desk.index('id="opinions"') :]
    assert part.index("my own words") < part.index("<b>LLM judge</b>") < part.index(REASON)
    assert '<b class="number">2.2</b>' in part
    assert "from 1 to 5" in part
    assert part.count(REASON) == 1  # however often it was written
    page, api = (client.get(address) for address in addresses(found.case))
    assert REASON in page.text
    (opinion,) = api.json()["results"]
    assert (opinion["judge"], opinion["rating"], opinion["reasons"]) == (
        "llm-judge@numbat00", pytest.approx(2.2), [REASON],
    )  # fmt: skip
    assert "wombat#" not in page.text + api.text
    assert "backbone" not in page.text + api.text


def test_a_judge_that_is_asked_rates_the_cases_item_alone_and_stores_no_vote(found):
    other = flagged(name="clip-8")
    judged(found)
    votes = Judgment.objects.count()
    client = browser(found.expert)
    page, api = addresses(found.case)
    with OpenAIDouble(say=ANSWER) as server:
        options = {"backbone": server.name, "template": ["brief"]}
        part = {"items": [other.case.item.external_id]}
        before = worked(scoring_runs.request(found.study, "llm-judge", options, filter=part, actor=None))
        judge = f"llm-judge@{before.scorer.digest}"
        assert f"Ask LLM judge (llm-judge@{before.scorer.digest[:8]})" in client.get(page).text
        assert client.get(api).json()["judges"] == [judge]
        strict = Client(enforce_csrf_checks=True)
        strict.force_login(found.expert)
        form = strict.get(page).text
        token = form.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
        asked = strict.post(page, {"judge": judge, "csrfmiddlewaretoken": token}).text
        assert "is rating…" in asked
        assert 'hx-trigger="every 2s"' in asked
        assert "Ask LLM judge" not in asked
        assert post(client, api, {"judge": judge}).status_code == 409  # it is at it
        run = ScoringRun.objects.latest("pk")
        assert (run.filter, run.created_by) == ({"items": [found.case.item.external_id]}, found.expert)
        run = worked(run)
    assert (run.state, run.n_rows, run.n_done) == ("done", 1, 1)
    shown = client.get(page).text
    assert REASON in shown
    assert "every 2s" not in shown
    assert "Ask LLM judge" not in shown
    assert post(client, api, {"judge": judge}).json()["title"] == "has_opinion"
    assert Judgment.objects.count() == votes


def test_a_judge_that_failed_says_why(found):
    run = rated(found)
    judged(found)
    Score.objects.filter(scorer=run.scorer).delete()
    asked = scoring_runs.request(
        found.study, "llm-judge", {"backbone": "/gone"}, filter={"items": ["clip-7"]}, actor=None
    )
    assert worked(asked).state == "failed"
    shown = browser(found.expert).get(addresses(found.case)[0]).text
    assert "No opinion" in shown
    assert "no folder /gone" in shown


def test_opinions_are_the_experts_who_holds_the_case(found):
    run = rated(found)
    judged(found)
    judge = {"judge": f"llm-judge@{run.scorer.digest}"}
    other = member(found.study, Role.EXPERT)
    people = {403: [member(found.study, Role.RESEARCHER)], 404: [member(found.study), other, UserFactory()]}
    for status, users in people.items():
        for user in users:
            for address in addresses(found.case):
                assert browser(user).get(address).status_code == status
                assert post(browser(user), address, judge).status_code == status
    cases.put_back(found.expert, found.case.pk)
    Score.objects.filter(scorer=run.scorer).delete()
    assert post(browser(found.expert), addresses(found.case)[1], judge).json()["title"] == "claim_lost"
    assert post(browser(found.expert), addresses(found.case)[1], {"judge": "llm-judge@x"}).status_code in (
        404,
        409,
    )
    assert ScoringRun.objects.count() == 1


def test_those_who_run_the_study_read_opinions_at_the_desk_and_ask_for_none(found):
    rated(found)
    page = browser(member(found.study, Role.RESEARCHER)).get(reverse("desk", args=[found.case.pk])).text
    assert REASON in page
    assert "Ask LLM judge" not in page


@pytest.mark.parametrize(
    ("answer", "reasons"),
    [
        ('{"feedback": "Half right.", "score": 3}', ["Half right."]),
        ('```json\n{"reason": "Half right.", "score": 3}\n```', ["Half right."]),
        ("It names the dog.\nScore: 3", ["It names the dog."]),
        ("Feedback: it names the dog. [RESULT] 3", ["Feedback: it names the dog."]),
        ("<think>hm</think>\nIt names the dog.\n**Score: 3**", ["It names the dog."]),
        ('{"score": 3}', []),
        ("3", []),
    ],
)
def test_reasons_are_what_stands_around_the_rating(answer, reasons):
    assert list(reasons_of({"answers": {"rubric": [answer]}})) == reasons
    assert list(reasons_of({})) == []
