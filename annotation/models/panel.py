"""Crowdsourcing panels: links by which participants come, who they are there, and the places that they take."""

from __future__ import annotations

import secrets
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q, Value
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


def new_link_token() -> str:
    return secrets.token_urlsafe(9)


class PanelLink(models.Model):
    """One way into a study for the participants of a panel: an address to paste there, and where it leads back.

    The token is no secret: everybody in the panel sees it. The codes are: whoever has one is paid.
    """

    class Panel(models.TextChoices):
        PROLIFIC = "prolific", "Prolific"
        MTURK = "mturk", "Amazon Mechanical Turk"
        OTHER = "other", _("Another panel")

    study = models.ForeignKey("annotation.Study", models.CASCADE, related_name="panel_links")
    name = models.CharField(max_length=100)
    panel = models.CharField(max_length=10, choices=Panel.choices)
    token = models.CharField(max_length=20, unique=True, default=new_link_token)
    # The URL parameter that names the participant, those that are recorded beside it, and the one that signs it.
    id_parameter = models.CharField(max_length=60)
    recorded_parameters = ArrayField(models.CharField(max_length=60), default=list, blank=True)
    signature_parameter = models.CharField(max_length=60, blank=True, default="")
    signature_secret = models.CharField(max_length=100, blank=True, default="")
    # By the reason for which a participant is sent back: a code, or the whole address.
    completed_code = models.CharField(max_length=500, blank=True, default="")
    screened_out_code = models.CharField(max_length=500, blank=True, default="")
    failed_quality_code = models.CharField(max_length=500, blank=True, default="")
    no_consent_code = models.CharField(max_length=500, blank=True, default="")
    # A batch: so many judgments, then the code. Null: as long as there are tasks.
    batch_size = models.PositiveIntegerField(null=True, blank=True)
    max_batches = models.PositiveSmallIntegerField(default=1)
    # The most participants at work or done, in all and of some kind: [{"field": …, "value": …, "places": n}, …].
    places = models.PositiveIntegerField(null=True, blank=True)
    quotas = models.JSONField(default=list, blank=True)
    # The most tasks of one batch whose items are of a stratum, in the same shape: field and value are the stratum's.
    stratum_quotas = models.JSONField(default=list, blank=True, db_default=Value([], models.JSONField()))
    # A place is free again after so long without a sign of life, and so long after its participant began (0: never).
    idle_minutes = models.PositiveSmallIntegerField(default=30)
    limit_minutes = models.PositiveSmallIntegerField(default=0)
    may_return = models.BooleanField(default=True)
    # What the panel pays for a batch, for the payment table alone.
    reward = models.DecimalField(max_digits=8, decimal_places=2, null=True, blank=True)
    currency = models.CharField(max_length=3, blank=True, default="")
    is_open = models.BooleanField(default=True)
    created_by = models.ForeignKey("annotation.User", models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.name

    @property
    def codes(self) -> dict[str, str]:
        return {
            "completed": self.completed_code,
            "screened_out": self.screened_out_code,
            "failed_quality": self.failed_quality_code,
            "no_consent": self.no_consent_code,
        }


class Participant(models.Model):
    """A rater who came by a panel, under the name that the panel gave them. It leaves the product in payment tables
    alone, never in an export."""

    rater = models.OneToOneField(
        "annotation.Rater", models.CASCADE, primary_key=True, related_name="participant"
    )
    study = models.ForeignKey("annotation.Study", models.CASCADE, related_name="participants", db_index=False)
    panel = models.CharField(max_length=10, choices=PanelLink.Panel.choices)
    external_id = models.CharField(max_length=200)
    # A walk of somebody who runs the study: no judgment of it counts.
    is_test = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "panel", "external_id"], name="participant_once_per_study_and_panel"
            )
        ]


class Place(models.Model):
    """One batch of one participant: what a link's places, codes and payments are about."""

    class State(models.TextChoices):
        WORKING = "working", _("Working")
        COMPLETED = "completed", _("Completed")
        SCREENED_OUT = "screened_out", _("Screened out")
        FAILED_QUALITY = "failed_quality", _("Failed quality checks")
        NO_CONSENT = "no_consent", _("No consent")
        RETURNED = "returned", _("Returned")
        TIMED_OUT = "timed_out", _("Timed out")

    # Those that hold one of the link's places.
    TAKEN = (State.WORKING, State.COMPLETED)
    # Those after which the participant may go on where they were.
    REOPENED = (State.RETURNED, State.TIMED_OUT)

    link = models.ForeignKey(PanelLink, models.PROTECT, related_name="taken_places")
    participant = models.ForeignKey(Participant, models.CASCADE, related_name="places")
    number = models.PositiveSmallIntegerField(default=1)
    state = models.CharField(max_length=15, choices=State.choices, default=State.WORKING)
    parameters = models.JSONField(default=dict, blank=True)
    # The rater's `n_answered` when the batch began.
    answered_before = models.IntegerField(default=0)
    started_at = models.DateTimeField(default=timezone.now)
    last_seen_at = models.DateTimeField(default=timezone.now)
    # When its participant came back after a return or a time-out: from then the link's time limit runs anew.
    resumed_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    bonus = models.DecimalField(max_digits=8, decimal_places=2, default=0)
    note = models.CharField(max_length=300, blank=True, default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["participant", "number"], name="place_once_per_batch"),
            models.UniqueConstraint(
                fields=["participant"], condition=Q(state="working"), name="place_one_at_a_time"
            ),
        ]
        indexes = [
            models.Index(fields=["last_seen_at"], condition=Q(state="working"), name="place_working_by_sight")
        ]

    def as_fields(self) -> dict[str, Any]:
        """What an address to send back to may name."""
        return {**self.parameters, "participant": self.participant.external_id}
