"""One rater of a study: whether they get tasks, and whether what they said counts."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from annotation import access
from annotation.models import Exclusion, Rater
from annotation.services import check_standings, exclusions, people
from labeling_ui.forms.people import RaterJudgmentsForm, RaterStateForm

# Two forms on one page ask for a reason: their fields need ids of their own.
JUDGMENTS_ID = "judgments_%s"
# How many of the latest listening checks are listed.
CHECKS = 20


@login_required
def rater(request: HttpRequest, slug: str, pseudonym: str) -> HttpResponse:
    rater = access.rater_named(request.user, slug, pseudonym)
    form = RaterStateForm(request.POST or None, initial={"state": rater.state})
    if form.is_valid():
        people.set_rater_state(rater, actor=request.user, **form.cleaned_data)
        messages.success(request, _("Done. What this rater has said so far is untouched."))
        return redirect("rater", slug, pseudonym)
    return _page(request, rater, state_form=form)


@login_required
@require_POST
def rater_judgments(request: HttpRequest, slug: str, pseudonym: str) -> HttpResponse:
    """Take all that a rater has said out of the figures, or back into them."""
    rater = access.rater_named(request.user, slug, pseudonym)
    form = RaterJudgmentsForm(request.POST, auto_id=JUDGMENTS_ID)
    if not form.is_valid():
        return _page(request, rater, judgments_form=form)
    outcome = exclusions.mark(
        exclusions.of_rater(rater.study, pseudonym),
        study=rater.study,
        actor=request.user,
        subject=f"rater {pseudonym}",
        **form.cleaned_data,
    )
    messages.success(request, _changed(form.cleaned_data["action"], outcome.changed))
    if outcome.kept_out:
        messages.info(request, _kept_out(outcome.kept_out))
    return redirect("rater", slug, pseudonym)


def _page(
    request: HttpRequest,
    rater: Rater,
    *,
    state_form: RaterStateForm | None = None,
    judgments_form: RaterJudgmentsForm | None = None,
) -> HttpResponse:
    context = {
        "study": rater.study,
        "rater": rater,
        "checks": check_standings.finished(rater.study).filter(rater=rater).order_by("-finished_at")[:CHECKS],
        "n_excluded": rater.judgments.filter(excluded=True).count(),
        "state_form": state_form or RaterStateForm(initial={"state": rater.state}),
        "judgments_form": judgments_form or RaterJudgmentsForm(auto_id=JUDGMENTS_ID),
    }
    return render(request, "labeling_ui/study/rater.html", context)


def _changed(action: str, n: int) -> str:
    if action == Exclusion.Action.EXCLUDE:
        return ngettext(
            "%(n)d judgment is out of the figures.", "%(n)d judgments are out of the figures.", n
        ) % {"n": n}
    return ngettext("%(n)d judgment counts again.", "%(n)d judgments count again.", n) % {"n": n}


def _kept_out(n: int) -> str:
    return ngettext(
        "%(n)d judgment stays out: its item was corrected or withdrawn.",
        "%(n)d judgments stay out: their items were corrected or withdrawn.",
        n,
    ) % {"n": n}
