from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from annotation.errors import Conflict, FieldProblem
from labeling_ui.account import views
from labeling_ui.domain_errors import DomainErrorPages
from tests.factories import StudyFactory, UserFactory, member

pytestmark = pytest.mark.django_db


def test_an_unknown_address_leads_back(client):
    answer = client.get("/nothing/here/")
    assert answer.status_code == 404
    assert "This page does not exist" in answer.text
    assert f'href="{reverse("home")}"' in answer.text


def test_a_form_without_its_token_says_what_to_do():
    answer = Client(enforce_csrf_checks=True).post(reverse("sign_in"), {"username": "a", "password": "b"})
    assert answer.status_code == 403
    assert "reload the page and try again" in answer.text


def test_a_fault_of_ours_shows_a_page_and_nothing_of_its_insides(monkeypatch):
    monkeypatch.setattr(views.access, "studies_of", lambda user: 1 / 0)
    client = Client(raise_request_exception=False)
    client.force_login(UserFactory())
    answer = client.get(reverse("home"))
    assert answer.status_code == 500
    assert "The error is on our side" in answer.text
    assert "ZeroDivisionError" not in answer.text


def test_what_a_service_refuses_is_a_page_with_its_sentence_and_remedies(rf):
    problem = FieldProblem("overlap", "Two raters have begun.", "Set it to 2 or more.")
    request = rf.get("/")
    request.user = member(StudyFactory())
    answer = DomainErrorPages(lambda request: None).process_exception(
        request, Conflict("The overlap cannot be 1.", problems=[problem])
    )
    assert answer.status_code == 409
    assert "The overlap cannot be 1." in answer.text
    assert "Set it to 2 or more." in answer.text


def test_the_api_keeps_its_own_words(client):
    client.force_login(UserFactory())
    answer = client.post(reverse("api_next", args=["nowhere"]), {}, content_type="application/json")
    assert answer.status_code == 404
    assert answer["Content-Type"] == "application/problem+json"


def test_refusals_are_translated(client):
    client.force_login(UserFactory())
    client.post(reverse("set_language"), {"language": "zh-hans"})
    answer = client.get(reverse("guidelines", args=["nowhere"]))
    assert "这里没有内容，或您无权查看。" in answer.text
