"""What raters do before they rate: consent to a version of its text, demographics, guidelines read, training runs."""

from __future__ import annotations

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class ConsentVersion(models.Model):
    """One version of what a study's raters consent to, in Markdown by language. Append-only (trigger): another text is
    another version.

    `reconsent` says who consents anew: with `everybody`, an acceptance of an earlier version does not hold any more.
    """

    class Reconsent(models.TextChoices):
        NEW = "new", _("Only raters who have not consented yet")
        EVERYBODY = "everybody", _("Every rater, before their next task")

    study = models.ForeignKey("annotation.Study", models.CASCADE, related_name="consent_versions")
    number = models.PositiveIntegerField()
    texts = models.JSONField()
    reconsent = models.CharField(max_length=10, choices=Reconsent.choices, default=Reconsent.NEW)
    created_by = models.ForeignKey("annotation.User", models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "number"], name="consent_version_number_once")
        ]

    def __str__(self) -> str:
        return f"{self.study_id}/{self.number}"


class Consent(models.Model):
    """A rater accepted or declined a version, in the language that they read. Append-only (trigger): the latest row of
    a rater stands."""

    rater = models.ForeignKey("annotation.Rater", models.CASCADE, related_name="consents")
    version = models.ForeignKey(ConsentVersion, models.PROTECT, related_name="decisions")
    accepted = models.BooleanField()
    language = models.CharField(max_length=10)
    decided_at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [models.Index(fields=["rater", "-id"], name="consent_latest_of_rater")]


class Demographics(models.Model):
    """A rater's answers about themselves, by question key. They lie apart from judgments, leave the product in no
    export of judgments, and may be deleted by the rater and by those who run the study."""

    rater = models.OneToOneField("annotation.Rater", models.CASCADE, related_name="demographics")
    answers = models.JSONField()
    answered_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name_plural = "demographics"


class GuidelinesReading(models.Model):
    """A rater opened the guidelines of a protocol version and went on from there."""

    rater = models.ForeignKey("annotation.Rater", models.CASCADE, related_name="guidelines_read")
    protocol_version = models.ForeignKey("annotation.ProtocolVersion", models.PROTECT, related_name="+")
    read_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["rater", "protocol_version"], name="guidelines_read_once")
        ]


class TrainingRun(models.Model):
    """One attempt of a rater at the training tasks of their study, in this order of `tasks`.

    `number` is the `pass_number` of its assignments. A run that is revoked counts neither as passed nor as an attempt:
    training is due again.
    """

    class State(models.TextChoices):
        OPEN = "open", _("Open")
        PASSED = "passed", _("Passed")
        FAILED = "failed", _("Failed")

    rater = models.ForeignKey("annotation.Rater", models.CASCADE, related_name="training_runs")
    number = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=8, choices=State.choices, default=State.OPEN)
    # Ids, as the study listed them when the run began: a task that is added or removed later does not move the mark.
    tasks = models.JSONField(default=list)
    needed = models.PositiveSmallIntegerField()
    n_correct = models.PositiveSmallIntegerField(default=0)
    started_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    revoked_for = models.CharField(max_length=200, blank=True, default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["rater", "number"], name="training_run_number_once"),
            models.UniqueConstraint(
                fields=["rater"],
                condition=models.Q(state="open", revoked_at=None),
                name="training_run_one_open",
            ),
        ]
