from __future__ import annotations

import re

import pytest
from django.urls import reverse

from annotation.access import accounts
from annotation.models import Invitation, Mail, Membership, User
from annotation.models.people import Role
from annotation.rate_limits import Rate, RateLimiter
from annotation.studies import members
from tests.factories import PASSWORD, StudyFactory, UserFactory, member

pytestmark = pytest.mark.django_db

NEWCOMER = {"name": "Ada Lovelace", "email": "Ada@Example.org", "password": "analytical engine 1843"}


@pytest.fixture
def study():
    return StudyFactory(title="Bells")


@pytest.fixture
def link(study) -> str:
    _, token = members.invite(study, role=Role.ANNOTATOR, actor=UserFactory(name="Ina Viter"))
    return reverse("join", args=[token])


def test_it_sends_visitors_to_sign_in_and_back(client):
    assert client.get(reverse("home")).url == f"{reverse('sign_in')}?next=/"


def test_signing_in_takes_the_address_in_any_case(client, study):
    member(study, email="ada@example.org")
    answer = client.post(reverse("sign_in"), {"username": "Ada@Example.org", "password": PASSWORD})
    assert (answer.status_code, answer.url) == (302, reverse("home"))


def test_a_wrong_password_does_not_say_whether_the_account_exists(client, study):
    member(study, email="ada@example.org")
    known = client.post(reverse("sign_in"), {"username": "ada@example.org", "password": "wrong"})
    unknown = client.post(reverse("sign_in"), {"username": "bob@example.org", "password": "wrong"})
    sentence = "This e-mail address and password do not belong together."
    assert sentence in known.text
    assert sentence in unknown.text


def test_signing_in_leads_only_to_this_site(client, study):
    member(study, email="ada@example.org")
    form = {"username": "ada@example.org", "password": PASSWORD, "next": "https://elsewhere.example/"}
    assert client.post(reverse("sign_in"), form).url == reverse("home")


def test_signing_out_takes_a_post(client, study):
    client.force_login(member(study))
    assert client.get(reverse("sign_out")).status_code == 405
    client.post(reverse("sign_out"))
    assert client.get(reverse("home")).status_code == 302


def test_a_password_can_be_changed_and_the_session_goes_on(client, study):
    user = member(study)
    client.force_login(user)
    passwords = {
        "old_password": PASSWORD,
        "new_password1": "tuning fork 440",
        "new_password2": "tuning fork 440",
    }
    answer = client.post(reverse("password_change"), passwords, follow=True)
    user.refresh_from_db()
    assert user.check_password("tuning fork 440")
    assert "Your password has been changed." in answer.text


def test_an_invitation_shows_the_study_and_the_role_before_anything_is_asked(client, link):
    page = client.get(link).text
    assert "Bells" in page
    assert "Annotator" in page


def test_a_newcomer_gets_an_account_and_the_study_in_one_step(client, study, link):
    answer = client.post(link, NEWCOMER, follow=True)
    user = User.objects.get(email="ada@example.org")
    assert Membership.objects.get(user=user).role == Role.ANNOTATOR
    assert "Welcome to Bells." in answer.text
    assert answer.wsgi_request.user == user


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("name", "", "This field is required."),
        ("email", "no address", "Enter a valid email address."),
        ("password", "12345678", "too common"),
        ("password", "ada@example.org", "too similar"),
    ],
)
def test_what_is_wrong_with_a_new_account_is_said_and_nothing_is_created(client, link, field, value, said):
    answer = client.post(link, {**NEWCOMER, field: value})
    assert said in answer.text
    assert not User.objects.filter(email="ada@example.org").exists()
    assert not Invitation.objects.filter(uses__gt=0).exists()


def test_an_address_that_has_an_account_is_sent_to_sign_in(client, link):
    UserFactory(email="ada@example.org")
    answer = client.post(link, NEWCOMER)
    assert "sign in instead" in answer.text
    assert f"{reverse('sign_in')}?next={link}" in answer.text


def test_somebody_signed_in_joins_with_one_button(client, study, link):
    user = UserFactory()
    client.force_login(user)
    assert "Create your account" not in client.get(link).text
    client.post(link)
    assert Membership.objects.filter(user=user, study=study).exists()


def test_a_used_up_invitation_says_so_and_leaves_no_account_behind(client, study, link):
    Invitation.objects.update(uses=1)
    for answer in (client.get(link), client.post(link, NEWCOMER)):
        assert answer.status_code == 404
        assert "Ask Ina Viter for a new link." in answer.text
    assert not User.objects.filter(email="ada@example.org").exists()


@pytest.mark.parametrize(("role", "page"), [(Role.ANNOTATOR, "/"), (Role.RESEARCHER, "/studies/{}/")])
def test_a_member_is_led_to_the_study_by_however_old_a_link(client, study, link, role, page):
    Invitation.objects.update(uses=1)
    client.force_login(member(study, role))
    assert client.get(link).url == page.format(study.slug)


def test_a_link_that_is_none_says_what_to_do(client):
    answer = client.get(reverse("join", args=["half-a-link"]))
    assert answer.status_code == 404
    assert "Copy the whole link" in answer.text


def test_an_invitation_taken_by_somebody_else_meanwhile_leaves_no_account_behind(client, link, monkeypatch):
    still_open = members.open_invitation

    def then_somebody_is_quicker(token: str) -> Invitation:
        invitation = still_open(token)
        Invitation.objects.update(uses=1)
        return invitation

    monkeypatch.setattr(members, "open_invitation", then_somebody_is_quicker)
    assert client.post(link, NEWCOMER).status_code == 404
    assert not User.objects.filter(email="ada@example.org").exists()


# ── Where this site has a mail server: the mailbox comes first ───────────────


@pytest.fixture
def by_mail(settings):
    settings.SIGN_UP_BY_MAIL = True
    accounts.sign_up_requests = RateLimiter()


def link_in_mail(address: str) -> str:
    return re.search(r"http://testserver(/\S+)", Mail.objects.get(to=address).text)[1]


def test_the_page_answers_the_same_whether_or_not_an_address_has_an_account(client, link, by_mail):
    UserFactory(email="known@example.org")
    pages = [client.post(link, {"email": f"{name}@example.org"}).text for name in ("known", "other")]
    same = [re.sub(r'name="csrf\S+ value="\S+"', "", page).replace("known@", "other@") for page in pages]
    assert "A mail is on its way to other@example.org." in same[0]
    assert same[0] == same[1]
    assert "?next=" in link_in_mail("known@example.org")
    assert User.objects.filter(email="other@example.org").count() == 0


def test_the_mail_leads_to_the_account_whose_address_is_then_confirmed(client, study, link, by_mail):
    client.post(link, {"email": "Ada@Example.org"})
    page = link_in_mail("ada@example.org")
    assert 'value="ada@example.org"' in client.get(page).text
    client.post(page, {**NEWCOMER, "email": "somebody.else@example.org"})
    user = User.objects.get(name="Ada Lovelace")
    assert (user.email, user.address_confirmed) == ("ada@example.org", True)
    assert Membership.objects.filter(user=user, study=study).exists()


def test_a_proof_is_of_one_invitation_and_one_site(client, study, link, by_mail):
    client.post(link, {"email": "ada@example.org"})
    _path, _, proof = link_in_mail("ada@example.org").partition("?")
    _invitation, token = members.invite(study, role=Role.EXPERT, actor=UserFactory())
    for path in (f"{reverse('join', args=[token])}?{proof}", f"{link}?address=forged"):
        assert "Send the mail" in client.get(path).text
        client.post(path, NEWCOMER)
    assert not User.objects.filter(email="ada@example.org").exists()


def test_an_invitation_by_mail_needs_no_second_one_but_for_another_address(client, study, by_mail):
    actor = UserFactory()
    _invitation, token = members.invite(study, role=Role.ANNOTATOR, actor=actor, email="ada@example.org")
    link = reverse("join", args=[token])
    assert "Send the mail" in client.get(f"{link}?another").text
    client.post(link, NEWCOMER)
    assert User.objects.get(email="ada@example.org").address_confirmed


def test_one_caller_causes_no_more_than_some_mails(client, link, by_mail, monkeypatch):
    monkeypatch.setattr(accounts, "SIGN_UPS_PER_CALLER", Rate(1, 3600))
    for name in ("a", "b"):
        assert "A mail is on its way" in client.post(link, {"email": f"{name}@example.org"}).text
    assert list(Mail.objects.values_list("to", flat=True)) == ["a@example.org"]
