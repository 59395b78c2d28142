"""Assignment: the lease of a task to a rater."""

from __future__ import annotations

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class Assignment(models.Model):
    """`id` is random and all that a browser ever learns about the task behind it.

    `presentation[p]` is the canonical slot shown at position p: [1, 0] shows the task's second candidate as A.

    An expert who judges a task blind, before seeing what others said, has an assignment too. It is no lease: it takes
    no place of the task's overlap, and nothing that raters do to theirs (answer, change, skip, give back) can be done
    to it.
    """

    class State(models.IntegerChoices):
        OPEN = 1, _("Open")
        SUBMITTED = 2, _("Submitted")
        SKIPPED = 3, _("Skipped")
        RETURNED = 4, _("Returned")
        EXPIRED = 5, _("Expired")
        REVIEWING = 6, _("Under review")
        REVIEWED = 7, _("Reviewed")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    task = models.ForeignKey("annotation.Task", models.CASCADE, related_name="assignments")
    rater = models.ForeignKey("annotation.Rater", models.CASCADE, related_name="assignments")
    # What was asked when the task was handed out: an answer is read by it even if the protocol has changed since.
    # No database constraint: one row per study that every lease would lock.
    protocol_version = models.ForeignKey(
        "annotation.ProtocolVersion", models.PROTECT, db_constraint=False, db_index=False, related_name="+"
    )
    pass_number = models.PositiveSmallIntegerField(default=1)
    state = models.PositiveSmallIntegerField(choices=State.choices, default=State.OPEN)
    presentation = ArrayField(models.PositiveSmallIntegerField())
    # Where a policy chose the task: which version, and the chance that it chose this one. Of what a plain order handed
    # out both are empty.
    policy = models.ForeignKey(
        "annotation.OrderingPolicy", models.PROTECT, null=True, blank=True, db_index=False, related_name="+"
    )
    inclusion_probability = models.FloatField(null=True, blank=True)
    # Where the study shows scores: what the model said of the task then, with the share not shown then ("withheld"),
    # and whether the rater was shown it. What was kept from them at random tells what showing does.
    hint = models.JSONField(null=True, blank=True)
    hint_shown = models.BooleanField(null=True, blank=True)
    leased_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)
    skip_reason = models.CharField(max_length=40, blank=True, default="")
    skip_comment = models.TextField(blank=True, default="")

    RATERS_OWN = (State.OPEN, State.SUBMITTED, State.SKIPPED, State.RETURNED, State.EXPIRED)

    class Meta:
        constraints = [
            # No rater meets a task twice, except for passes that the study asks for. A lease that ran out or was
            # given back unanswered does not count as met.
            models.UniqueConstraint(
                fields=["task", "rater", "pass_number"],
                condition=Q(state__in=(1, 2, 3)),
                name="assignment_once_per_pass",
            ),
            models.UniqueConstraint(
                fields=["task", "rater"], condition=Q(state__in=(6, 7)), name="assignment_one_review"
            ),
        ]
        indexes = [
            models.Index(
                fields=["rater", "leased_at"], condition=Q(state=1), name="assignment_open_of_rater"
            ),
            models.Index(fields=["expires_at"], condition=Q(state=1), name="assignment_open_by_expiry"),
            models.Index(
                fields=["rater", "closed_at"], condition=Q(state=3), name="assignment_skipped_of_rater"
            ),
            models.Index(fields=["closed_at"], condition=Q(state=3), name="assignment_skipped"),
        ]
