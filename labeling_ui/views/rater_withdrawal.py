"""Taking a rater out of a study at their own wish, and the certificate of it."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from analytics.services import withdrawal_certificates
from annotation import access
from annotation.models import Rater
from annotation.services import rater_withdrawals
from labeling_ui.forms.releases import WithdrawalForm


@login_required
def withdraw_rater(request: HttpRequest, slug: str, pseudonym: str) -> HttpResponse:
    """What it means, and doing it; once it is done, the certificate."""
    rater = access.rater_named(request.user, slug, pseudonym)
    if rater.state == Rater.State.WITHDRAWN:
        complete = withdrawal_certificates.is_complete(rater)
        told = {
            "study": rater.study,
            "rater": rater,
            "certificate": withdrawal_certificates.certificate(rater) if complete else None,
        }
        return render(request, "labeling_ui/study/certificate.html", told)
    form = WithdrawalForm(request.POST or None, initial={"mode": "removed"})
    if form.is_valid():
        wish = {name: form.cleaned_data[name] for name in ("mode", "note")}
        rater_withdrawals.withdraw(rater, actor=request.user, **wish)
        return redirect("withdraw_rater", slug, pseudonym)
    context = {"study": rater.study, "rater": rater, "form": form, "n": rater.judgments.count()}
    return render(request, "labeling_ui/study/withdraw_rater.html", context)
