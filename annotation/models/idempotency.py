"""Stored responses of idempotency keys."""

from __future__ import annotations

from django.db import models
from django.utils import timezone


class KeptAnswer(models.Model):
    """The first answer to a write that came with an Idempotency-Key, for a day.

    It was stored in the transaction of what it tells of: there is one exactly where the work was done.
    """

    user = models.ForeignKey("annotation.User", models.CASCADE, related_name="+")
    # A digest of the key and of the token it came with: what one token was answered is nothing for another.
    name = models.CharField(max_length=64)
    # A digest of method, address and body.
    request_sha256 = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField()
    # None where the answer held a secret that is shown once.
    body = models.TextField(null=True)  # noqa: DJ001  # empty is an answer of its own: 204
    created_at = models.DateTimeField(default=timezone.now, db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "name"], name="kept_answer_once_per_key")]
