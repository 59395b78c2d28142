"""What the desk says after a decision: what was decided, and for how long it can be taken back."""

from __future__ import annotations

import math
from dataclasses import dataclass

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.models import Correction, Return, ReviewCase, User
from annotation.services import undo
from labeling_ui.review_words import FIELDS


@dataclass(frozen=True)
class Toast:
    """`minutes`: how much longer the decision can be taken back; 0 where it cannot."""

    case_id: int
    text: str
    minutes: int


def toast(user: User, case_id: int) -> Toast | None:
    """Of a case that this account has just decided or returned; None of any other."""
    case = ReviewCase.objects.select_related("study", "item").filter(pk=case_id).first()
    if case is None:
        return None
    if case.state == ReviewCase.State.RETURNED:
        text = _returned(case, user)
        return Toast(case.pk, text, 0) if text else None
    if case.state != ReviewCase.State.RESOLVED or case.decided_by_id != user.pk:
        return None
    until = undo.until(case)
    minutes = math.ceil((until - timezone.now()).total_seconds() / 60) if until else 0
    return Toast(case.pk, _decided(case), max(0, minutes))


def _decided(case: ReviewCase) -> str:
    name = case.item.external_id
    if case.decision == ReviewCase.Decision.CORRECTED:
        made = Correction.objects.filter(case=case, version_after__retracted=False).values_list(
            "field", flat=True
        )
        fields = ", ".join(str(title) for field, title in FIELDS.items() if field in set(made))
        return _("%(item)s corrected: %(fields)s.") % {"item": name, "fields": fields}
    if case.decision == ReviewCase.Decision.FINE:
        return _("%(item)s: fine as it is.") % {"item": name}
    return f"{name}: {case.get_decision_display()}."


def _returned(case: ReviewCase, user: User) -> str:
    asked = list(Return.objects.filter(case=case, created_by=user, state=Return.State.WAITING))
    raters = sum(one.rater_id is not None for one in asked)
    if not asked:
        return ""
    if not raters:
        return _("%(item)s returned to the pool.") % {"item": case.item.external_id}
    sentence = ngettext("%(item)s returned to %(n)d rater.", "%(item)s returned to %(n)d raters.", raters)
    return sentence % {"item": case.item.external_id, "n": raters}
