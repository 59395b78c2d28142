from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.models import Membership, Study
from annotation.models.people import Role
from tests.factories import StudyFactory, UserFactory

pytestmark = pytest.mark.django_db

FILLED = {
    "title": "Bird calls",
    "slug": "bird-calls",
    "preset": "orca",
    "overlap": "5",
    "order": "listed",
    "lease_minutes": "20",
}


@pytest.fixture
def creator(client):
    user = UserFactory(may_create_studies=True)
    client.force_login(user)
    return user


def problems(client, **changes) -> dict[str, list[str]]:
    answer = client.post(reverse("new_study"), {**FILLED, **changes})
    assert answer.status_code == 200
    return dict(answer.context["form"].errors)


def test_it_makes_a_study_of_which_the_maker_is_admin(client, creator):
    answer = client.post(reverse("new_study"), FILLED)
    assert answer.url == reverse("import", args=["bird-calls"])
    study = Study.objects.get(slug="bird-calls")
    assert (study.title, study.overlap, study.order, study.lease_minutes) == ("Bird calls", 5, "listed", 20)
    assert study.protocol_version.preset == "orca"
    assert Membership.objects.get(study=study).role == Role.ADMIN


def test_it_describes_each_preset_by_the_beginning_of_its_guidelines(client, creator):
    page = client.get(reverse("new_study")).text
    assert "Two pieces of music were made for one instruction." in page
    assert "A system heard a recording and answered a question about it." in page


def test_it_describes_the_presets_in_the_readers_language(client, creator):
    page = client.get(reverse("new_study"), headers={"Accept-Language": "zh-hans"}).text
    assert "两段音乐依据同一条指令生成。" in page


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("title", ""),
        ("slug", ""),
        ("slug", "bird calls"),
        ("preset", "none"),
        ("overlap", "0"),
        ("overlap", "many"),
        ("order", "random"),
        ("lease_minutes", "601"),
    ],
)
def test_it_shows_a_fault_at_its_field(client, creator, field, value):
    assert list(problems(client, **{field: value})) == [field]
    assert not Study.objects.exists()


def test_it_refuses_an_address_that_is_a_page_of_its_own(client, creator):
    assert list(problems(client, slug="new")) == ["slug"]


def test_it_says_that_an_address_is_taken_and_keeps_what_was_typed(client, creator):
    StudyFactory(slug="bird-calls")
    answer = client.post(reverse("new_study"), FILLED)
    assert "exists already" in answer.context["form"].errors["slug"][0]
    assert 'value="Bird calls"' in answer.text


def test_errors_are_tied_to_their_controls(client, creator):
    page = client.post(reverse("new_study"), {**FILLED, "slug": ""}).text
    assert 'aria-describedby="id_slug_helptext id_slug_error"' in page
    assert 'id="id_slug_error"' in page
