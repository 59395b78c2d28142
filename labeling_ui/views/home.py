"""Where everybody lands: the studies they take part in."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from annotation import access
from annotation.models import Rater
from annotation.models.people import MANAGING_ROLES, RATING_ROLES, Role


@login_required
def home(request: HttpRequest) -> HttpResponse:
    studies = list(access.studies_of(request.user).order_by("-created_at"))
    raters = {rater.study_id: rater for rater in Rater.objects.filter(user=request.user, study__in=studies)}
    rows = [
        {
            "study": study,
            "role": Role(study.role),
            "rater": raters.get(study.pk) if study.role in RATING_ROLES else None,
            "manages": study.role in MANAGING_ROLES,
        }
        for study in studies
    ]
    context = {"rows": rows, "may_create": request.user.may_create_studies or request.user.is_superuser}
    return render(request, "labeling_ui/home.html", context)
