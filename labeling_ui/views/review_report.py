"""What the review of a study came to, in numbers fit for a paper."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from analytics.services import review_report_jobs
from annotation import access
from annotation.services.protocols import loaded
from labeling_ui import review_report_questions, review_report_tables


@login_required
@never_cache
def review_report(request: HttpRequest, slug: str) -> HttpResponse:
    """The last report that was made; posted to, a new one is asked for."""
    study = access.managed_study(request.user, slug)
    if request.method == "POST":
        review_report_jobs.start(study, actor=request.user)
        return redirect("review_report", slug)
    done, newest = review_report_jobs.latest(study)
    context: dict[str, Any] = {
        "study": study,
        "job": newest,
        "computed_at": done.finished_at if done else None,
    }
    if done:
        found, protocol = done.report, loaded(study.protocol_version_id).spec
        flow = found["flow"]
        context |= {
            "found": found,
            "corrections": review_report_tables.correction_tables(found["corrections"]),
            "drafts": review_report_tables.draft_table(found["drafts"]),
            "feedback": review_report_tables.feedback_table(found["feedback"]),
            "questions": review_report_questions.question_sections(found["questions"], protocol),
            "loop": [review_report_tables.rule_table(flow), review_report_tables.return_table(flow)],
        }
    return render(request, "labeling_ui/review/report.html", context)


@login_required
@require_safe
def review_report_data(request: HttpRequest, slug: str) -> HttpResponse:
    """The last report as JSON."""
    study = access.managed_study(request.user, slug)
    done, _newest = review_report_jobs.latest(study)
    if done is None:
        raise Http404
    return JsonResponse(done.report, json_dumps_params={"ensure_ascii": False, "indent": 2})


@login_required
@require_safe
def review_report_figure(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    """One question's histogram as an SVG file."""
    study = access.managed_study(request.user, slug)
    done, _newest = review_report_jobs.latest(study)
    asked = [one for one in done.report["questions"] if one["key"] == key] if done else []
    if not asked:
        raise Http404
    title = review_report_questions.question_title(asked[0], loaded(study.protocol_version_id).spec)
    drawn = review_report_questions.figure(asked[0], title=title, on_its_own=True)
    response = HttpResponse(drawn, content_type="image/svg+xml")
    response["Content-Disposition"] = f'attachment; filename="{study.slug}-{key}.svg"'
    return response
