"""The second factor: set up, asked for at every door, and required where the site says so."""

from __future__ import annotations

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth as totp
from django.core.cache import cache
from django.urls import reverse

from annotation.models.people import Role
from tests.factories import PASSWORD, StudyFactory, UserFactory, member

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_code_used_yet():
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def user():
    return UserFactory(email="ada@example.org")


def code_of(secret: str) -> str:
    return totp.format_hotp_value(totp.hotp_value(secret, next(totp.yield_hotp_counters_from_time())))


def sign_in(client, user, **form: str):
    return client.post(reverse("sign_in"), {"username": user.email, "password": PASSWORD, **form})


def set_up(client, user) -> str:
    """Switch it on as a person does; the secret of their app."""
    client.force_login(user)
    confirm = client.get(reverse("mfa_activate_totp"))
    assert confirm.url.startswith(reverse("account_reauthenticate"))
    client.post(confirm.url, {"password": PASSWORD})
    secret = client.get(reverse("mfa_activate_totp")).context["form"].secret
    answer = client.post(reverse("mfa_activate_totp"), {"code": code_of(secret)})
    assert answer.url == reverse("mfa_view_recovery_codes")
    cache.clear()
    return secret


def is_signed_in(client) -> bool:
    return client.get(reverse("home")).status_code == 200


def test_it_is_switched_on_with_a_code_and_asked_for_at_the_next_sign_in(client, user):
    secret = set_up(client, user)
    client.logout()
    answer = sign_in(client, user, next="/account/")
    assert answer.url == reverse("mfa_authenticate")
    assert not is_signed_in(client)
    assert "Incorrect code" in client.post(answer.url, {"code": "000000"}).text
    assert not is_signed_in(client)
    assert client.post(answer.url, {"code": code_of(secret)}).url == "/account/"
    assert is_signed_in(client)


def test_the_pages_show_what_there_is(client, user):
    set_up(client, user)
    assert "10 are left" in client.get(reverse("mfa_index")).text
    codes = client.get(reverse("mfa_view_recovery_codes")).context["unused_codes"]
    assert len(codes) == 10
    assert codes[0] in client.get(reverse("mfa_download_recovery_codes")).text
    assert client.get(reverse("mfa_generate_recovery_codes")).status_code == 200
    assert client.get(reverse("mfa_deactivate_totp")).status_code == 200
    client.post(reverse("mfa_deactivate_totp"))
    assert not Authenticator.objects.exists()


def test_a_recovery_code_works_once(client, user):
    set_up(client, user)
    code = client.get(reverse("mfa_view_recovery_codes")).context["unused_codes"][0]
    for works in (True, False):
        client.logout()
        client.post(sign_in(client, user).url, {"code": code})
        assert is_signed_in(client) == works


def test_guessing_codes_is_slowed_down(client, user):
    secret = set_up(client, user)
    client.logout()
    path = sign_in(client, user).url
    for _ in range(6):
        client.post(path, {"code": "000000"})
    client.post(path, {"code": code_of(secret)})
    assert not is_signed_in(client)


def test_the_admin_is_no_way_round_it(client, user):
    user.is_staff = user.is_superuser = True
    user.save()
    set_up(client, user)
    client.logout()
    answer = client.post("/admin/login/?next=/admin/", {"username": user.email, "password": PASSWORD})
    assert answer.url.startswith(reverse("sign_in"))
    assert not is_signed_in(client)


def test_a_copy_of_the_database_makes_no_codes(client, user):
    secret = set_up(client, user)
    assert secret not in str(list(Authenticator.objects.values_list("data", flat=True)))


@pytest.mark.parametrize(
    ("required", "role", "held_up"),
    [
        ("optional", Role.ADMIN, False),
        ("admins", Role.RESEARCHER, False),
        ("admins", Role.ADMIN, True),
        ("researchers", Role.RESEARCHER, True),
        ("researchers", Role.EXPERT, False),
    ],
)
def test_it_can_be_required_of_those_who_run_studies(client, settings, required, role, held_up):
    settings.REQUIRE_TWO_FACTOR = required
    study = StudyFactory()
    client.force_login(member(study, role))
    page = client.get(reverse("home"))
    assert (page.status_code == 302 and page.url == reverse("mfa_index")) == held_up
    assert (client.get("/api/v1/me/").status_code == 403) == held_up
    assert client.get(reverse("mfa_index")).status_code == 200
    assert client.get(reverse("sign_out")).status_code == 405


def test_whoever_has_set_it_up_goes_on(client, settings):
    user = member(StudyFactory(), Role.ADMIN)
    settings.REQUIRE_TWO_FACTOR = "admins"
    set_up(client, user)
    assert is_signed_in(client)
