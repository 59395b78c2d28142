"""The review queue: what experts should look at, in which order, and who is at it."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from analytics.overview import scorers
from analytics.overview.scorers import study_parts
from analytics.reports import review_report as reports_review_report
from analytics.reports.document import Document
from analytics.reports.render import html
from analytics.reports.render.files import svg_file
from analytics.reports.review_document import HISTOGRAM_KEY, histogram_figure, review_document
from annotation import access
from annotation.access import StudyAccess
from annotation.errors import Conflict, InvalidInput, NotFound
from annotation.models import Job, ReviewCase, Study
from annotation.review import blind_judgments, cases, drafts, flagging, queue, settings
from annotation.review.flag_rules import FlagRules
from annotation.review.queue import UNRESOLVED, QueueCounts, QueueFilters
from annotation.review.rules import CORRECTABLE_FIELDS
from annotation.studies.protocols import load_protocol
from labeling_ui.domain_errors import errors_as_messages, errors_in_form, translated_message
from labeling_ui.models.catalogue_texts import scorer_choices
from labeling_ui.page_responses import (
    action,
    attachment,
    fresh_page,
    json_response,
    page_cursor,
    render_page_or_part,
)
from labeling_ui.review import desk_page
from labeling_ui.review.forms import (
    AssignForm,
    QueueForm,
    ReviewRulesForm,
    SaveViewForm,
    expert_choices,
    query_string,
)
from labeling_ui.templatetags.formatting import in_language
from scoring.policies import second_opinions
from scoring.writing import draft_requests

# The review desk: one case, first judged blind, then with everything that is known of it.


@fresh_page
def desk(request: HttpRequest, case_id: int) -> HttpResponse:
    """Opening a case claims it where it is free. Its expert judges it blind before anything of the rest is sent.

    `?from=` is the query string of the queue that they came from, `?decided=` the case that they have just decided.
    """
    case = access.case_in_review_queue(request.user, case_id)
    if access.study_of(request.user, case.study.slug).manages:
        return _full_desk(request, case)
    try:
        case = cases.claim(request.user, case_id)
    except Conflict as error:
        return _claim_refused(request, case, error)
    if not blind_judgments.may_see_votes(case, request.user):
        blind_judgments.begin_blind(request.user, case_id)
        case = access.case_in_review_queue(request.user, case_id)
    if not blind_judgments.may_see_votes(case, request.user):
        return _render_desk(request, "blind", case, {"blind": desk_page.blind_review_data(request, case)})
    with transaction.atomic():
        draft_requests.request_automatic_drafts(case, actor=request.user)
    return _full_desk(request, case, decides=True)


@action
def leave_case(request: HttpRequest, case_id: int) -> HttpResponse:
    """Go on, to the next case (`to=next`) or to the queue, and put this one back where it is not decided."""
    case = access.case_under_review(request.user, case_id)
    came_from = request.POST.get("from", "")
    following = None
    if request.POST.get("to") == "next":
        following = cases.claim_next(
            request.user, case.study.slug, _queue_filters(came_from), except_case=case_id
        )
    cases.put_back(request.user, case_id)
    decided = request.POST.get("decided", "")
    if following is not None:
        return redirect(_desk_url(following.pk, came_from=came_from, decided=decided))
    if request.POST.get("to") == "next":
        messages.info(request, _("No further case is open here."))
    if decided and case.state == ReviewCase.State.RESOLVED:  # where it can be taken back
        return redirect(_desk_url(case.pk, came_from=came_from))
    return redirect(_queue_url(case.study.slug, came_from))


@login_required
@never_cache
def case_drafts(request: HttpRequest, case_id: int, field: str) -> HttpResponse:
    """The drafts of one field: a part of the desk that asks for itself while one is awaited.

    A POST asks a writer for another (`ask`), or rejects one (`reject`).
    """
    case = blind_judgments.judged_case(request.user, case_id)
    if field not in CORRECTABLE_FIELDS:
        raise NotFound
    problem = ""
    if request.method == "POST":
        try:
            _change_drafts(request, case, field)
        except (Conflict, InvalidInput) as error:
            problem = translated_message(error)
    context = {
        "case": case,
        "field": desk_page.drafts_by_field(case, [field])[field],
        "decides": True,
        "problem": problem,
    }
    return render(request, "labeling_ui/review/desk/drafts.html", context)


@transaction.atomic
def _change_drafts(request: HttpRequest, case: ReviewCase, field: str) -> None:
    if draft := request.POST.get("reject", ""):
        draft_row = case.drafts.filter(pk=int(draft)).first() if draft.isdecimal() else None
        if draft_row is None:
            raise NotFound
        drafts.reject_draft(request.user, draft_row.pk)
        return
    writer_id = request.POST.get("ask", "")
    writer = next(
        (writer for writer in draft_requests.writers_for(case) if str(writer.pk) == writer_id), None
    )
    if writer is None:
        raise NotFound
    note = request.POST.get(f"note-{field}", "").replace("\x00", "")
    draft_requests.request_draft(
        cases.claimed_case(request.user, case.pk), writer, actor=request.user, note=note
    )


@login_required
@never_cache
def case_opinions(request: HttpRequest, case_id: int) -> HttpResponse:
    """Second opinions on a case: a part of the desk that asks for itself while one is awaited. A POST asks a judge."""
    case = blind_judgments.judged_case(request.user, case_id)
    problem = ""
    if request.method == "POST":
        try:
            second_opinions.request_opinion(request.user, case_id, request.POST.get("judge", ""))
        except (Conflict, InvalidInput) as error:
            problem = translated_message(error)
    opinions = desk_page.opinions_card(case, own=desk_page.own_readable(case, reader=request.user))
    context = {"case": case, "opinions": opinions, "decides": True, "problem": problem}
    return render(request, "labeling_ui/review/desk/opinions.html", context)


def _queue_filters(came_from: str) -> QueueFilters:
    """Those of the queue that the expert came from; the queue as it is where they make no sense (any more)."""
    try:
        return QueueFilters.of(QueryDict(came_from).dict())
    except InvalidInput:
        return QueueFilters()


def _claim_refused(request: HttpRequest, case: ReviewCase, error: Conflict) -> HttpResponse:
    """A case that is not this expert's to work on: what they may know of it, and why."""
    if blind_judgments.may_see_votes(case, request.user):
        return _full_desk(request, case, why=translated_message(error))
    return _render_desk(request, "closed", case, {"why": translated_message(error)}, status=409)


def _full_desk(
    request: HttpRequest, case: ReviewCase, *, decides: bool = False, why: str = ""
) -> HttpResponse:
    manages = not decides and not why
    context = {
        "page": desk_page.build_desk_page(case, reader=request.user, decides=decides),
        "desk": desk_page.review_desk_data(
            request, case, decides=decides, plays=not manages and case.task_id is not None
        ),
        "decides": decides,
        "manages": manages,
        "why": why,
    }
    return _render_desk(request, "desk", case, context)


def _render_desk(
    request: HttpRequest, name: str, case: ReviewCase, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    came_from = request.GET.get("from", "")
    decided = page_cursor(request, "decided")
    context |= {
        "case": case,
        "study": case.study,
        "came_from": came_from,
        "queue": _queue_url(case.study.slug, came_from),
        "toast": desk_page.decision_toast(request.user, decided or case.pk),
    }
    return render(request, f"labeling_ui/review/desk/{name}.html", context, status=status)


def _desk_url(case_id: int, **query_values: str) -> str:
    query = urlencode(
        {name.replace("came_from", "from"): value for name, value in query_values.items() if value}
    )
    return f"{reverse('desk', args=[case_id])}?{query}".rstrip("?")


@fresh_page
def review_queue(request: HttpRequest, slug: str) -> HttpResponse:
    study_access = access.study_with_review_queue(request.user, slug)
    experts = expert_choices(study_access.study) if study_access.manages else []
    form = _queue_form(study_access.study, request.GET, experts)
    after = page_cursor(request)
    page = queue.queue_page(study_access.study, form.filters, reader=request.user, after=after or None)
    query = query_string(form.filters)
    counts = queue.queue_counts(study_access.study, reader=request.user)
    tabs, saved = _tabs(study_access, counts), _saved_views(request, slug)
    context = {
        "study": study_access.study,
        "access": study_access,
        "form": form,
        "page": page,
        "at_work": queue.claimed_rows(study_access.study, user=request.user) if study_access.reviews else (),
        "after": after,
        "query": query,
        "filtered": bool(query),
        "counts": counts,
        "tabs": tabs,
        "saved": saved,
        "is_tab": query in {tab["query"] for tab in [*tabs, *saved]},
        "save_form": SaveViewForm(auto_id="view_%s"),
        "assign_form": AssignForm(None, experts=experts) if experts else None,
        # Called by the template, and only where the queue is empty.
        "flagging_state": lambda: flagging.flagging_state(study_access.study),
        "has_rules": bool(FlagRules.of(study_access.study.rules).in_force()),
    }
    return render(request, "labeling_ui/review/queue.html", context)


@action
def review_next(request: HttpRequest, slug: str) -> HttpResponse:
    study_access = access.study_with_review_queue(request.user, slug)
    filters = _queue_form(study_access.study, request.POST, []).filters
    case = cases.claim_next(request.user, slug, filters)
    if case is None:
        messages.info(request, _("No case is left: every case is decided or claimed."))
        return _back_to_queue(slug, filters)
    query = query_string(filters)
    return redirect(reverse("desk", args=[case.pk]) + (f"?{urlencode({'from': query})}" if query else ""))


@action
def save_view(request: HttpRequest, slug: str) -> HttpResponse:
    study_access = access.study_with_review_queue(request.user, slug)
    filters = _queue_form(
        study_access.study, request.POST, expert_choices(study_access.study) if study_access.manages else []
    ).filters
    form = SaveViewForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("A view needs a name of at most 80 characters."))
        return _back_to_queue(slug, filters)
    try:
        queue.save_view(request.user, slug, filters=filters, **form.cleaned_data)
    except InvalidInput as error:
        messages.error(request, " ".join(problem.message for problem in error.problems))
    else:
        messages.success(request, _("The view is saved."))
    return _back_to_queue(slug, filters)


@action
def delete_view(request: HttpRequest, slug: str, view_id: int) -> HttpResponse:
    access.study_with_review_queue(request.user, slug)
    queue.delete_view(request.user, slug, view_id)
    messages.success(request, _("The view is removed."))
    return redirect("review_queue", slug)


@action
def assign_cases(request: HttpRequest, slug: str) -> HttpResponse:
    """Give the chosen cases to an expert; those who run the study do."""
    study = access.managed_study(request.user, slug)
    experts = expert_choices(study)
    filters = _queue_form(study, request.POST, experts).filters
    form = AssignForm(request.POST, experts=experts)
    if not form.is_valid():
        messages.error(request, _("Choose some cases first."))
        return _back_to_queue(slug, filters)
    expert = form.cleaned_data["expert"]
    with errors_as_messages(request):
        n = cases.assign(
            request.user, slug, form.cleaned_data["cases"], expert=None if expert == "nobody" else expert
        )
        changed = ngettext("%(n)s case is assigned.", "%(n)s cases are assigned.", n)
        messages.success(request, changed % {"n": n})
    return _back_to_queue(slug, filters)


def _queue_form(study: Study, data: QueryDict, experts: list[tuple[str, str]]) -> QueueForm:
    return QueueForm(data, strata=study_parts(study).strata, experts=experts)


def _tabs(study_access: StudyAccess, counts: QueueCounts) -> list[dict[str, Any]]:
    """The views that everybody has; what is assigned to oneself, only who reviews."""
    own_tab = (
        [(_("Mine"), QueueFilters(state=UNRESOLVED, assigned="me"), counts.mine)]
        if study_access.reviews
        else []
    )
    tabs = [
        (_("Open"), QueueFilters(), counts.open),
        *own_tab,
        (_("In progress"), QueueFilters(state=ReviewCase.State.CLAIMED), counts.claimed),
        (_("With raters"), QueueFilters(state=ReviewCase.State.RETURNED), counts.returned),
        (_("Resolved"), QueueFilters(state=ReviewCase.State.RESOLVED), counts.resolved),
    ]
    return [{"title": title, "query": query_string(filters), "n": n} for title, filters, n in tabs]


def _saved_views(request: HttpRequest, slug: str) -> list[dict[str, Any]]:
    """Saved views with the part of the address that shows each."""
    return [
        {
            "view": view,
            "query": query_string(QueueFilters.of(view.filters)),
            "is_mine": view.owner_id == request.user.pk,
        }
        for view in queue.visible_views(request.user, slug)
    ]


def _back_to_queue(slug: str, filters: QueueFilters) -> HttpResponse:
    return redirect(_queue_url(slug, query_string(filters)))


def _queue_url(slug: str, query: str) -> str:
    return f"{reverse('review_queue', args=[slug])}?{query}".rstrip("?")


# Which rules bring cases before experts, with what they would find, and how cases are worked.


Choice = tuple[str, str]


@login_required
@never_cache
def review_rules(request: HttpRequest, slug: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    form = _rules_form(request, study)
    if form.is_valid():
        with errors_in_form(form, InvalidInput):
            settings.change_review_settings(study, actor=request.user, flags=form.flags, **form.values)
            messages.success(request, _("Saved."))
            return (
                _start_flagging(request, study) if "apply" in request.POST else redirect("review_rules", slug)
            )
    return render(request, "labeling_ui/review/rules.html", {"study": study, "form": form, "counts": {}})


@action
def rules_preview(request: HttpRequest, slug: str) -> HttpResponse:
    """What the rules in the form would find, without saving them: a part of the page, or a page of its own."""
    study = access.managed_study(request.user, slug)
    form = _rules_form(request, study)
    context: dict[str, Any] = {"study": study, "form": form, "counts": {}}
    if form.is_valid():
        counts = flagging.preview_rules(study, FlagRules.of(study.rules).changed(form.flags))
        context["counts"] = {count.rule: count for count in counts}
    return render_page_or_part(request, "review/rules", "review/rules_found", context)


@action
def apply_rules(request: HttpRequest, slug: str) -> HttpResponse:
    return _start_flagging(request, access.managed_study(request.user, slug))


def _start_flagging(request: HttpRequest, study: Study) -> HttpResponse:
    with errors_as_messages(request):
        return redirect("job", flagging.enqueue_flagging(study, actor=request.user).pk)
    return redirect("review_rules", study.slug)


def _rules_form(request: HttpRequest, study: Study) -> ReviewRulesForm:
    return ReviewRulesForm(
        request.POST if request.method == "POST" else None,
        study=study,
        choices={
            **_protocol_choices(study),
            "scorer": scorer_choices(row.scorer for row in scorers.scorer_coverage(study).rows),
        },
    )


def _protocol_choices(study: Study) -> dict[str, list[Choice]]:
    """The protocol's codes, and the questions whose answers can be measured."""
    if not study.protocol_version_id:
        return {"codes": [], "question": []}
    spec = load_protocol(study.protocol_version_id).spec
    return {
        "codes": [(code.key, f"{code.key} {in_language(code.title)}") for code in spec.codes],
        "question": [
            (question.key, in_language(question.title)) for question in spec.questions if question.level
        ],
    }


# What the review of a study came to, in numbers fit for a paper.


@login_required
@never_cache
def review_report(request: HttpRequest, slug: str) -> HttpResponse:
    """The last report that was made; posted to, a new one is asked for."""
    study = access.managed_study(request.user, slug)
    if request.method == "POST":
        reports_review_report.start_review_report(study, actor=request.user)
        return redirect("review_report", slug)
    done, newest = reports_review_report.latest_review_report(study)
    context: dict[str, Any] = {
        "study": study,
        "job": newest,
        "computed_at": done.finished_at if done else None,
    }
    if done:
        context["document"] = document = _review_document(study, done)
        context["shown"] = html.render_part(document, address=lambda *name: _figure_url(study, *name))
    return render(request, "labeling_ui/review/report.html", context)


def _review_document(study: Study, done: Job) -> Document:
    protocol = load_protocol(study.protocol_version_id).spec
    title = _("Report of the review")
    return review_document(done.report, protocol, title=title, language=get_language() or "en")


def _figure_url(study: Study, key: str, extension: str) -> str:
    """Figures come as files, tables only on the page and in the JSON."""
    if extension != "svg":
        return ""
    return reverse("review_report_figure", args=[study.slug, key.removeprefix(HISTOGRAM_KEY)])


@login_required
@require_safe
def review_report_data(request: HttpRequest, slug: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    done, _newest = reports_review_report.latest_review_report(study)
    if done is None:
        raise Http404
    return json_response(done.report)


@login_required
@require_safe
def review_report_figure(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    done, _newest = reports_review_report.latest_review_report(study)
    figure = None if done is None else histogram_figure(_review_document(study, done), key)
    if figure is None:
        raise Http404
    return attachment(svg_file(figure.svg), name=f"{study.slug}-{key}.svg", content_type="image/svg+xml")
