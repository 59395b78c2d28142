"""The changes between two versions of a protocol, in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext as look_up
from django.utils.translation import gettext_lazy as _

from annotation.protocols.changes import Change, Kind
from labeling_ui.questions import fields

KINDS = {
    Kind.ADDED: _("Added"),
    Kind.REMOVED: _("Removed"),
    Kind.CHANGED: _("Changed"),
    Kind.MOVED: _("Order changed"),
}
PARTS: dict[str, Promise] = {
    "protocol": _("Protocol"),
    "question": _("Question"),
    "code": _("Code"),
    "skip_reason": _("Reason to skip"),
    "glossary": _("Glossary"),
}
_FIELDS = {
    one.name: one.label
    for one in (
        *fields.PROTOCOL, *fields.CONFIDENCE, *fields.GLOSSARY.inputs, *fields.OPTION_ROWS.inputs,
        *fields.POINTS.inputs, *fields.QUESTION,
    )
}  # fmt: skip
_MORE_FIELDS = {
    "kind": _("Kind of question"),
    "points": _("Points"),
    "options": _("Options"),
    "bands": _("Named stretches"),
    "confidence": _("How sure?"),
    "ask_if": _("Ask only if"),
    "listening": _("Must be heard before an answer"),
    "candidates": _("How many candidates"),
}


@dataclass(frozen=True)
class ChangeRow:
    """One change as the pages show it. `is_text`: its two sides are compared word by word."""

    what: str
    kind: str
    before: str
    after: str
    language: str
    reason: str
    is_text: bool


def change_rows(changes: Iterable[Change]) -> list[ChangeRow]:
    """What is refused first."""
    return [_row(change) for change in sorted(changes, key=lambda change: change.is_allowed)]


def _row(change: Change) -> ChangeRow:
    part = str(PARTS[change.part])
    if change.part == "protocol":
        part = ""
    elif change.key:
        part = f"{part} {change.key}"
    name, _space, rest = change.field.partition(" ")
    label = str(_MORE_FIELDS.get(name) or _FIELDS.get(name) or name)
    what = " · ".join(filter(None, [part, f"{label} {rest}".strip()]))
    return ChangeRow(
        what=what,
        kind=str(KINDS[change.kind]),
        before=change.before,
        after=change.after,
        language=fields.LANGUAGES.get(change.language, change.language),
        reason=look_up(change.reason) if change.reason else "",
        is_text=bool(change.language and change.before and change.after),
    )
