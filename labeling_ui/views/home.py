"""Where everybody lands: the studies they take part in."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from annotation import access
from annotation.models import Rater
from annotation.models.people import MANAGING_ROLES, RATING_ROLES, Role
from annotation.services import review_counts


@login_required
def home(request: HttpRequest) -> HttpResponse:
    studies = list(access.studies_of(request.user).order_by("-created_at"))
    rated = [study for study in studies if study.role in RATING_ROLES]
    raters = {rater.study_id: rater for rater in Rater.objects.filter(user=request.user, study__in=rated)}
    reviewed = [study.pk for study in studies if study.role == Role.EXPERT or study.role in MANAGING_ROLES]
    n_open, n_returned = review_counts.open_cases(reviewed), review_counts.returned_to(raters.values())
    rows = [
        {
            "study": study,
            "role": Role(study.role),
            "rater": raters.get(study.pk),
            "manages": study.role in MANAGING_ROLES,
            "reviews": study.pk in n_open,
            "n_open": n_open.get(study.pk, 0),
            "n_returned": n_returned.get(study.pk, 0),
        }
        for study in studies
    ]
    context = {"rows": rows, "may_create": request.user.may_create_studies or request.user.is_superuser}
    return render(request, "labeling_ui/home.html", context)
