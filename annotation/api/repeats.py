"""Idempotency-Key: a write that is repeated with its key is done once and answered the same.

Rating needs none and ignores it: judgments carry a `client_id`, and the other calls may be repeated as they are.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
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
from rest_framework.exceptions import APIException

from annotation import access
from annotation.api.errors import problem_response
from annotation.api.scopes import Scope
from annotation.errors import DomainError
from annotation.models import KeptAnswer, User
from annotation.services import kept_answers
from annotation.services.api_tokens import TokenInUse

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
_KEY = re.compile(r"[\x21-\x7e]{1,200}")
# Answers to writes are small; what is larger is a file, and asked for again.
_MOST_BYTES = 256 * 1024

Work = Callable[[], HttpResponseBase]


def is_asked(request: HttpRequest, view: Any) -> bool:
    return HEADER in request.headers and getattr(view.cls, "writes", None) != Scope.RATE


def answer(request: HttpRequest, view: Any, kwargs: dict[str, Any], work: Work) -> HttpResponseBase:
    """What was answered to this key before; else what `work` answers, kept in its transaction.

    The key's turn, the work and the answer that is kept are one transaction: whatever ends it early leaves neither the
    work nor the key. A refusal is not kept, because nothing was done: the write may be mended and sent again.
    """
    key = request.headers[HEADER]
    if not _KEY.fullmatch(key):
        return problem_response(
            400, "bad_key", f"{HEADER} takes 1 to 200 characters, printable and without blanks."
        )
    asking = _account(request, view)
    digest = None if asking is None else _digest(request)
    if asking is None or digest is None:
        return work()  # which says what is wrong with whoever asks, or with the body
    user, token_id = asking
    name = kept_answers.name_of(key, token_id=token_id)
    with transaction.atomic():
        if not kept_answers.take_turn(user, name):
            return _in_progress()
        kept = kept_answers.find(user, name)
        if kept is not None and _is_open(user, kwargs):
            return _again(kept, digest)
        response = work()
        if response.status_code >= 400:
            transaction.set_rollback(True)
        elif isinstance(response, HttpResponse) and len(response.content) <= _MOST_BYTES:
            secret = getattr(view.cls, "answers_secret", False)
            body = None if secret else response.content.decode()
            kept_answers.keep(user, name, request_sha256=digest, status=response.status_code, body=body)
        return response


def _account(request: HttpRequest, view: Any) -> tuple[User, int | None] | None:
    """Whose write this is, and by which token; None for those that the view will refuse."""
    asked = view.cls(**view.initkwargs).initialize_request(request)
    try:
        user, token = asked.user, asked.auth
    except (APIException, DomainError):
        return None
    if not user.is_authenticated:
        return None
    return user, token.id if isinstance(token, TokenInUse) else None


def _digest(request: HttpRequest) -> str | None:
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


def _is_open(user: User, kwargs: dict[str, Any]) -> bool:
    """Whether the study that the address names is still theirs to see: what it answered then is nothing for others."""
    try:
        return "slug" not in kwargs or bool(access.study_of(user, kwargs["slug"]))
    except DomainError:
        return False


def _again(kept: KeptAnswer, digest: str) -> HttpResponseBase:
    if kept.request_sha256 != digest:
        return problem_response(
            422, "key_reused", f"This {HEADER} was used for another request within a day. Give each its own."
        )
    if kept.body is None:
        return problem_response(
            409,
            "done_before",
            f"This was done with the same {HEADER}; its answer held a secret that is shown once and not kept.",
        )
    response = HttpResponse(kept.body, status=kept.status)
    if kept.status == 204:
        del response["Content-Type"]
    else:
        response["Content-Type"] = "application/json"
    response[REPLAYED] = "true"
    return response


def _in_progress() -> HttpResponseBase:
    response = problem_response(
        409, "in_progress", f"A request with this {HEADER} is being answered. Ask again in a second."
    )
    response["Retry-After"] = "1"
    return response
