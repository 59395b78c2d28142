"""Addresses that hear what happens in a study, and what was sent to them."""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from annotation import access
from annotation.models import Webhook, WebhookDelivery
from annotation.webhooks import webhooks as service
from labeling_ui.domain_errors import errors_in_form
from labeling_ui.page_responses import action, button, page_cursor
from labeling_ui.study.forms import WebhookChangeForm, WebhookForm

DELIVERIES_SHOWN = 50


@login_required
@never_cache
def webhooks(request: HttpRequest, slug: str) -> HttpResponse:
    """A new webhook's secret stands in the answer to its POST and nowhere else."""
    study = access.managed_study(request.user, slug)
    form, secret, webhook = WebhookForm(request.POST or None), None, None
    if form.is_valid():
        with errors_in_form(form):
            webhook, secret = service.add(study, actor=request.user, **form.cleaned_data)
            form = WebhookForm()
    failed = Count("deliveries", filter=Q(deliveries__state=WebhookDelivery.State.FAILED))
    rows = study.webhooks.annotate(n_failed=failed).order_by("pk")
    context = {"study": study, "form": form, "secret": secret, "made": webhook, "webhooks": rows}
    return render(request, "labeling_ui/study/webhooks/webhooks.html", context)


@login_required
@never_cache
def webhook(request: HttpRequest, slug: str, webhook_id: int) -> HttpResponse:
    webhook = access.webhook_of(request.user, slug, webhook_id)
    form = WebhookChangeForm(request.POST or None, initial=WebhookChangeForm.initial_of(webhook))
    if form.is_valid():
        with errors_in_form(form):
            service.change(webhook, actor=request.user, **form.cleaned_data)
            messages.success(request, _("Saved."))
            return redirect("webhook", slug, webhook_id)
    return _render_webhook(request, webhook, form=form)


@login_required
@never_cache
@require_POST
def webhook_secret(request: HttpRequest, slug: str, webhook_id: int) -> HttpResponse:
    webhook = access.webhook_of(request.user, slug, webhook_id)
    secret = service.change_secret(webhook, actor=request.user)
    webhook.refresh_from_db()
    return _render_webhook(request, webhook, secret=secret)


webhook_test = button(
    access.webhook_of,
    service.send_test,
    gettext_lazy("A test is on its way. Load this page again in a few seconds to see how it went."),
    to="webhook",
    of="slug webhook_id",
)
webhook_resume = button(
    access.webhook_of,
    service.resume,
    gettext_lazy("Delivery resumes with the events since then."),
    to="webhook",
    of="slug webhook_id",
)
webhook_remove = button(
    access.webhook_of, service.remove, gettext_lazy("The webhook is removed."), to="webhooks", of="slug"
)
webhook_replay = button(
    access.delivery_of,
    service.replay,
    gettext_lazy("The delivery is being retried."),
    to="webhook",
    of="slug webhook_id",
)


@action
def webhook_replay_failed(request: HttpRequest, slug: str, webhook_id: int) -> HttpResponse:
    n = service.replay_failed(access.webhook_of(request.user, slug, webhook_id), actor=request.user)
    messages.success(
        request, ngettext("%(n)d delivery is sent again.", "%(n)d deliveries are sent again.", n) % {"n": n}
    )
    return redirect("webhook", slug, webhook_id)


def _render_webhook(
    request: HttpRequest,
    webhook: Webhook,
    *,
    form: WebhookChangeForm | None = None,
    secret: str | None = None,
) -> HttpResponse:
    state, after = request.GET.get("state", ""), page_cursor(request)
    rows = webhook.deliveries.all()
    if state in WebhookDelivery.State.values:
        rows = rows.filter(state=state)
    if after:
        rows = rows.filter(pk__lt=after)
    deliveries = list(rows.order_by("-pk")[: DELIVERIES_SHOWN + 1])
    older = (
        urlencode({"state": state, "after": deliveries[DELIVERIES_SHOWN - 1].pk})
        if len(deliveries) > DELIVERIES_SHOWN
        else ""
    )
    context = {
        "study": webhook.study,
        "webhook": webhook,
        "form": form or WebhookChangeForm(initial=WebhookChangeForm.initial_of(webhook)),
        "secret": secret,
        "deliveries": deliveries[:DELIVERIES_SHOWN],
        "states": WebhookDelivery.State.choices,
        "state": state,
        "older": older,
        "n_failed": webhook.deliveries.filter(state=WebhookDelivery.State.FAILED).count(),
        "n_waiting": webhook.deliveries.filter(state=WebhookDelivery.State.WAITING).count(),
    }
    return render(request, "labeling_ui/study/webhooks/webhook.html", context)
