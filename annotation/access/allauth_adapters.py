"""django-allauth within Concord: who may sign in by way of an OpenID Connect provider, and as whom; second factors."""

from __future__ import annotations

import base64
import hashlib
import logging
from typing import Any, NoReturn
from urllib.parse import urlsplit

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from cryptography.fernet import Fernet
from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest
from django.shortcuts import redirect
from django.urls import Resolver404, resolve
from django.utils.translation import gettext as _

from annotation.access import accounts
from annotation.access.sign_in import client_address
from annotation.models import User
from annotation.studies import audit, members

logger = logging.getLogger(__name__)


class AccountAdapter(DefaultAccountAdapter):
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False  # by invitation, on a page of ours

    def get_client_ip(self, request: HttpRequest) -> str:
        return client_address(request)

    def add_message(
        self, request: HttpRequest, level: int, message_template: str | None = None, *args: Any, **kwargs: Any
    ) -> None:
        """That somebody has signed in they can see."""
        if message_template != "account/messages/logged_in.txt":
            super().add_message(request, level, message_template, *args, **kwargs)


class TwoFactorAdapter(DefaultMFAAdapter):
    """The secrets of authenticator apps are encrypted with a key made of SECRET_KEY: a copy of the database alone makes
    no codes."""

    def encrypt(self, text: str) -> str:
        return _cipher().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        return _cipher().decrypt(encrypted_text.encode()).decode()


def _cipher() -> Fernet:
    key = hashlib.sha256(f"two-factor {settings.SECRET_KEY}".encode()).digest()
    return Fernet(base64.urlsafe_b64encode(key))


class SingleSignOnAdapter(DefaultSocialAccountAdapter):
    """A provider's account leads to the account here that it led to before; else to the one with the same address, if
    both the provider and we know that the address is theirs; else to a new one, if the operator wants that."""

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        claims = _claims(sociallogin)
        if not _is_welcome(claims):
            _refuse(
                request, _("This account may not sign in here. Ask the person who runs this site."), claims
            )
        if not sociallogin.is_existing:
            invited = _invitation_waits(sociallogin.get_redirect_url(request))
            sociallogin.connect(request, _account_for(request, claims, invited=invited))
        if not sociallogin.user.is_active:
            _refuse(request, _("This account has been closed."), claims)

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        return False  # accounts are made above, or not at all

    def on_authentication_error(
        self,
        request: HttpRequest,
        provider: Any,
        error: Any = None,
        exception: Exception | None = None,
        extra_context: dict[str, Any] | None = None,
    ) -> None:
        logger.warning("Single sign-on failed (%s): %r", error, exception)
        text = _("Signing in with %(name)s did not succeed. Try again.") % {
            "name": settings.SINGLE_SIGN_ON.name
        }
        messages.error(request, text)
        raise ImmediateHttpResponse(redirect("sign_in"))


def _invitation_waits(path: str | None) -> bool:
    """Whether the page to which signing in leads back is an invitation that is open."""
    try:
        page = resolve(urlsplit(path or "").path)
    except Resolver404:
        return False
    if page.url_name != "join":
        return False
    invitation = members.invitation_by_token(page.kwargs["token"])
    return invitation is not None and invitation.is_open


def _claims(sociallogin: SocialLogin) -> dict[str, Any]:
    """Of the ID token, and what the userinfo endpoint adds."""
    data = sociallogin.account.extra_data
    claims: dict[str, Any] = {**(data.get("id_token") or {}), **(data.get("userinfo") or {})}
    return claims


def _is_welcome(claims: dict[str, Any]) -> bool:
    rules = settings.SINGLE_SIGN_ON
    if rules.domains:
        domain = str(claims.get("email", "")).lower().rpartition("@")[2]
        # An address that the provider has not checked may be of any domain.
        if domain not in rules.domains or claims.get("email_verified") is not True:
            return False
    if rules.claim:
        name, wanted = rules.claim
        value = claims.get(name)
        return wanted in ([str(each) for each in value] if isinstance(value, list) else [str(value)])
    return True


@transaction.atomic
def _account_for(request: HttpRequest, claims: dict[str, Any], *, invited: bool) -> User:
    email = str(claims.get("email", "")).strip().lower()
    if not email or claims.get("email_verified") is not True:
        _refuse(request, _("The provider does not say which checked e-mail address is yours."), claims)
    user = User.objects.filter(email=email).first()
    if user is not None:
        if user.has_usable_password() and not user.address_confirmed:
            _refuse(
                request,
                _(
                    "There is an account with your address already. Choose a new password for it once (“Forgot "
                    "password?”); that shows that the address is yours. Then sign in this way."
                ),
                claims,
            )
        audit.record("user.sso_connected", actor=user, subject=f"user {user.pk}")
        return user
    if not (invited or settings.SINGLE_SIGN_ON.creates_accounts):
        _refuse(request, _("You have no account here yet. Follow an invitation first."), claims)
    name = str(claims.get("name") or claims.get("preferred_username") or "")[:150]
    user = User.objects.create_user(email, None, name=name)
    accounts.confirm_mailbox(user)
    audit.record("user.created", actor=user, subject=f"user {user.pk}", by="single sign-on")
    return user


def _refuse(request: HttpRequest, sentence: str, claims: dict[str, Any]) -> NoReturn:
    logger.warning("Single sign-on of subject %s was refused: %s", claims.get("sub"), sentence)
    messages.error(request, sentence)
    raise ImmediateHttpResponse(redirect("sign_in"))
