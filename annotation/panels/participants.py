"""Participants of panels: who a link brings becomes a rater with an account for the session alone.

Such an account has no password and no address, so nothing signs in with it but a panel link; it reaches the pages of
its own study and no other (`annotation.panels.confinement`). One session at a time: beginning on another device ends
the one before, because a session carries a hash of the account's (unusable) password.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from django.core import signing
from django.db import IntegrityError, transaction
from django.urls import reverse

from annotation.errors import Conflict, NotFound
from annotation.models import PanelLink, Participant, Place, Rater, Study, User
from annotation.models.people import Role
from annotation.panels import links, places
from annotation.panels.rules import Arrival, read_arrival
from annotation.studies import members

_WALK_SALT = "concord.panel.walk"
WALK_PARAMETER = "walk"
WALK_SECONDS = 7 * 24 * 3600
_SENT_BACK_SALT = "concord.panel.participant"


@dataclass(frozen=True)
class Begun:
    """A participant with their account and their place."""

    participant: Participant
    user: User
    place: Place


def link_by_token(token: str) -> PanelLink:
    link = PanelLink.objects.select_related("study__protocol_version").filter(token=token).first()
    if link is None or link.study.is_read_only or link.study.deleted_at is not None:
        raise NotFound("This link leads nowhere. Check it in your panel, or write to the researchers there.")
    return link


def arrival(link: PanelLink, query: Mapping[str, str]) -> Arrival:
    """Who opens this link: a participant of the panel, or somebody who walks through it as a test."""
    if walk := query.get(WALK_PARAMETER):
        try:
            number = signing.loads(walk, salt=f"{_WALK_SALT}.{link.pk}", max_age=WALK_SECONDS)
        except signing.BadSignature:
            return Arrival(problem="old_walk")
        return Arrival(f"test-{number}", {}, is_test=True)
    return read_arrival(links.rules_of(link), query)


def walk_address(link: PanelLink) -> str:
    """The path of a new test participant, for a week."""
    token = signing.dumps(uuid.uuid4().hex[:10], salt=f"{_WALK_SALT}.{link.pk}")
    return f"{reverse('enter_panel', args=[link.token])}?{WALK_PARAMETER}={token}"


def may_begin(link: PanelLink, arrived: Arrival) -> str:
    """Why this participant cannot begin or go on now, before anything is stored: a code of `begin`, or empty."""
    try:
        _check_open(link, _known(link, arrived))
    except Conflict as refusal:
        return refusal.code
    return ""


@transaction.atomic
def begin(link: PanelLink, arrived: Arrival, *, keep_session: bool = False) -> Begun:
    """Let somebody begin, or go on where they were, on this device alone, or in the session that they have. Idempotent
    for one participant.

    Raises Conflict with code `closed`, `full`, `no_tasks`, `no_more_batches` or `has_ended`.
    """
    link = (
        PanelLink.objects.select_for_update(no_key=True, of=("self",)).select_related("study").get(pk=link.pk)
    )
    participant = _known(link, arrived)
    _check_open(link, participant)
    if participant is None:
        try:
            with transaction.atomic():
                participant = _create(link, arrived)
        except IntegrityError:  # they come by another link of the study at this moment
            participant = _known(link, arrived)
            if participant is None:
                raise
    place = places.take_place(link, participant, arrived.parameters)
    user = participant.rater.user
    assert user is not None
    if not keep_session:
        user.set_unusable_password()  # another one: the session before ends
        user.save(update_fields=["password"])
    return Begun(participant, user, place)


def _known(link: PanelLink, arrived: Arrival) -> Participant | None:
    known = Participant.objects.select_related("rater__user", "rater__study").filter(
        study_id=link.study_id, panel=link.panel, external_id=arrived.participant_id
    )
    return known.first()


def _check_open(link: PanelLink, participant: Participant | None) -> None:
    """Whoever has begun may come back, also when the link or the study has stopped: to finish and be paid."""
    begun = participant is not None and participant.places.filter(state=Place.State.WORKING).exists()
    if begun:
        return
    if not link.is_open or link.study.state != Study.State.RUNNING:
        raise Conflict("This study takes no new participants now.", code="closed")


def _create(link: PanelLink, arrived: Arrival) -> Participant:
    user = User(email=f"{uuid.uuid4().hex}@participant.invalid", session_only=True, mails_cases=False)
    user.set_unusable_password()
    user.save()
    members.add_member(link.study, user, role=Role.ANNOTATOR, actor=None)
    rater = Rater.objects.select_related("user", "study").get(study=link.study, user=user)
    if arrived.is_test:
        rater.origin = Rater.Origin.TEST
        rater.save(update_fields=["origin"])
    User.objects.filter(pk=user.pk).update(name=rater.pseudonym)  # what logs and lists show
    return Participant.objects.create(
        rater=rater,
        study=link.study,
        panel=link.panel,
        external_id=arrived.participant_id,
        is_test=arrived.is_test,
    )


# ── The browser of a participant ───────────────────────────────────────────────
# A signed cookie names them there, so that a page can say what became of a session that another device took over, and
# lead back.

COOKIE = "concord_participant"
COOKIE_SECONDS = 30 * 24 * 3600


def cookie_of(participant: Participant, link: PanelLink) -> str:
    return signing.dumps({"participant": participant.pk, "link": link.pk}, salt=_SENT_BACK_SALT)


def of_cookie(value: str) -> tuple[Participant, PanelLink] | None:
    """The participant and the link that a browser's cookie names."""
    try:
        named = signing.loads(value, salt=_SENT_BACK_SALT, max_age=COOKIE_SECONDS)
    except signing.BadSignature:
        return None
    participant = (
        Participant.objects.select_related("rater__user", "rater__study")
        .filter(pk=named["participant"])
        .first()
    )
    link = PanelLink.objects.select_related("study").filter(pk=named["link"]).first()
    return None if participant is None or link is None else (participant, link)


def go_on_here(participant: Participant, link: PanelLink) -> Begun:
    """Take the session over to this browser, which the participant's cookie is in."""
    return begin(link, Arrival(participant.external_id, {}))
