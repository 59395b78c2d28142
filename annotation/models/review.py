"""Stage 3: cases for experts, AI drafts, and corrections that make new item versions."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class ReviewCase(models.Model):
    class State(models.TextChoices):
        OPEN = "open", _("Open")
        CLAIMED = "claimed", _("Claimed")
        RETURNED = "returned", _("Returned")
        RESOLVED = "resolved", _("Resolved")

    class Decision(models.TextChoices):
        UNDECIDED = "", _("Undecided")
        CORRECTED = "corrected", _("Corrected")
        FINE = "fine", _("Fine as it is")
        WITHDRAWN = "withdrawn", _("Item withdrawn")
        RETURNED = "returned", _("Returned to raters")

    study = models.ForeignKey("annotation.Study", models.CASCADE, related_name="review_cases")
    item = models.ForeignKey("annotation.Item", models.CASCADE, related_name="review_cases")
    item_version = models.ForeignKey("annotation.ItemVersion", models.PROTECT, related_name="+")
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    decision = models.CharField(max_length=10, choices=Decision.choices, blank=True, default="")
    priority = models.FloatField(default=0.0)
    assigned_to = models.ForeignKey(
        "annotation.User", models.SET_NULL, null=True, blank=True, related_name="+"
    )
    claim_expires_at = models.DateTimeField(null=True, blank=True)
    # The expert's own judgment, stored before the votes are revealed.
    blind_judgment = models.ForeignKey(
        "annotation.Judgment", models.PROTECT, null=True, blank=True, related_name="+"
    )
    comment = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)
    resolved_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["item_version"],
                condition=~Q(state="resolved"),
                name="review_case_one_unresolved_per_version",
            )
        ]
        indexes = [models.Index(fields=["study", "state", "-priority", "id"], name="review_queue")]


class CaseReason(models.Model):
    """A rule that fired for a case, when, and on what evidence."""

    case = models.ForeignKey(ReviewCase, models.CASCADE, related_name="reasons")
    rule = models.CharField(max_length=40)
    evidence = models.JSONField(default=dict)
    fired_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["case", "rule"], name="case_reason_once_per_rule")]


class Draft(models.Model):
    """A model's proposal for one field. Nothing is published from it without a person."""

    class State(models.TextChoices):
        PROPOSED = "proposed", _("Proposed")
        ACCEPTED = "accepted", _("Accepted")
        EDITED = "edited", _("Accepted with edits")
        REJECTED = "rejected", _("Rejected")
        FAILED = "failed", _("Failed")

    case = models.ForeignKey(ReviewCase, models.CASCADE, related_name="drafts")
    field = models.CharField(max_length=20)
    text = models.TextField(blank=True, default="")
    provenance = models.JSONField(default=dict)
    state = models.CharField(max_length=10, choices=State.choices, default=State.PROPOSED)
    created_at = models.DateTimeField(default=timezone.now)


class Correction(models.Model):
    """One field of an item changed by an expert. Append-only (trigger)."""

    class Origin(models.TextChoices):
        EXPERT = "expert", _("Expert")
        DRAFT_ACCEPTED = "draft", _("AI draft, accepted")
        DRAFT_EDITED = "edited", _("AI draft, edited")

    case = models.ForeignKey(ReviewCase, models.PROTECT, null=True, related_name="corrections")
    version_before = models.ForeignKey("annotation.ItemVersion", models.PROTECT, related_name="+")
    version_after = models.ForeignKey("annotation.ItemVersion", models.PROTECT, related_name="corrections")
    field = models.CharField(max_length=20)
    before = models.TextField(blank=True)
    after = models.TextField(blank=True)
    reason = models.CharField(max_length=40)
    comment = models.TextField(blank=True, default="")
    origin = models.CharField(max_length=10, choices=Origin.choices, default=Origin.EXPERT)
    draft = models.ForeignKey(Draft, models.PROTECT, null=True, related_name="+")
    author = models.ForeignKey("annotation.User", models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["version_after", "field"], name="correction_once_per_field"),
        ]
