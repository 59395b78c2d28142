"""The raters' page for those who run a study: the same page, over an API that keeps nothing."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation import access
from annotation.authentication import account_key
from annotation.models import Study
from annotation.services import previews
from annotation.services.protocols import loaded
from labeling_ui import key_texts, workbench_texts


@login_required
@never_cache
@require_safe
def preview(request: HttpRequest, slug: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    if not study.n_tasks:
        messages.info(request, _("There is nothing to rate yet: import something first."))
        return redirect("import", slug)
    assert study.protocol_version is not None
    progress = {"done": 0, "tasks": min(study.n_tasks, previews.MOST)}
    workbench = {
        "account": account_key(request.user),
        "study": slug,
        "lease_minutes": study.lease_minutes,
        "language": get_language(),
        "texts": workbench_texts.texts() | key_texts.texts(),
        "urls": _urls(study),
        "protocol": {
            "number": loaded(study.protocol_version_id).number,
            "definition": study.protocol_version.definition,
        },
        "progress": progress,
        "preview": True,
    }
    context = {"study": study, "rater": {"n_judgments": 0}, "workbench": workbench}
    return render(request, "labeling_ui/rate/preview.html", context)


def _urls(study: Study) -> dict[str, Any]:
    """Those of the raters' page, as far as a preview goes."""
    any_task = uuid.UUID(int=0)
    return {
        "next": reverse("api_preview_next", args=[study.slug]),
        "protocol": reverse("api_protocol", args=[study.slug]),
        "assignments": reverse("api_preview", args=[study.slug, any_task]).removesuffix(f"{any_task}/"),
        "sign_in": f"{reverse('sign_in')}?next={reverse('preview', args=[study.slug])}",
        "home": reverse("study", args=[study.slug]),
        "returned": reverse("study", args=[study.slug]),
        "checks": reverse("study", args=[study.slug]),
    }
