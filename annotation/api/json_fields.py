"""Free-form objects in request bodies: settings and definitions, of which only a service knows what may be in them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

_MAX_DEPTH = 20


@extend_schema_field(OpenApiTypes.OBJECT)
class TableField(serializers.Field):
    """A JSON object that the database can hold: at most `most` characters, no NUL, half character or infinity, and not
    so deep that reading it would be a fault of its own."""

    default_error_messages = {  # REST framework's own way
        "not_a_table": "Give a JSON object.",
        "too_long": "This is too long: {most} characters of JSON are the most.",
        "unstorable": "A text in it holds a character that cannot be kept (NUL, or half a character), "
        "or a number is infinite.",
        "too_deep": "This is nested too deeply.",
    }

    def __init__(self, *, most: int = 200_000, **kwargs: Any) -> None:
        self.most = most
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, Mapping):
            self.fail("not_a_table")
        self._refuse_unstorable(data)
        if len(json.dumps(data, ensure_ascii=False)) > self.most:
            self.fail("too_long", most=self.most)
        return dict(data)

    def to_representation(self, value: Any) -> Any:
        return value

    def _refuse_unstorable(self, data: Any) -> None:
        left = [(data, 1)]
        while left:
            value, depth = left.pop()
            if depth > _MAX_DEPTH:
                self.fail("too_deep")
            if isinstance(value, Mapping):
                left += [(each, depth + 1) for pair in value.items() for each in pair]
            elif isinstance(value, list | tuple):
                left += [(each, depth + 1) for each in value]
            elif not _is_storable(value):
                self.fail("unstorable")


def _is_storable(value: Any) -> bool:
    if isinstance(value, str):
        return "\x00" not in value and value == value.encode(errors="replace").decode()
    return not isinstance(value, float) or value - value == 0
