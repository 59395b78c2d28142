"""Files on their way into a study: received, looked at, not imported yet."""

from __future__ import annotations

import uuid

from django.db import models
from django.utils import timezone


class Upload(models.Model):
    """What somebody brought, until they have said what it holds. Its files go a day later, unless an import reads them.

    `study` is the one it is meant for; None where it is to make one.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    study = models.ForeignKey("annotation.Study", models.CASCADE, null=True, blank=True, related_name="+")
    created_by = models.ForeignKey("annotation.User", models.CASCADE, related_name="+")
    # A file, or the folder that an archive or a folder's files were laid out in, on the server that took it.
    source = models.CharField(max_length=500)
    # As whoever brought it calls it.
    name = models.CharField(max_length=200)
    n_files = models.PositiveIntegerField()
    n_bytes = models.BigIntegerField()
    created_at = models.DateTimeField(default=timezone.now)
