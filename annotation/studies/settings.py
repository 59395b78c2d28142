"""Study settings: one declaration per setting, as a field of a dataclass, from which all else follows.

    @dataclass(frozen=True)
    class Hints:
        scorer: str = setting("", label=_("Show raters what a model says"), max_length=64)
        withheld: float = setting(0.1, label=_("Share of tasks where it is kept from the rater, in %"),
                                  least=0.1, most=0.9, percent=True)

This module needs no Django, so that rules can declare their settings. From a declaration follow

- the values in force: `from_stored(Hints, stored)`, and `all_values` as JSON;
- validation: `validate(Hints, values)`, a FieldProblem for each value out of bounds. Rules that need several settings,
  or the study, stay beside the dataclass;
- the change of a study: `annotation.studies.stored_settings.save_settings`;
- the shape of the API: `class HintsIn(SettingsIn): declaration = Hints` (annotation/api/serializers.py);
- the form: `declared(Hints)` gives for each name its `Setting`: `gettext_lazy(setting.label)`,
  `gettext_lazy(setting.help_text)`, `setting.choices` (value, label), `setting.type` ("bool", "int", "float", "str" or
  "tuple"), `setting.least` and `setting.most`. A `percent` setting is stored as a share from 0 to 1; its label says
  "in %", so a form multiplies value and bounds by 100.

Labels and help texts are marked for translation with `gettext_noop`, imported as `_`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, TypeVar

from annotation.errors import FieldProblem

Declaration = TypeVar("Declaration")


def gettext_noop(text: str) -> str:
    """Mark a text for translation, without Django. Whoever shows it translates it."""
    return text


@dataclass(frozen=True)
class Setting:
    """What is declared of one setting. `type` is the field's annotation. `message` says what a valid value is, in place
    of the general sentence; it may name {least} and {most}. `description` is for the API, where label and help text do
    not fit."""

    name: str = ""
    type: str = ""
    default: Any = None
    label: str = ""
    help_text: str = ""
    description: str = ""
    least: float = 0
    most: float = 0
    percent: bool = False
    choices: tuple[tuple[str, str], ...] = ()
    max_length: int = 200
    message: str = ""

    @property
    def api_description(self) -> str:
        label = self.label.replace(", in %", f", as a share from {self.least:g} to {self.most:g}")
        return self.description or f"{label}. {self.help_text}".strip()

    def problem_of(self, value: Any) -> str:
        """What is wrong with a value; empty where it can be used."""
        keys = [key for key, _label in self.choices]
        match self.type:
            case "bool":
                valid, sentence = isinstance(value, bool), "Give true or false."
            case "int" | "float":
                valid = is_number(value, whole=self.type == "int") and self.least <= value <= self.most
                kind = "whole number" if self.type == "int" else "number"
                sentence = f"Give a {kind} from {{least:g}} to {{most:g}}."
            case "str" if keys:
                valid, sentence = value in keys, f"{value!r} is not one of {', '.join(keys)}."
            case "str":
                valid = isinstance(value, str) and len(value) <= self.max_length
                sentence = f"Give a text of at most {self.max_length} characters."
            case _:
                valid = isinstance(value, list | tuple) and all(part in keys for part in value)
                sentence = f"Give a list of some of {', '.join(keys)}."
        if valid:
            return ""
        template = self.message or sentence
        bounded = self.message or self.type in ("int", "float")
        return template.format(least=self.least, most=self.most) if bounded else template


def setting(default: Any, **declaration: Any) -> Any:
    """A field of a dataclass of settings. The keywords are those of `Setting`."""
    return field(default=default, metadata={"setting": Setting(default=default, **declaration)})


def declared(declaration: Any) -> dict[str, Setting]:
    """The settings of a dataclass by name, in its order."""
    return _declared(declaration)


@cache
def _declared(declaration: Any) -> dict[str, Setting]:
    return {
        part.name: replace(part.metadata["setting"], name=part.name, type=str(part.type).partition("[")[0])
        for part in fields(declaration)
    }


def from_stored(declaration: type[Declaration], stored: Mapping[str, Any]) -> Declaration:
    """The settings in force, of which only those that differ from the defaults need be stored."""
    return declaration(**{name: stored[name] for name in declared(declaration) if name in stored})


def all_values(declaration: type[Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """Every setting as JSON: as stored, or the default."""
    values = {name: stored.get(name, setting.default) for name, setting in declared(declaration).items()}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def validate(
    declaration: type[Any], values: Mapping[str, Any], **changed: Mapping[str, Any]
) -> list[FieldProblem]:
    """The problems of these values, each with the name of its setting. `changed`: what of a setting's declaration
    depends on the study, such as most={"least": 4}."""
    settings = declared(declaration)
    names = ", ".join(settings)
    problems = [
        FieldProblem(name, f"There is no such setting; there are {names}.")
        for name in values
        if name not in settings
    ]
    for name, setting in settings.items():
        if name in values and (problem := replace(setting, **changed.get(name, {})).problem_of(values[name])):
            problems.append(FieldProblem(name, problem))
    return problems


def is_number(value: Any, *, whole: bool = False) -> bool:
    """Whether a value of JSON is a number. True and false are none."""
    return isinstance(value, int if whole else int | float) and not isinstance(value, bool)
