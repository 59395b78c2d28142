"""How an account signs in besides its password, and whose sessions need a second factor."""

from __future__ import annotations

from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.conf import settings

from annotation.models import Membership, User
from annotation.models.people import MANAGING_ROLES, Role

_ROLES = {"admins": (Role.ADMIN,), "researchers": MANAGING_ROLES}


def has_second_factor(user: User) -> bool:
    return Authenticator.objects.filter(user_id=user.pk, type=Authenticator.Type.TOTP).exists()


def sign_on_providers(user: User) -> list[str]:
    """The names of the providers by which this account has signed in, as long as they may be used."""
    provider = settings.SINGLE_SIGN_ON
    connected = provider and SocialAccount.objects.filter(user_id=user.pk).exists()
    return [provider.name] if connected else []


def lacks_second_factor(user: User) -> bool:
    """Whether the account has a role for which this site requires a second factor, and has none. Accounts without a
    password sign in elsewhere, where a second factor is that site's matter."""
    roles = _ROLES.get(settings.REQUIRE_TWO_FACTOR)
    if roles is None or not user.has_usable_password():
        return False
    if has_second_factor(user):
        return False
    return user.is_superuser or Membership.objects.filter(user_id=user.pk, role__in=roles).exists()
