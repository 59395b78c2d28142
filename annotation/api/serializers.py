"""Serializers that all endpoints share: strict request bodies, settings of a study, free-form objects, errors."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache
from types import NoneType
from typing import Any, ClassVar, TypeVar, get_args, get_origin, get_type_hints
from uuid import UUID

from django.db import models
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers

from annotation.studies.settings import Setting, declared

PROBLEM_JSON = "application/problem+json"
Method = TypeVar("Method", bound=Callable[..., Any])


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


class SettingsIn(In):
    """Some of the settings of a study, from their `declaration` (annotation/studies/settings.py). A field of the
    class replaces the one of that setting. Only types are checked here; the service knows the bounds."""

    declaration: ClassVar[type[Any]]

    def get_fields(self) -> dict[str, serializers.Field]:
        own, settings = super().get_fields(), declared(self.declaration)
        extra = {name: field for name, field in own.items() if name not in settings}
        return extra | {name: own.get(name) or _setting_field(setting) for name, setting in settings.items()}


def _setting_field(setting: Setting) -> serializers.Field:
    options: dict[str, Any] = {"required": False, "help_text": setting.api_description}
    if setting.default is None:
        options["allow_null"] = True
    match setting.type:
        case "bool":
            return serializers.BooleanField(**options)
        case "int":
            return serializers.IntegerField(**options)
        case "float":
            return serializers.FloatField(**options)
        case _ if setting.choices:
            return serializers.ChoiceField([key for key, _label in setting.choices], **options)
        case _:
            return serializers.CharField(allow_blank=True, max_length=setting.max_length, **options)


@cache
def _shared_instance(shape: type[In]) -> In:
    return shape()


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


class Out(serializers.Serializer):
    """A response body whose fields follow from the columns of a model, or the annotations of a dataclass: those of
    `shape` that `shown` names (of a dataclass: all of them), in that order. A field of the class replaces the one of
    its name; `notes` are help texts of the others."""

    shape: ClassVar[type[Any]]
    shown: ClassVar[str] = ""
    notes: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        names = cls.shown.split() or [each.name for each in dataclasses.fields(cls.shape)]
        own = cls._declared_fields
        derived = {
            name: own.get(name) or _shown_field(cls.shape, name, cls.notes.get(name)) for name in names
        }
        cls._declared_fields = derived | {name: field for name, field in own.items() if name not in derived}


_COLUMN_TYPES: Mapping[type[models.Field], Any] = {
    models.BooleanField: bool,
    models.IntegerField: int,
    models.FloatField: float,
    models.CharField: str,
    models.TextField: str,
    models.JSONField: dict,
    models.DateTimeField: datetime,
    models.UUIDField: UUID,
}
_FIELDS: Mapping[Any, type[serializers.Field]] = {
    bool: serializers.BooleanField,
    int: serializers.IntegerField,
    float: serializers.FloatField,
    str: serializers.CharField,
    dict: serializers.DictField,
    Mapping: serializers.DictField,
    datetime: serializers.DateTimeField,
    UUID: serializers.UUIDField,
}


def _shown_field(shape: type[Any], name: str, note: str | None) -> serializers.Field:
    options: dict[str, Any] = {"help_text": note} if note else {}
    if isinstance(computed := getattr(shape, name, None), property):
        type_ = get_type_hints(computed.fget)["return"]
        return (
            _computed(type_)(**options) if issubclass(shape, models.Model) else _field_of_type(type_, options)
        )
    if not issubclass(shape, models.Model):
        return _field_of_type(get_type_hints(shape)[name], options)
    column = shape._meta.get_field(name)
    options |= {"allow_null": True} if column.null else {}
    if column.choices:
        return serializers.ChoiceField(column.choices, **options)
    return _field_of_type(
        next(type_ for kind, type_ in _COLUMN_TYPES.items() if isinstance(column, kind)), options
    )


def _computed(type_: Any) -> type[serializers.ReadOnlyField]:
    """What a row's property computes: of this type in the schema, where it is read-only."""
    return extend_schema_field(_field_of_type(type_, {}))(type("Computed", (serializers.ReadOnlyField,), {}))


def _field_of_type(type_: Any, options: dict[str, Any]) -> serializers.Field:
    arguments = get_args(type_)
    if NoneType in arguments:
        return _field_of_type(arguments[0], {**options, "allow_null": True})
    origin = get_origin(type_) or type_
    if origin in (list, tuple, Sequence):
        return serializers.ListField(child=_field_of_type(arguments[0], {}), **options)
    return _FIELDS[origin](**options)


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


def operation(
    operation_id: str, response: Any, *refusals: int, status: int = 200, **schema: Any
) -> Callable[[Method], Method]:
    """Describe a view's method as an OpenAPI operation: what it answers with `status`, and the refusals it may answer
    with. `schema` goes to drf-spectacular: the request's serializer, query parameters."""
    responses = {status: response, **problem_responses(*refusals)}
    return extend_schema(operation_id=operation_id, responses=responses, **schema)
