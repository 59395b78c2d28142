"""Stage 3: cases for experts, what became of them, AI drafts, and corrections that make new item versions."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class ReviewCase(models.Model):
    """One version of an item that an expert should look at. At most one unresolved case per version.

    `task` is the one that the expert judges blind: the one on which the first rule's evidence weighs most. An item
    without tasks has none, and its case no blind stage.
    """

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
        SUPERSEDED = "superseded", _("Settled elsewhere")

    study = models.ForeignKey("annotation.Study", models.CASCADE, related_name="review_cases", db_index=False)
    item = models.ForeignKey("annotation.Item", models.CASCADE, related_name="review_cases")
    item_version = models.ForeignKey("annotation.ItemVersion", models.PROTECT, related_name="review_cases")
    task = models.ForeignKey("annotation.Task", models.PROTECT, null=True, blank=True, related_name="+")
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    decision = models.CharField(max_length=10, choices=Decision.choices, blank=True, default="")
    priority = models.FloatField(default=0.0)
    # The rules that fired, as the queue shows and filters them; their evidence is in `reasons`.
    rules = ArrayField(models.CharField(max_length=40), default=list)
    # Whom a researcher has given the case to, and who is at it now.
    assigned_to = models.ForeignKey(
        "annotation.User", models.SET_NULL, null=True, blank=True, related_name="+", db_index=False
    )
    claimed_by = models.ForeignKey(
        "annotation.User", models.SET_NULL, null=True, blank=True, related_name="+"
    )
    claim_expires_at = models.DateTimeField(null=True, blank=True)
    # The expert's own judgment, stored before the votes are revealed.
    blind_judgment = models.ForeignKey(
        "annotation.Judgment", models.PROTECT, null=True, blank=True, related_name="+"
    )
    n_returns = models.PositiveSmallIntegerField(default=0)
    comment = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)
    decided_by = models.ForeignKey(
        "annotation.User", models.SET_NULL, null=True, blank=True, related_name="+"
    )
    resolved_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["item_version"],
                condition=~Q(state="resolved"),
                name="review_case_one_unresolved_per_version",
            )
        ]
        indexes = [
            models.Index(fields=["study", "state", "-priority", "id"], name="review_queue"),
            models.Index(
                fields=["study", "-priority", "id"], condition=~Q(state="resolved"), name="review_unresolved"
            ),
            # An expert's own cases, of which there may be none in a long queue.
            models.Index(fields=["assigned_to", "study", "state", "-priority", "id"], name="review_assigned"),
            # Rules that few cases have: the two above would be walked to their end.
            GinIndex(fields=["rules"], name="review_by_rule"),
            models.Index(
                fields=["claim_expires_at"], condition=Q(state="claimed"), name="review_claim_by_expiry"
            ),
        ]


class CaseReason(models.Model):
    """A rule that fired for a case, when, and on what evidence."""

    case = models.ForeignKey(ReviewCase, models.CASCADE, related_name="reasons")
    rule = models.CharField(max_length=40)
    evidence = models.JSONField(default=dict)
    fired_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["case", "rule"], name="case_reason_once_per_rule")]


class CaseEvent(models.Model):
    """What happened to a case. Append-only (trigger); the item's timeline is made of these."""

    class Kind(models.TextChoices):
        OPENED = "opened", _("Opened")
        FIRED = "fired", _("Another rule fired")
        ASSIGNED = "assigned", _("Assigned")
        CLAIMED = "claimed", _("Claimed")
        RELEASED = "released", _("Put back")
        JUDGED = "judged", _("Judged blind")
        DRAFTED = "drafted", _("Drafts asked for")
        RETURNED = "returned", _("Returned")
        CAME_BACK = "came_back", _("Came back")
        DECIDED = "decided", _("Decided")
        UNDONE = "undone", _("Decision undone")

    case = models.ForeignKey(ReviewCase, models.CASCADE, related_name="events")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    actor = models.ForeignKey("annotation.User", models.PROTECT, null=True, related_name="+")
    data = models.JSONField(default=dict)
    at = models.DateTimeField(default=timezone.now)


class Return(models.Model):
    """An expert asks again: the rater of one judgment to look once more, or the pool for more judgments of a task.

    `n_wanted` is how many more judgments the pool was asked for. The comment is for whoever is asked.
    """

    class State(models.TextChoices):
        WAITING = "waiting", _("Waiting")
        CHANGED = "changed", _("Changed")
        KEPT = "kept", _("Kept as it was")
        JUDGED = "judged", _("Judged")
        CANCELLED = "cancelled", _("Cancelled")

    case = models.ForeignKey(ReviewCase, models.CASCADE, related_name="returns")
    task = models.ForeignKey("annotation.Task", models.CASCADE, related_name="returns")
    # Of a return to its rater: their assignment, whose vote they may now change whatever the study's window.
    assignment = models.ForeignKey(
        "annotation.Assignment", models.CASCADE, null=True, blank=True, related_name="returns"
    )
    rater = models.ForeignKey(
        "annotation.Rater", models.CASCADE, null=True, blank=True, related_name="returns", db_index=False
    )
    n_wanted = models.PositiveSmallIntegerField(default=0)
    comment = models.TextField(blank=True, default="")
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    reply = models.TextField(blank=True, default="")
    created_by = models.ForeignKey("annotation.User", models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["assignment"], condition=Q(state="waiting"), name="return_once_per_assignment"
            )
        ]
        indexes = [
            models.Index(fields=["rater"], condition=Q(state="waiting"), name="return_waiting_of_rater"),
        ]


class Draft(models.Model):
    """A model's proposal for one field of a case's item. Nothing is published from it without a person."""

    class State(models.TextChoices):
        WAITING = "waiting", _("Waiting")
        PROPOSED = "proposed", _("Proposed")
        ACCEPTED = "accepted", _("Accepted")
        EDITED = "edited", _("Accepted with edits")
        REJECTED = "rejected", _("Rejected")
        UNUSED = "unused", _("Not used")
        FAILED = "failed", _("Failed")

    case = models.ForeignKey(ReviewCase, models.CASCADE, related_name="drafts")
    item_version = models.ForeignKey("annotation.ItemVersion", models.PROTECT, related_name="+")
    field = models.CharField(max_length=20)
    # Who writes it, as people know them; what exactly wrote it is in `provenance`.
    writer = models.CharField(max_length=80, blank=True, default="")
    text = models.TextField(blank=True, default="")
    provenance = models.JSONField(default=dict)
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    problem = models.TextField(blank=True, default="")
    requested_by = models.ForeignKey("annotation.User", models.SET_NULL, null=True, related_name="+")
    settled_by = models.ForeignKey("annotation.User", models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    written_at = models.DateTimeField(null=True, blank=True)
    settled_at = models.DateTimeField(null=True, blank=True)


class Correction(models.Model):
    """One field of an item changed by an expert. Append-only (trigger).

    One that was undone stands on a version that is `retracted`.
    """

    class Origin(models.TextChoices):
        EXPERT = "expert", _("Expert")
        DRAFT_ACCEPTED = "draft", _("AI draft, accepted")
        DRAFT_EDITED = "edited", _("AI draft, edited")

    # Repeated from the item, for the list of a study's.
    study = models.ForeignKey(
        "annotation.Study", models.CASCADE, db_constraint=False, db_index=False, related_name="+"
    )
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
        indexes = [models.Index(fields=["study", "id"], name="correction_study_keyset")]
