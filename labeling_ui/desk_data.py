"""What the desk's scripts are told by its pages, as JSON."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import get_language

from annotation.authentication import account_key
from annotation.models import ReviewCase
from labeling_ui import desk_texts, key_texts, workbench_texts


def blind(request: HttpRequest, case: ReviewCase) -> dict[str, Any]:
    """The first stage: nothing but what a rater's page knows, and where the case's task is to be had."""
    texts = workbench_texts.texts() | key_texts.texts() | desk_texts.blind_texts()
    return _common(request, case) | {"texts": texts}


def desk(request: HttpRequest, case: ReviewCase, *, decides: bool, plays: bool) -> dict[str, Any]:
    """`plays`: the reader has an assignment of their own, which plays the clips of the case's task."""
    texts = workbench_texts.texts() | key_texts.texts() | desk_texts.texts()
    return _common(request, case) | {
        "texts": texts,
        "item": case.item_id,
        "version": case.item_version_id,
        "decides": decides,
        "plays": plays,
    }


def _common(request: HttpRequest, case: ReviewCase) -> dict[str, Any]:
    slug, no_assignment = case.study.slug, uuid.UUID(int=0)
    return {
        "account": account_key(request.user),
        "study": slug,
        "caseId": case.pk,
        "language": get_language(),
        "urls": {
            "protocol": reverse("api_protocol", args=[slug]),
            "cases": reverse("api_keep_case", args=[0]).removesuffix("0/keep/"),
            "assignments": reverse("api_assignment", args=[no_assignment]).removesuffix(f"{no_assignment}/"),
            "sign_in": f"{reverse('sign_in')}?next={request.path}",
        },
    }
