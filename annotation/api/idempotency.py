"""Idempotency keys: a write that is repeated with its Idempotency-Key is done once and gets the stored response.

Rating needs none and ignores it: judgments carry a `client_id`, and the other calls may be repeated as they are.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.core.exceptions import (
    BadRequest,
    RequestDataTooBig,
    SuspiciousOperation,
    TooManyFieldsSent,
    TooManyFilesSent,
)
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from django.http.response import HttpResponseBase
from django.utils import timezone
from rest_framework.exceptions import APIException

from annotation import access
from annotation.access.tokens import TokenInUse
from annotation.advisory_locks import key_of, try_transaction_lock
from annotation.api.authentication import Scope
from annotation.api.errors import problem_response
from annotation.errors import DomainError
from annotation.models import KeptAnswer, User

KEPT_FOR = timedelta(hours=24)
_BATCH = 10_000


def try_lock_key(user: User, name: str) -> bool:
    """Be the one request with this key until the transaction ends; False while another is. Never waits."""
    return try_transaction_lock(key_of(f"{user.pk}:{name}"))


def delete_expired_responses() -> int:
    """Delete what has had its day, some of it at a time. Returns how many. For beat."""
    old = KeptAnswer.objects.filter(created_at__lte=timezone.now() - KEPT_FOR).values("pk")[:_BATCH]
    return KeptAnswer.objects.filter(pk__in=old).delete()[0]


KEY_HEADER = "Idempotency-Key"
REPLAYED_HEADER = "Idempotency-Replayed"
_KEY_PATTERN = re.compile(r"[\x21-\x7e]{1,200}")
# Answers to writes are small; what is larger is a file, and asked for again.
_MAX_STORED_BYTES = 256 * 1024

Work = Callable[[], HttpResponseBase]


def has_idempotency_key(request: HttpRequest, view: Any) -> bool:
    return KEY_HEADER in request.headers and getattr(view.cls, "writes", None) != Scope.RATE


def respond_once(request: HttpRequest, view: Any, kwargs: dict[str, Any], perform: Work) -> HttpResponseBase:
    """What was answered to this key before; else what `work` answers, kept in its transaction.

    The key's turn, the work and the answer that is kept are one transaction: whatever ends it early leaves neither the
    work nor the key. A refusal is not kept, because nothing was done: the write may be mended and sent again.
    """
    key = request.headers[KEY_HEADER]
    if not _KEY_PATTERN.fullmatch(key):
        return problem_response(
            400, "bad_key", f"{KEY_HEADER} takes 1 to 200 characters, printable and without blanks."
        )
    account = _account(request, view)
    digest = None if account is None else _request_digest(request)
    if account is None or digest is None:
        return perform()  # which says what is wrong with whoever asks, or with the body
    user, token_id = account
    # One token's responses are nothing for another, nor for the account's browser.
    name = hashlib.sha256(f"{token_id}:{key}".encode(errors="surrogatepass")).hexdigest()
    with transaction.atomic():
        if not try_lock_key(user, name):
            response = problem_response(
                409,
                "in_progress",
                f"A request with this {KEY_HEADER} is being answered. Ask again in a second.",
            )
            response["Retry-After"] = "1"
            return response
        unexpired = KeptAnswer.objects.filter(user=user, name=name, created_at__gt=timezone.now() - KEPT_FOR)
        stored = unexpired.first()
        if stored is not None and _is_still_visible(user, kwargs):
            return _replay(stored, digest)
        response = perform()
        if response.status_code >= 400:
            transaction.set_rollback(True)
        elif isinstance(response, HttpResponse) and len(response.content) <= _MAX_STORED_BYTES:
            secret = getattr(view.cls, "answers_secret", False)
            KeptAnswer.objects.update_or_create(  # in the place of one that has had its day
                user=user,
                name=name,
                defaults={
                    "request_sha256": digest,
                    "status": response.status_code,
                    "body": None if secret else response.content.decode(),
                    "created_at": timezone.now(),
                },
            )
        return response


def _account(request: HttpRequest, view: Any) -> tuple[User, int | None] | None:
    """Whose write this is, and by which token; None for those that the view will refuse."""
    drf_request = view.cls(**view.initkwargs).initialize_request(request)
    try:
        user, token = drf_request.user, drf_request.auth
    except (APIException, DomainError):
        return None
    if not user.is_authenticated:
        return None
    return user, token.id if isinstance(token, TokenInUse) else None


def _request_digest(request: HttpRequest) -> str | None:
    """What makes it the same request: method, address and body. None where the body cannot be read."""
    digest = hashlib.sha256(f"{request.method} {request.get_full_path()}\n".encode(errors="replace"))
    try:
        if request.content_type == "multipart/form-data":
            for name, values in sorted(request.POST.lists()):
                digest.update(repr((name, values)).encode())
            for name, files in sorted(request.FILES.lists()):
                for file in files:
                    digest.update(repr((name, file.name, file.size)).encode())
                    for chunk in file.chunks():
                        digest.update(chunk)
        else:
            digest.update(request.body)
    except (RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent):
        raise  # the view would find an empty form, and say so
    except (SuspiciousOperation, BadRequest, MultiPartParserError):
        return None
    return digest.hexdigest()


def _is_still_visible(user: User, kwargs: dict[str, Any]) -> bool:
    """Whether the study that the address names is still theirs to see: what it answered then is nothing for others."""
    try:
        return "slug" not in kwargs or bool(access.study_of(user, kwargs["slug"]))
    except DomainError:
        return False


def _replay(stored: KeptAnswer, digest: str) -> HttpResponseBase:
    if stored.request_sha256 != digest:
        detail = f"This {KEY_HEADER} was used for another request within a day. Give each its own."
        return problem_response(422, "key_reused", detail)
    if stored.body is None:
        detail = f"This was done with the same {KEY_HEADER}; its answer held a secret that is shown once and not kept."
        return problem_response(409, "done_before", detail)
    response = HttpResponse(stored.body, status=stored.status)
    if stored.status == 204:
        del response["Content-Type"]
    else:
        response["Content-Type"] = "application/json"
    response[REPLAYED_HEADER] = "true"
    return response
