"""What the endpoints of the review queue take and give."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from annotation.api.paging import PageOut
from annotation.api.shapes import In
from annotation.rules.flag_rules import KINDS
from annotation.services.case_queue import STATES, Filters

_TEXT = 200


class StratumField(serializers.RegexField):
    """One stratum, as `name=value`."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(r"\A[^=]+=.*\Z", max_length=2 * _TEXT, **kwargs)


class FiltersIn(In):
    """Which cases; what is left out narrows nothing, but for the state: without one, open cases are meant."""

    state = serializers.ChoiceField(STATES, required=False)
    rule = serializers.ChoiceField(list(KINDS), required=False)
    assigned = serializers.CharField(
        required=False, max_length=254, help_text="me, nobody, or an expert's e-mail address."
    )
    strata = serializers.ListField(
        child=StratumField(), required=False, max_length=20, help_text="Each as name=value; all must match."
    )
    text = serializers.CharField(
        required=False, max_length=_TEXT, help_text="Part of the item's name, question or prompt."
    )


class QueueIn(FiltersIn):
    after = serializers.IntegerField(required=False, min_value=0, max_value=2**63 - 1)
    limit = serializers.IntegerField(default=50, min_value=1, max_value=200)


class AssignIn(In):
    cases = serializers.ListField(
        child=serializers.IntegerField(min_value=0, max_value=2**63 - 1), min_length=1, max_length=1000
    )
    expert = serializers.EmailField(allow_null=True, help_text="Null gives the cases back to everybody.")


class ReviewViewIn(In):
    name = serializers.CharField(max_length=80)
    shared = serializers.BooleanField(default=False, help_text="Everybody who sees the queue sees it.")
    filters = FiltersIn(default=dict)


class CaseRowOut(serializers.Serializer):
    """A case as the queue shows it: of the votes, only which rules fired."""

    id = serializers.IntegerField()
    item_id = serializers.IntegerField()
    item = serializers.CharField(source="external_id")
    title = serializers.CharField(help_text="The beginning of the item's question or prompt.")
    strata = serializers.DictField()
    state = serializers.CharField()
    decision = serializers.CharField(help_text="Empty until decided.")
    rules = serializers.ListField(child=serializers.CharField())
    assigned_to = serializers.CharField(help_text="Empty where it is anybody's.")
    claimed_by = serializers.CharField(help_text="Empty where nobody is at it.")
    is_mine = serializers.BooleanField(help_text="You are at it.")
    n_returns = serializers.IntegerField()
    created_at = serializers.DateTimeField()


class QueueCountsOut(serializers.Serializer):
    """How many cases; 1000 means that many or more."""

    open = serializers.IntegerField()
    claimed = serializers.IntegerField()
    returned = serializers.IntegerField()
    resolved = serializers.IntegerField()
    mine = serializers.IntegerField(help_text="Unresolved ones that were given to you.")


class QueueOut(PageOut):
    counts = QueueCountsOut(help_text="All of the study's, whatever the filters.")
    results = CaseRowOut(many=True)


class ClaimedOut(serializers.Serializer):
    """A case in your hands. Judge it blind first; what others said is at …/review-cases/{id}/ from then on."""

    id = serializers.IntegerField()
    state = serializers.CharField()
    claim_expires_at = serializers.DateTimeField(allow_null=True)
    judged = serializers.BooleanField(
        help_text="Whether you have judged it blind, or it has no task to judge."
    )


class AssignedOut(serializers.Serializer):
    changed = serializers.IntegerField()


class ReviewViewOut(serializers.Serializer):
    id = serializers.IntegerField()
    name = serializers.CharField()
    shared = serializers.BooleanField()
    mine = serializers.BooleanField()
    filters = serializers.DictField()


class ReviewViewsOut(serializers.Serializer):
    results = ReviewViewOut(many=True)


def filters_of(body: dict[str, Any]) -> Filters:
    """What was asked for, as the queue takes it."""
    strata = dict(pair.split("=", 1) for pair in body.get("strata", ()))
    named: dict[str, Any] = {n: body[n] for n in ("state", "rule", "assigned", "text") if n in body}
    return Filters.of({**named, "strata": strata})
