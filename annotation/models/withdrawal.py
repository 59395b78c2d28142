"""A person who wants to be taken out of a study."""

from __future__ import annotations

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotation.rules.anonymity import SALT_BYTES, new_salt


class RaterWithdrawal(models.Model):
    """From this row on nothing that the rater said counts or leaves the product under their name. Append-only
    (trigger), and there is no way back: the person may join again, as somebody else.

    Its id is what releases name when they say which withdrawals they honour.
    """

    class Mode(models.TextChoices):
        REMOVED = "removed", _("Removed: what they said is in no later export or release")
        ANONYMISED = "anonymised", _("Anonymised: it stays there without name, words, times or listening log")

    rater = models.OneToOneField("annotation.Rater", models.PROTECT, related_name="withdrawal")
    mode = models.CharField(max_length=10, choices=Mode.choices)
    note = models.TextField(blank=True, default="")
    withdrawn_by = models.ForeignKey("annotation.User", models.PROTECT, null=True, related_name="+")
    withdrawn_at = models.DateTimeField(default=timezone.now)
    # Known to nobody outside: by it judgments of the anonymised get other names, the same in every later release.
    salt = models.BinaryField(max_length=SALT_BYTES, default=new_salt)
