"""Sign-ins and sign-outs in the audit log, whichever door they came through: the site's, the admin's, an invitation."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.dispatch import receiver

from annotation import audit
from annotation.models import User


@receiver(user_logged_in, dispatch_uid="audit_sign_in")
def signed_in(user: User, **kwargs: Any) -> None:
    audit.record("user.signed_in", actor=user, subject=f"user {user.pk}")


@receiver(user_logged_out, dispatch_uid="audit_sign_out")
def signed_out(user: User | None, **kwargs: Any) -> None:
    if user is not None:  # Django also tells of visitors who were not signed in
        audit.record("user.signed_out", actor=user, subject=f"user {user.pk}")
