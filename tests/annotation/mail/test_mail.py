"""E-mail: an outbox in the transaction, sent after it, tried again, and bounded."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core import mail as django_mail
from django.db import transaction
from django.utils import timezone

from annotation.errors import Conflict, NotFound
from annotation.jobs import jobs
from annotation.mail import delivery, messages, notices, outbox
from annotation.models import AuditEvent, Job, Mail
from annotation.models.people import Role
from annotation.review import cases
from annotation.studies import lifecycle, members
from config import env
from tests.factories import StudyFactory, UserFactory, member

pytestmark = pytest.mark.django_db

JOIN = "https://concord.example/join/{}/".format


class DownBackend:
    """A mail server that is not there."""

    def __init__(self, **kwargs: object) -> None:
        raise OSError("Connection refused")


def post_reset(to: str = "ada@example.org", **options: object) -> Mail | None:
    link = "https://concord.example/lost-password/1/secret-token/"
    kind = Mail.Kind.PASSWORD_RESET
    return outbox.post(to, lambda: messages.password_reset(link=link), kind=kind, **options)


def test_a_mail_is_sent_once_as_text_and_html_and_its_link_is_not_kept():
    mail = post_reset()
    assert (delivery.send_due(), delivery.send_due()) == (1, 0)
    [sent] = django_mail.outbox
    assert "secret-token" in sent.body
    assert "secret-token" in sent.alternatives[0][0]
    assert sent.extra_headers == {"Auto-Submitted": "auto-generated"}
    mail.refresh_from_db()
    assert (mail.state, mail.text, mail.html) == ("sent", "", "")


def test_what_is_rolled_back_sends_nothing():
    with transaction.atomic():
        post_reset()
        transaction.set_rollback(True)
    assert delivery.send_due() == 0


def test_a_server_that_is_down_is_asked_again_and_given_up_in_the_open(settings):
    settings.EMAIL_BACKEND = "tests.annotation.mail.test_mail.DownBackend"
    mail = post_reset()
    for _ in range(len(delivery.RETRY_AFTER) + 1):
        assert delivery.send_due() == 0
        Mail.objects.filter(state="waiting").update(due_at=timezone.now())
    mail.refresh_from_db()
    assert (mail.state, mail.text) == ("failed", "")
    assert "Connection refused" in mail.error
    assert AuditEvent.objects.get().action == "mail.failed"


def test_a_server_that_is_down_is_waited_for_once_and_not_once_for_each_mail(settings):
    settings.EMAIL_BACKEND = "tests.annotation.mail.test_mail.DownBackend"
    for number in range(5):
        post_reset(f"person{number}@example.org")
    assert (delivery.send_due(), delivery.send_due()) == (0, 0)
    assert Mail.objects.filter(n_tries=1).count() == 1


def test_it_is_written_in_the_language_of_its_reader():
    post_reset(user=UserFactory(language="zh-hans"))
    delivery.send_due()
    assert "密码" in django_mail.outbox[0].subject


def test_an_address_gets_no_more_than_a_few_an_hour():
    assert [bool(post_reset()) for _ in range(outbox.PER_ADDRESS + 1)] == [True] * outbox.PER_ADDRESS + [
        False
    ]
    Mail.objects.update(created_at=timezone.now() - timedelta(hours=2))
    assert post_reset()


def test_the_site_sends_no_more_in_an_hour_than_is_set_and_the_rest_later(settings):
    settings.MAIL_PER_HOUR = 1
    post_reset("a@example.org"), post_reset("b@example.org")
    assert delivery.send_due() == 1
    Mail.objects.update(sent_at=timezone.now() - timedelta(hours=2))
    assert delivery.send_due() == 1


def test_the_log_of_mails_ends_and_a_look_that_finds_nothing_costs_little(django_assert_max_num_queries):
    old = post_reset()
    delivery.send_due()
    with django_assert_max_num_queries(4):
        delivery.send_due()
    assert Mail.objects.filter(pk=old.pk).exists()
    Mail.objects.update(created_at=timezone.now() - delivery.LOG_RETENTION - timedelta(days=1))
    delivery.send_due()
    assert not Mail.objects.exists()


def test_a_person_causes_no_more_than_so_many(settings):
    settings.MAIL_PER_PERSON = 1
    study = StudyFactory()
    admin = member(study, Role.ADMIN)
    emails = ["a@example.org", "b@example.org"]
    with pytest.raises(Conflict, match="an hour"):
        members.invite_by_mail(study, emails=emails, role=Role.ANNOTATOR, actor=admin, join_link=JOIN)
    assert not Mail.objects.exists()


# ── Who is invited, and who is added ─────────────────────────────────────────


@pytest.fixture
def study():
    return StudyFactory(title="Bells")


def invited(study, actor, **options):
    account = UserFactory(email="ada@example.org", language="zh-hans")
    emails = ["Ada@example.org", "new@example.org", actor.email]
    outcome = members.invite_by_mail(
        study, emails=emails, role=Role.ANNOTATOR, actor=actor, join_link=JOIN, **options
    )
    delivery.send_due()
    return account, outcome


def test_an_admin_adds_those_who_have_an_account_and_invites_the_others(study):
    admin = member(study, Role.ADMIN)
    account, outcome = invited(study, admin, label="cohort 2")
    assert (outcome.added, outcome.invited) == (["ada@example.org"], ["new@example.org"])
    assert outcome.members == [admin.email]
    assert study.memberships.filter(user=account, role=Role.ANNOTATOR).exists()
    assert {sent.to[0] for sent in django_mail.outbox} == {"ada@example.org", "new@example.org"}
    invitation = study.invitations.get()
    assert (invitation.label, invitation.email) == ("cohort 2", "new@example.org")


def test_a_researcher_does_not_learn_who_has_an_account(study):
    account, outcome = invited(study, member(study, Role.RESEARCHER))
    assert outcome.invited == ["ada@example.org", "new@example.org"]
    assert not study.memberships.filter(user=account).exists()


def test_the_link_of_the_mail_opens_the_invitation(study):
    invited(study, member(study, Role.RESEARCHER))
    token = next(
        line.split("/join/")[1].strip("/") for line in django_mail.outbox[1].body.split() if "/join/" in line
    )
    newcomer = UserFactory()
    members.accept_invitation(token, newcomer)
    accepted = [use.user for each in members.with_acceptances(study) for use in each.accepted.all()]
    assert accepted == [newcomer]


def test_a_link_that_was_withdrawn_is_not_sent(study):
    admin = member(study, Role.ADMIN)
    members.invite_by_mail(
        study, emails=["new@example.org"], role=Role.ANNOTATOR, actor=admin, join_link=JOIN
    )
    members.revoke_invitation(study.invitations.get(), actor=admin)
    assert delivery.send_due() == 0
    mail = Mail.objects.get()
    assert (mail.state, mail.text, mail.html) == ("failed", "", "")


def test_who_was_removed_does_not_come_back_by_the_same_link(study):
    _invitation, token = members.invite(
        study, role=Role.ANNOTATOR, actor=member(study, Role.ADMIN), max_uses=5
    )
    rater = UserFactory()
    membership = members.accept_invitation(token, rater)
    members.remove_member(membership, actor=study.memberships.get(role=Role.ADMIN).user)
    with pytest.raises(NotFound, match="Ask for a new one"):
        members.accept_invitation(token, rater)
    assert members.accept_invitation(token, UserFactory()).role == Role.ANNOTATOR


def test_nobody_joins_an_archived_study(study):
    admin = member(study, Role.ADMIN)
    _invitation, token = members.invite(study, role=Role.ANNOTATOR, actor=admin)
    lifecycle.archive_study(study, actor=admin)
    with pytest.raises(Conflict, match="archived"):
        members.accept_invitation(token, UserFactory())
    assert not study.raters.exists()


# ── Notices ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("gone", ["study", "site"])
def test_who_has_left_hears_of_no_job(study, gone):
    user = member(study, Role.RESEARCHER, mails_jobs=True)
    job = Job.objects.create(kind="export", study=study, created_by=user, state="done", params={})
    notices.job_finished(job)
    assert Mail.objects.count() == 1
    if gone == "study":
        study.memberships.all().delete()
    user.is_active = gone != "site"
    notices.job_finished(job)
    assert Mail.objects.count() == 1


@pytest.mark.parametrize(("wants", "n"), [(True, 1), (False, 0)])
def test_a_finished_job_is_told_to_whoever_started_it_and_wants_to_know(study, monkeypatch, wants, n):
    monkeypatch.setitem(jobs.JOB_KINDS, "export", "builtins:vars")  # fails: it is given a job
    user = member(study, Role.RESEARCHER, mails_jobs=wants)
    job = jobs.enqueue("export", study=study, params={}, actor=user)
    monkeypatch.setattr(jobs, "_handler", lambda kind: lambda running: {})
    jobs.run(job.pk)
    assert Job.objects.get().state == "done"
    delivery.send_due()
    assert len(django_mail.outbox) == n
    if n:
        assert f"/jobs/{job.pk}/" in django_mail.outbox[0].body


@pytest.mark.parametrize(("wants", "n"), [(True, 1), (False, 0)])
def test_assigned_cases_are_told_to_the_expert(study, wants, n):
    from annotation.models import ReviewCase
    from tests.factories import rating_task

    expert = member(study, Role.EXPERT, mails_cases=wants)
    task = rating_task(study, "one")
    case = ReviewCase.objects.create(
        study=study, item=task.item_version.item, item_version=task.item_version, task=task
    )
    cases.assign(member(study, Role.RESEARCHER), study.slug, [case.pk], expert=expert.email)
    assert delivery.send_due() == n


# ── The environment ──────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", ("console", "localhost", 25, "", False, False)),
        (
            "smtp://me%40lab:pa%2Fss@mail.lab.example",
            ("smtp", "mail.lab.example", 587, "me@lab", True, False),
        ),
        ("smtps://mail.lab.example:4650", ("smtp", "mail.lab.example", 4650, "", False, True)),
        ("smtp+plain://relay", ("smtp", "relay", 25, "", False, False)),
        ("file:///tmp/mails", ("filebased", "localhost", 25, "", False, False)),
    ],
)
def test_the_mail_server_is_one_address(monkeypatch, value, expected):
    monkeypatch.setenv("CONCORD_EMAIL_URL", value)
    mailer = env.mailer("CONCORD_EMAIL_URL")
    name = mailer.backend.split(".")[-2]
    assert (name, mailer.host, mailer.port, mailer.user, mailer.starttls, mailer.tls) == expected


@pytest.mark.parametrize(
    "value", ["mail.example.org", "smtp://", "smtp://host:port", "file://folder", "http://x"]
)
def test_nonsense_stops_the_program(monkeypatch, value):
    monkeypatch.setenv("CONCORD_EMAIL_URL", value)
    with pytest.raises(env.BadEnvironment, match="CONCORD_EMAIL_URL"):
        env.mailer("CONCORD_EMAIL_URL")
