from __future__ import annotations

import json
import re

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models.people import Role
from annotation.rating import judgments, leases
from annotation.studies import protocols
from tests.annotation.importing import answers
from tests.factories import StudyFactory, UserFactory, member, rating_task

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    study = StudyFactory()
    rating_task(study, "bell")
    return study


@pytest.fixture
def urls(study):
    return {name: reverse(name, args=[study.slug]) for name in ("guidelines", "work")}


@pytest.fixture
def at_work(client, study, urls):
    """A rater who has read the guidelines."""
    client.force_login(member(study))
    client.post(urls["guidelines"])
    return client


def workbench_data(page: str) -> dict:
    found = re.search(r'<script id="workbench-data" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


def test_a_rater_reads_the_guidelines_once_before_the_work(client, study, urls):
    client.force_login(member(study))
    assert client.get(urls["work"]).url == urls["guidelines"]
    assert client.post(urls["guidelines"]).url == urls["work"]
    assert client.get(urls["work"]).status_code == 200


def test_a_new_version_of_the_protocol_is_read_again(at_work, study, urls):
    protocols.add_protocol_version(study, preset="orca", actor=None)
    assert at_work.get(urls["work"]).url == urls["guidelines"]


def test_guidelines_read_on_one_device_are_not_shown_again_on_another(at_work, study, urls):
    other = Client()
    other.force_login(study.raters.get().user)
    assert other.get(urls["work"]).status_code == 200


def test_who_has_judged_by_these_guidelines_knows_them_in_any_browser(client, study, urls):
    user = member(study)
    _, lease = leases.lease_next(user, study.slug)
    judgments.submit(user, lease.id, answers.rating(4))
    client.force_login(user)
    assert client.get(urls["work"]).status_code == 200


def test_the_guidelines_show_scale_codes_and_their_meaning(client, study, urls):
    client.force_login(member(study))
    page = client.get(urls["guidelines"]).text
    assert "<strong>Rate the answer from 1 to 5.</strong>" in page
    assert "Close to the reference, with detail that was not needed." in page
    assert "Ambiguous, even after listening." in page
    assert "Start rating" in page


def test_the_guidelines_show_the_glossary(client):
    study = StudyFactory(preset="cmi-pref")
    client.force_login(member(study))
    assert "clean mix, balanced, high-fidelity" in client.get(reverse("guidelines", args=[study.slug])).text


def test_researchers_read_the_guidelines_without_a_way_to_rate(client, study, urls):
    client.force_login(member(study, Role.RESEARCHER))
    assert "Start rating" not in client.get(urls["guidelines"]).text
    answer = client.get(urls["work"])
    assert answer.status_code == 403
    assert "rating is for its annotators and experts" in answer.text


def test_strangers_hear_that_nothing_is_there(client, urls):
    client.force_login(UserFactory())
    for url in urls.values():
        answer = client.get(url)
        assert answer.status_code == 404
        assert "you do not have access to it" in answer.text


def test_a_study_without_a_protocol_says_so(client, study, urls):
    user = member(study)
    type(study).objects.update(protocol_version=None)
    client.force_login(user)
    for url in urls.values():
        answer = client.get(url)
        assert answer.status_code == 400
        assert "no protocol yet" in answer.text


def test_the_workbench_gets_its_protocol_and_addresses_and_is_never_kept_by_a_cache(at_work, urls):
    answer = at_work.get(urls["work"])
    assert "no-store" in answer["Cache-Control"]
    data = workbench_data(answer.text)
    assert data["protocol"]["number"] == 1
    assert data["protocol"]["definition"]["key"] == "orca"
    assert data["progress"] == {"done": 0, "tasks": 1}
    assert data["urls"]["assignments"] == "/api/v1/assignments/"


def test_the_workbench_speaks_the_language_that_was_chosen(at_work, urls):
    at_work.post(reverse("set_language"), {"language": "zh-hans"})
    page = at_work.get(urls["work"]).text
    data = workbench_data(page)
    assert '<html lang="zh-hans" dir="ltr">' in page
    assert data["language"] == "zh-hans"
    (address,) = re.findall(r'<script src="(/javascript-texts/[^"]*)"', page)
    assert json.dumps({"Sending…": "正在发送…"})[1:-1] in at_work.get(address).text


def test_no_page_carries_script_or_style_of_its_own(at_work, urls):
    for url in (reverse("home"), *urls.values()):
        page = at_work.get(url).text
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*(src=|application/json))", page)
