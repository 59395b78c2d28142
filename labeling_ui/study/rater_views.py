"""One rater of a study: what they judged and skipped, whether they get tasks, and whether their judgments count."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from analytics.datasets import releases
from annotation import access
from annotation.listening import checks
from annotation.models import Exclusion, Rater
from annotation.raters import withdrawal
from annotation.rating import exclusions
from annotation.studies import members
from labeling_ui.page_responses import action, page_cursor
from labeling_ui.study.forms import RaterJudgmentsForm, RaterStateForm, WithdrawalForm
from labeling_ui.study.rater_work import rater_work

# Two forms on one page ask for a reason: their fields need ids of their own.
JUDGMENTS_AUTO_ID = "judgments_%s"
# How many of the latest listening checks are listed.
LISTENING_CHECKS_SHOWN = 20


@login_required
def rater(request: HttpRequest, slug: str, pseudonym: str) -> HttpResponse:
    """What they judged and skipped, and whether they get tasks."""
    rater = access.rater_by_pseudonym(request.user, slug, pseudonym)
    form = RaterStateForm(request.POST or None, initial={"state": rater.state})
    if form.is_valid():
        members.set_rater_state(rater, actor=request.user, **form.cleaned_data)
        messages.success(request, _("Done. The rater's judgments so far stay as they are."))
        return redirect("rater", slug, pseudonym)
    return _render_rater(request, rater, state_form=form)


@action
def rater_judgments(request: HttpRequest, slug: str, pseudonym: str) -> HttpResponse:
    """Exclude all judgments of a rater from the figures, or include them again."""
    rater = access.rater_by_pseudonym(request.user, slug, pseudonym)
    form = RaterJudgmentsForm(request.POST, auto_id=JUDGMENTS_AUTO_ID)
    if not form.is_valid():
        return _render_rater(request, rater, judgments_form=form)
    outcome = exclusions.exclude_or_restore(
        exclusions.judgments_of_rater(rater.study, pseudonym),
        study=rater.study,
        actor=request.user,
        subject=f"rater {pseudonym}",
        **form.cleaned_data,
    )
    n = outcome.changed
    if form.cleaned_data["action"] == Exclusion.Action.EXCLUDE:
        changed = ngettext(
            "%(n)d judgment is out of the figures.", "%(n)d judgments are out of the figures.", n
        )
    else:
        changed = ngettext("%(n)d judgment counts again.", "%(n)d judgments count again.", n)
    messages.success(request, changed % {"n": n})
    if outcome.kept_out:
        still_excluded = ngettext(
            "%(n)d judgment stays out: its item was corrected or withdrawn.",
            "%(n)d judgments stay out: their items were corrected or withdrawn.",
            outcome.kept_out,
        )
        messages.info(request, still_excluded % {"n": outcome.kept_out})
    return redirect("rater", slug, pseudonym)


def _render_rater(
    request: HttpRequest,
    rater: Rater,
    *,
    state_form: RaterStateForm | None = None,
    judgments_form: RaterJudgmentsForm | None = None,
) -> HttpResponse:
    context = {
        "study": rater.study,
        "access": access.managed_access(request.user, rater.study.slug),
        "rater": rater,
        "work": rater_work(
            rater, before=page_cursor(request, "before"), skips_before=page_cursor(request, "skips_before")
        ),
        "checks": checks.finished_checks(rater.study)
        .filter(rater=rater)
        .order_by("-finished_at")[:LISTENING_CHECKS_SHOWN],
        "n_excluded": rater.judgments.filter(excluded=True).count(),
        "state_form": state_form or RaterStateForm(initial={"state": rater.state}),
        "judgments_form": judgments_form or RaterJudgmentsForm(auto_id=JUDGMENTS_AUTO_ID),
    }
    return render(request, "labeling_ui/study/people/rater.html", context)


# Taking a rater out of a study at their own wish, and the certificate of it.


@login_required
def withdraw_rater(request: HttpRequest, slug: str, pseudonym: str) -> HttpResponse:
    """What it means, and doing it; once it is done, the certificate."""
    rater = access.rater_by_pseudonym(request.user, slug, pseudonym)
    if rater.state == Rater.State.WITHDRAWN:
        complete = releases.is_withdrawal_complete(rater)
        certificate = {
            "study": rater.study,
            "rater": rater,
            "certificate": releases.withdrawal_certificate(rater) if complete else None,
        }
        return render(request, "labeling_ui/study/people/certificate.html", certificate)
    form = WithdrawalForm(request.POST or None, initial={"mode": "removed"})
    if form.is_valid():
        wish = {name: form.cleaned_data[name] for name in ("mode", "note")}
        withdrawal.withdraw(rater, actor=request.user, **wish)
        return redirect("withdraw_rater", slug, pseudonym)
    context = {"study": rater.study, "rater": rater, "form": form, "n": rater.judgments.count()}
    return render(request, "labeling_ui/study/people/withdraw_rater.html", context)
