"""Signing in by way of an OpenID Connect provider: one that runs here as a process of its own, through the whole code
flow with PKCE."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from allauth.mfa.totp.internal import auth as totp
from allauth.socialaccount.models import SocialAccount
from allauth.socialaccount.providers.base import ProviderException
from django.urls import reverse

from annotation.access import accounts, tokens
from annotation.access.allauth_adapters import Provider, claims_of
from annotation.models import AuditEvent, User
from annotation.models.people import Role
from annotation.studies import members
from config import env
from tests.factories import PASSWORD, StudyFactory, UserFactory, member

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture(scope="module")
def provider_url() -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "oidc_provider_mock", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        _await(f"{url}/.well-known/openid-configuration")
        yield url
    finally:
        process.terminate()
        process.wait(10)


def _await(address: str) -> None:
    deadline = time.monotonic() + 20
    while True:
        try:
            requests.get(address, timeout=5).raise_for_status()
            return
        except requests.RequestException:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


@pytest.fixture
def provider(provider_url, settings, monkeypatch):
    """`provider(...)`: the site as it is with these settings, and the provider's only person with these claims."""

    def set_up(rules: dict[str, str] | None = None, **claims: object) -> None:
        monkeypatch.setenv("CONCORD_OIDC_URL", provider_url)
        monkeypatch.setenv("CONCORD_OIDC_CLIENT_ID", "concord")
        monkeypatch.setenv("CONCORD_OIDC_CLIENT_SECRET", "secret of the client")
        monkeypatch.setenv("CONCORD_OIDC_NAME", "Lab login")
        for name, value in (rules or {}).items():
            monkeypatch.setenv(f"CONCORD_OIDC_{name}", value)
        settings.SINGLE_SIGN_ON = env.single_sign_on(env.home())
        person = {"email": "ada@lab.example", "email_verified": True, "name": "Ada Lab", **claims}
        requests.put(f"{provider_url}/users/ada", json=person, timeout=5).raise_for_status()

    return set_up


def sign_in(client, *, answer: dict[str, str] | None = None, next: str = "", follow: bool = True):
    """As a browser does: to the provider, what is clicked there, and back."""
    start = client.get(reverse("openid_connect_login", args=["sso"]), {"next": next} if next else {})
    assert start.status_code == 302
    query = parse_qs(urlsplit(start.url).query)
    assert query["code_challenge_method"] == ["S256"]
    assert "email" in query["scope"][0]
    there = requests.post(start.url, data=answer or {"sub": "ada"}, allow_redirects=False, timeout=5)
    back = urlsplit(there.headers["Location"])
    assert back.path == "/sign-in/sso/login/callback/"
    return client.get(f"{back.path}?{back.query}", follow=follow)


def signed_in_as(answer) -> User | None:
    user = answer.wsgi_request.user
    return user if user.is_authenticated else None


def test_nothing_shows_where_it_is_not_set_up(client):
    assert "Sign in with" not in client.get(reverse("sign_in")).text
    assert client.get(reverse("openid_connect_login", args=["sso"])).status_code == 404


def test_an_account_with_a_confirmed_address_is_led_to_and_stays_the_same(client, provider):
    provider()
    user = UserFactory(email="ada@lab.example", address_confirmed=True)
    assert "Sign in with Lab login" in client.get(reverse("sign_in")).text
    answer = sign_in(client, next="/account/")
    assert signed_in_as(answer) == user
    assert answer.redirect_chain[-1][0] == "/account/"
    assert AuditEvent.objects.filter(action="user.signed_in", actor=user).exists()
    # By the provider's own identifier from now on, whatever the address becomes.
    provider(email="ada@elsewhere.example")
    client.logout()
    assert signed_in_as(sign_in(client)) == user


def test_an_account_is_made_where_the_operator_wants_that(client, provider):
    provider({"CREATE": "1"})
    user = signed_in_as(sign_in(client))
    assert (user.email, user.name) == ("ada@lab.example", "Ada Lab")
    assert not user.has_usable_password()
    assert not user.may_create_studies


@pytest.mark.parametrize(
    ("rules", "claims", "sentence"),
    [
        ({}, {}, "You have no account here yet."),
        ({"CREATE": "1"}, {"email_verified": False}, "does not say which checked e-mail address"),
        ({"CREATE": "1"}, {"email_verified": None}, "does not say which checked e-mail address"),
        (
            {"CREATE": "1"},
            {"email": "K@\N{KELVIN SIGN}.example"},
            "does not say which checked e-mail address",
        ),
        ({"CREATE": "1", "DOMAINS": "other.example"}, {}, "This account may not sign in here."),
        ({"CREATE": "1", "DOMAINS": "lab.example"}, {"email": "a@notlab.example"}, "may not sign in here."),
        ({"CREATE": "1", "CLAIM": "groups=raters"}, {"groups": ["staff"]}, "may not sign in here."),
        ({"CREATE": "1", "CLAIM": "groups=raters"}, {}, "may not sign in here."),
    ],
)
def test_whoever_is_not_welcome_is_told_why_and_leaves_no_account(client, provider, rules, claims, sentence):
    provider(rules, **claims)
    answer = sign_in(client)
    assert signed_in_as(answer) is None
    assert sentence in answer.text
    assert not User.objects.exists()


@pytest.mark.parametrize("rules", [{"DOMAINS": "lab.example"}, {"CLAIM": "groups=raters"}])
def test_whoever_is_welcome_comes_in(client, provider, rules):
    provider({"CREATE": "1", **rules}, groups=["staff", "raters"])
    assert signed_in_as(sign_in(client))


def test_an_account_made_with_somebody_elses_address_is_not_handed_over(client, provider):
    """Whoever was invited may have typed the address of another: theirs would be the password, the other's the work."""
    provider()
    squatter = UserFactory(email="ada@lab.example")
    _token, secret = tokens.create_token(squatter, name="x", scopes=["read"], days=9)
    answer = sign_in(client)
    assert signed_in_as(answer) is None
    assert "Choose a new password for it once" in answer.text
    accounts.record_password_reset(squatter)
    assert tokens.authenticate_token(secret) is None
    assert signed_in_as(sign_in(client)) == squatter


@pytest.mark.parametrize("claims", [{"email_verified": False}, {"email": "\N{KELVIN SIGN}im@lab.example"}])
def test_an_address_that_is_not_verified_takes_over_no_account(client, provider, claims):
    provider(**{"email": "kim@lab.example", **claims})
    UserFactory(email="kim@lab.example", address_confirmed=True)
    assert signed_in_as(sign_in(client)) is None


def test_an_address_that_was_given_to_somebody_new_does_not_lead_to_the_former_owners_account(
    client, provider
):
    provider()
    user = UserFactory(email="ada@lab.example", address_confirmed=True)
    SocialAccount.objects.create(user=user, provider="sso", uid="the one before")
    answer = sign_in(client)
    assert signed_in_as(answer) is None
    assert "somebody else signs in to" in answer.text


def test_who_holds_an_invitation_needs_no_account_before(client, provider):
    provider()
    study = StudyFactory()
    admin = member(study, Role.ADMIN)
    _invitation, token = members.invite(study, role=Role.ANNOTATOR, actor=admin, email="ada@lab.example")
    path = reverse("join", args=[token])
    assert "Sign in with Lab login" in client.get(path).text
    answer = sign_in(client, next=path)
    assert answer.redirect_chain[-1][0] == path
    client.post(path)
    assert study.memberships.filter(user=signed_in_as(answer), role=Role.ANNOTATOR).exists()


def test_an_invitation_that_is_used_up_lets_nobody_in(client, provider):
    provider()
    study = StudyFactory()
    invitation, token = members.invite(study, role=Role.ANNOTATOR, actor=member(study, Role.ADMIN))
    members.revoke_invitation(invitation, actor=invitation.created_by)
    assert signed_in_as(sign_in(client, next=reverse("join", args=[token]))) is None


def test_it_leads_only_to_this_site(client, provider):
    provider({"CREATE": "1"})
    answer = sign_in(client, next="https://elsewhere.example/", follow=False)
    assert answer.url == reverse("home")


def test_a_second_factor_is_asked_for_all_the_same_and_nothing_of_the_provider_waits_in_the_cookie(
    client, provider
):
    provider(note="x" * 3000)
    user = UserFactory(email="ada@lab.example", address_confirmed=True)
    secret = totp.generate_totp_secret()
    totp.TOTP.activate(user, secret)
    answer = sign_in(client)
    assert signed_in_as(answer) is None
    assert answer.redirect_chain[-1][0] == reverse("mfa_authenticate")
    assert len(client.cookies["sessionid"].value) < 1500
    code = totp.format_hotp_value(totp.hotp_value(secret, next(totp.yield_hotp_counters_from_time())))
    assert signed_in_as(client.post(reverse("mfa_authenticate"), {"code": code}, follow=True)) == user
    assert not SocialAccount.objects.get().extra_data


def test_another_providers_person_of_the_same_identifier_is_somebody_else():
    class Of(Provider):
        def __init__(self) -> None: ...

    def uid(issuer: str, about: str = "1") -> str:
        return Of().extract_uid({"id_token": {"iss": issuer, "sub": "1"}, "userinfo": {"sub": about}})

    assert uid("https://a.example") == uid("https://a.example") != uid("https://b.example")
    with pytest.raises(ProviderException):
        uid("https://a.example", about="2")


def test_what_the_token_says_of_its_address_says_nothing_of_another_one():
    response = {
        "id_token": {"email": "mine@lab.example", "email_verified": True},
        "userinfo": {"email": "yours@lab.example"},
    }
    assert claims_of(response).get("email_verified") is None
    response["userinfo"]["email"] = "mine@lab.example"
    assert claims_of(response)["email_verified"] is True


def test_a_closed_account_stays_closed(client, provider):
    provider()
    UserFactory(email="ada@lab.example", address_confirmed=True, is_active=False)
    answer = sign_in(client)
    assert signed_in_as(answer) is None
    assert "This account has been closed." in answer.text


def test_whoever_says_no_there_is_back_at_the_page(client, provider):
    provider()
    answer = sign_in(client, answer={"action": "deny"})
    assert signed_in_as(answer) is None
    assert "did not succeed" in answer.text


def test_an_answer_that_nobody_asked_for_signs_nobody_in(client, provider):
    provider({"CREATE": "1"})
    answer = client.get("/sign-in/sso/login/callback/", {"code": "x", "state": "y"}, follow=True)
    assert signed_in_as(answer) is None


def test_a_provider_that_is_down_is_said_to_be(client, provider, settings, monkeypatch):
    provider()
    monkeypatch.setenv("CONCORD_OIDC_URL", "http://127.0.0.1:9")
    settings.SINGLE_SIGN_ON = env.single_sign_on(env.home())
    answer = client.get(reverse("openid_connect_login", args=["sso"]), follow=True)
    assert "Lab login does not answer." in answer.text
    user = UserFactory()
    answer = client.post(reverse("sign_in"), {"username": user.email, "password": PASSWORD}, follow=True)
    assert signed_in_as(answer) == user


@pytest.mark.parametrize(
    ("values", "variable"),
    [
        ({"URL": "login.example.org"}, "URL"),
        ({"URL": "http://login.example.org"}, "URL"),
        ({"URL": "https://login.example.org", "CLIENT_ID": ""}, "CLIENT_ID"),
        ({"URL": "https://login.example.org", "CLAIM": "raters"}, "CLAIM"),
        ({"URL": "https://login.example.org", "DOMAINS": "a@b.example"}, "DOMAINS"),
        ({"URL": "", "NAME": "Lab login"}, "CLIENT_ID"),
    ],
)
def test_nonsense_in_the_environment_stops_the_program(monkeypatch, values, variable):
    for name, value in {"CLIENT_ID": "concord", **values}.items():
        monkeypatch.setenv(f"CONCORD_OIDC_{name}", value)
    with pytest.raises(env.BadEnvironment, match=f"CONCORD_OIDC_{variable}"):
        env.single_sign_on(env.home())
