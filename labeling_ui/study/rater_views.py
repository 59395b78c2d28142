"""One rater of a study: what they judged and skipped, whether they get tasks, and whether their judgments count."""

from __future__ import annotations

from collections.abc import Iterator

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from analytics.datasets import releases
from analytics.raters import quality
from analytics.raters.rules import QualityRules
from annotation import access
from annotation.listening import checks
from annotation.models import Exclusion, Rater, User
from annotation.onboarding import path
from annotation.raters import actions, withdrawal
from annotation.rating import exclusions
from annotation.studies import members
from labeling_ui.domain_errors import errors_as_messages
from labeling_ui.onboarding.views import shown_steps
from labeling_ui.page_responses import action, page_cursor
from labeling_ui.raters.forms import EXCLUDE_JUDGMENTS, REINSTATE, RESTORE_JUDGMENTS, RaterActionForm
from labeling_ui.raters.page_data import action_rows, quality_page
from labeling_ui.study.forms import WithdrawalForm
from labeling_ui.study.rater_work import rater_work

# How many of the latest listening checks are listed.
LISTENING_CHECKS_SHOWN = 20
ACTIONS_SHOWN = 50


@login_required
def rater(request: HttpRequest, slug: str, pseudonym: str) -> HttpResponse:
    """How well they work, what they judged and skipped, and what can be done about it."""
    return _render_rater(request, access.rater_by_pseudonym(request.user, slug, pseudonym))


@action
def act_on_rater(request: HttpRequest, slug: str, pseudonym: str) -> HttpResponse:
    """An action on a rater; or their place, or their judgments, alone."""
    rater = access.rater_by_pseudonym(request.user, slug, pseudonym)
    form = RaterActionForm(request.POST, rater=rater, n_excluded=_n_excluded(rater))
    if not form.is_valid():
        return _render_rater(request, rater, form=form)
    with errors_as_messages(request):
        for sentence in _act(rater, request.user, **form.cleaned_data):
            messages.success(request, sentence)
    return redirect("rater", slug, pseudonym)


def _act(rater: Rater, actor: User, *, action: str, reason: str, message: str) -> Iterator[str]:
    """Do it, and say in sentences what came of it."""
    if action == REINSTATE:
        members.set_rater_state(rater, Rater.State.ACTIVE, actor=actor, reason=reason)
        yield _("Done. The rater's judgments so far stay as they are.")
    elif action in (EXCLUDE_JUDGMENTS, RESTORE_JUDGMENTS):
        yield from _exclude_or_restore(rater, actor, exclude=action == EXCLUDE_JUDGMENTS, reason=reason)
    else:
        recollect = QualityRules.of(rater.study.rules).recollect
        actions.act(rater, action, actor=actor, reason=reason, message=message, recollect=recollect)
        yield _("Done. You can take it back below.")


def _exclude_or_restore(rater: Rater, actor: User, *, exclude: bool, reason: str) -> Iterator[str]:
    outcome = exclusions.exclude_or_restore(
        rater.judgments.all(),
        study=rater.study,
        action=Exclusion.Action.EXCLUDE if exclude else Exclusion.Action.RESTORE,
        reason=reason,
        actor=actor,
        subject=f"rater {rater.pseudonym}",
    )
    n = outcome.changed
    if exclude:
        changed = ngettext(
            "%(n)d judgment is out of the figures.", "%(n)d judgments are out of the figures.", n
        )
    else:
        changed = ngettext("%(n)d judgment counts again.", "%(n)d judgments count again.", n)
    yield changed % {"n": n}
    if outcome.kept_out:
        still_excluded = ngettext(
            "%(n)d judgment stays out: its item was corrected or withdrawn.",
            "%(n)d judgments stay out: their items were corrected or withdrawn.",
            outcome.kept_out,
        )
        yield still_excluded % {"n": outcome.kept_out}


def _n_excluded(rater: Rater) -> int:
    return rater.judgments.filter(excluded=True).count()


def _render_rater(
    request: HttpRequest,
    rater: Rater,
    *,
    form: RaterActionForm | None = None,
) -> HttpResponse:
    quality.freshen(rater.study)
    n_excluded = _n_excluded(rater)
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
        "steps": shown_steps(path.steps(rater)),
        "consents": rater.consents.select_related("version").order_by("-pk")[:20],
        "training_runs": rater.training_runs.order_by("-number")[:20],
        "n_excluded": n_excluded,
        "quality": quality_page(rater),
        "action_form": form or RaterActionForm(rater=rater, n_excluded=n_excluded),
        "rows": action_rows(
            rater.actions.select_related("rater", "actor").order_by("-pk")[:ACTIONS_SHOWN],
            QualityRules.of(rater.study.rules),
        ),
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
