"""What all endpoints share: reading a request strictly, and the one shape of everything that goes wrong."""

from __future__ import annotations

from functools import cache
from typing import Any

from rest_framework import serializers

PROBLEM_JSON = "application/problem+json"


class In(serializers.Serializer):
    """A request body, read to plain values. Only form is checked here; what the values mean is a service's matter."""

    @classmethod
    def parsed(cls, data: Any) -> dict[str, Any]:
        """The body's values; raises ValidationError. One instance serves all requests: copying the fields for each
        took three times as long as checking them, and `run_validation` keeps nothing."""
        return dict(_shared_instance(cls).run_validation(data))

    def to_internal_value(self, data: Any) -> Any:
        """Refuse what is not known: a misspelt field would be left out in silence otherwise."""
        if isinstance(data, dict) and (unknown := set(data) - set(self.fields)):
            known = ", ".join(self.fields)
            raise serializers.ValidationError(
                {str(name): [f"There is no such field here; it takes {known}."] for name in sorted(unknown)}
            )
        return super().to_internal_value(data)


@cache
def _shared_instance(shape: type[In]) -> In:
    return shape()


class FieldErrorOut(serializers.Serializer):
    field = serializers.CharField()
    message = serializers.CharField()
    remedy = serializers.CharField(required=False)


class ProblemOut(serializers.Serializer):
    """problem+json (RFC 9457)."""

    type = serializers.CharField()
    title = serializers.CharField(help_text="A stable code for programs.")
    status = serializers.IntegerField()
    detail = serializers.CharField(help_text="A sentence for people.")
    errors = FieldErrorOut(many=True)


def problem_responses(*statuses: int) -> dict[tuple[int, str], type[ProblemOut]]:
    """For a schema: the refusals an endpoint may answer with."""
    return {(status, PROBLEM_JSON): ProblemOut for status in statuses}
