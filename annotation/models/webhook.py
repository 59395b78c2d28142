"""Webhooks of a study, and their deliveries."""

from __future__ import annotations

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotation.models.job import Mark


class Webhook(Mark):
    """One address. It is also the mark of how far it has been told of the study's log and judgments.

    Secrets are not here: each is made of its seed and this site's key, so that a copy of the database signs nothing.
    """

    class Pause(models.TextChoices):
        NONE = "", _("Not paused")
        GONE = "gone", _("The address answered 410 Gone")
        FAILING = "failing", _("No delivery succeeded for days")

    study = models.ForeignKey("annotation.Study", models.CASCADE, related_name="webhooks")
    address = models.CharField(max_length=2000)
    description = models.CharField(max_length=200, blank=True, default="")
    # Patterns of event names, such as judgment.* and study.state_changed.
    events = ArrayField(models.CharField(max_length=60))
    with_answers = models.BooleanField(default=False)
    # Off: nothing is collected. Paused: everything is, and sent once it is resumed.
    active = models.BooleanField(default=True)
    paused = models.CharField(max_length=10, choices=Pause.choices, blank=True, default="")
    seed = models.BinaryField(max_length=32)
    # The secret before the last change signs, too, until then.
    old_seed = models.BinaryField(max_length=32, null=True)
    old_seed_until = models.DateTimeField(null=True)
    # Since the last thing that got through; what follows waits until `hold_until`.
    n_failures = models.PositiveIntegerField(default=0)
    failing_since = models.DateTimeField(null=True)
    hold_until = models.DateTimeField(null=True)
    created_by = models.ForeignKey("annotation.User", models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    # The pass under way, which may take several sweeps: what was in sight when it began (as `jobs.sweeps.VisibleHeads`;
    # empty where none is), and by source up to which id it has come.
    sight = models.JSONField(default=list)
    reached = models.JSONField(default=dict)
    # When something was last collected for it: webhooks take turns.
    collected_at = models.DateTimeField(default=timezone.now)


class WebhookDelivery(models.Model):
    """One event for one address, however often it is tried: `delivery_id` stays the same, so a receiver that hears it
    twice can tell."""

    class State(models.TextChoices):
        WAITING = "waiting", _("Waiting")
        DELIVERED = "delivered", _("Delivered")
        FAILED = "failed", _("Failed")
        DROPPED = "dropped", _("Dropped: its rater has withdrawn")

    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="deliveries", db_index=False)
    delivery_id = models.UUIDField(default=uuid.uuid4, unique=True)
    # What it tells of: audit:17, judgment:4711, test:….
    source = models.CharField(max_length=60)
    event = models.CharField(max_length=60)
    rater = models.ForeignKey("annotation.Rater", models.CASCADE, null=True, related_name="+")
    # Exactly what is sent, so that it can be read again and sent again.
    body = models.TextField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    n_tries = models.PositiveSmallIntegerField(default=0)
    # While it is being sent: when another worker may take it over.
    due_at = models.DateTimeField(default=timezone.now)
    tried_at = models.DateTimeField(null=True)
    status = models.PositiveSmallIntegerField(null=True)
    duration_ms = models.PositiveIntegerField(null=True)
    # The beginning of the answer, or why there was none.
    answer = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["webhook", "source"], name="webhook_event_once")]
        indexes = [
            models.Index(fields=["webhook", "-id"], name="delivery_by_webhook"),
            models.Index(fields=["webhook", "due_at"], condition=Q(state="waiting"), name="delivery_waiting"),
        ]
