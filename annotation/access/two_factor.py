"""Whose sessions need a second factor."""

from __future__ import annotations

from allauth.mfa.models import Authenticator
from django.conf import settings

from annotation.models import Membership, User
from annotation.models.people import MANAGING_ROLES, Role

_ROLES = {"admins": (Role.ADMIN,), "researchers": MANAGING_ROLES}


def lacks_second_factor(user: User) -> bool:
    """Whether the account has a role for which this site requires a second factor, and has none. Accounts without a
    password sign in elsewhere, where a second factor is that site's matter."""
    roles = _ROLES.get(settings.REQUIRE_TWO_FACTOR)
    if roles is None or not user.has_usable_password():
        return False
    if Authenticator.objects.filter(user_id=user.pk, type=Authenticator.Type.TOTP).exists():
        return False
    return user.is_superuser or Membership.objects.filter(user_id=user.pk, role__in=roles).exists()
