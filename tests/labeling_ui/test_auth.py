from __future__ import annotations

import pytest
from django.urls import reverse

from tests.factories import PASSWORD, StudyFactory, member

pytestmark = pytest.mark.django_db


def test_it_sends_visitors_to_sign_in_and_back(client):
    assert client.get(reverse("home")).url == f"{reverse('sign_in')}?next=/"


def test_signing_in_takes_the_address_in_any_case(client):
    member(StudyFactory(), email="ada@example.org")
    answer = client.post(reverse("sign_in"), {"username": "Ada@Example.org", "password": PASSWORD})
    assert answer.status_code == 302
    assert answer.url == reverse("home")
