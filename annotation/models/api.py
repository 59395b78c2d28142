"""Personal access tokens, and stored responses of idempotency keys."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class Scope(models.TextChoices):
    """What a token may be used for, within what its account may do."""

    READ = "read", _("Read")
    RATE = "rate", _("Rate")
    REVIEW = "review", _("Review")
    MANAGE = "manage", _("Manage")


class ApiToken(models.Model):
    """A personal token of an account. Only a digest is kept: the token is shown once.

    It never allows more than the account may do itself, and ends with the account.
    """

    user = models.ForeignKey("annotation.User", models.CASCADE, related_name="api_tokens")
    # What its owner calls it: where it is used.
    name = models.CharField(max_length=100)
    # How it begins, so that its owner can tell their tokens apart.
    prefix = models.CharField(max_length=16)
    sha256 = models.CharField(max_length=64, unique=True)
    scopes = ArrayField(models.CharField(max_length=10, choices=Scope.choices))
    # The studies it is limited to; None for all that its account takes part in.
    study_ids = ArrayField(models.BigIntegerField(), null=True, blank=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    # To some minutes: a write for each request would cost more than what it tells.
    last_used_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    @property
    def is_open(self) -> bool:
        return self.revoked_at is None and self.expires_at > timezone.now()

    @property
    def scope_names(self) -> list[str]:
        return [str(Scope(scope).label) for scope in self.scopes]


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
