"""The outbox: a mail is a row, written in the transaction that it reports and sent after its commit. A mail server
that is slow or down costs the request nothing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone, translation

from annotation.errors import Conflict
from annotation.jobs import task_messages
from annotation.mail.messages import Message
from annotation.models import Invitation, Mail, Study, User

HOUR = timedelta(hours=1)
# Mails within an hour to one address, whoever causes them: nobody's mailbox is flooded by way of this site.
PER_ADDRESS = 10


def remaining_for(actor: User) -> int:
    """How many more mails this account may cause within the hour."""
    sent = Mail.objects.filter(sent_by=actor, created_at__gt=timezone.now() - HOUR).count()
    return max(0, settings.MAIL_PER_PERSON - sent)


def check_quota(actor: User, n: int) -> None:
    """Raise Conflict where an account would cause more mails than it may within an hour."""
    most, left = settings.MAIL_PER_PERSON, remaining_for(actor)
    if n > left:
        raise Conflict(
            f"You may send {most} mails an hour, and {left} are left. Copy a link instead, or send the rest later.",
            code="too_many_mails",
        )


def post(
    to: str,
    write: Callable[[], Message],
    *,
    kind: Mail.Kind,
    user: User | None = None,
    sent_by: User | None = None,
    study: Study | None = None,
    invitation: Invitation | None = None,
    limited: bool = True,
) -> Mail | None:
    """Put a mail into the outbox, written in the language of the account it is to, or else in the current one. None,
    and nothing is sent, where the address has had too many within the hour. Not `limited`: what nobody may keep from
    its reader by causing others."""
    if user is not None and user.session_only:
        return None  # participants of panels have no address
    if limited and Mail.objects.filter(to=to, created_at__gt=timezone.now() - HOUR).count() >= PER_ADDRESS:
        return None
    with translation.override((user.language if user else "") or translation.get_language()):
        message = write()
        mail = Mail.objects.create(
            kind=kind,
            to=to,
            user=user,
            sent_by=sent_by,
            study=study,
            invitation=invitation,
            subject=" ".join(message.subject.split())[:300],
            text=message.text,
            html=message.html,
        )
    transaction.on_commit(wake_sender, robust=True)
    return mail


def withdraw(mails: QuerySet[Mail]) -> None:
    """Send no more of these those that still wait."""
    waiting = mails.filter(state=Mail.State.WAITING)
    waiting.update(state=Mail.State.FAILED, text="", html="", error="Withdrawn before it was sent.")


def wake_sender() -> None:
    task_messages.send_task("annotation.tasks.send_mail")


def site_address(path: str) -> str:
    """A page's address for a mail that no request causes."""
    return f"{settings.SITE_URL}{path}"


def address_by(request: HttpRequest, path: str) -> str:
    """A page's address for a mail that a request causes: by the name that it used for this site, unless it may use any.
    Then the link, and what it opens, would go to whomever it names."""
    return site_address(path) if "*" in settings.ALLOWED_HOSTS else request.build_absolute_uri(path)
