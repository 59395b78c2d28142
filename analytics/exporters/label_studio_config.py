"""A protocol as Label Studio's labeling configuration: what is shown of a task, and the controls that ask about it.

A preference is a choice of A, B and what else the protocol allows: Label Studio's own pairwise control knows no tie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from string import ascii_lowercase
from typing import Any
from xml.etree import ElementTree as xml

from annotation.protocols import Protocol, QuestionSpec

# Fields of items by their names in imports; what is shown has a name of its own, for controls have the plain ones.
TEXTS = {"question": "question_text"}
CLIPS = {"clip": "item_audio", "reference_clip": "reference_audio"}


@dataclass(frozen=True)
class Control:
    """One control. `about` is the place of the candidate that it asks about, None for the task as a whole."""

    name: str
    tag: str
    title: str
    about: int | None = None
    attributes: dict[str, str] = field(default_factory=dict)
    # Value and meaning of each choice.
    choices: tuple[tuple[str, str], ...] = ()

    def value(self, said: Any) -> dict[str, Any]:
        """An answer as the control's results hold it."""
        match self.tag:
            case "Choices":
                return {
                    "choices": [f"{one:g}" if isinstance(one, float) else str(one) for one in _listed(said)]
                }
            case "Rating":
                return {"rating": int(said)}
            case "Number":
                return {"number": said}
            case _:
                return {"text": [said]}


def endings(protocol: Protocol, n_candidates: int) -> list[str]:
    """What the names of each candidate's fields end in."""
    return (
        [""] if protocol.layout == "rating" else [f"_{letter}" for letter in ascii_lowercase[:n_candidates]]
    )


def shown(protocol: Protocol, n_candidates: int) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Key and tag of what is shown of the item, and of the candidates by place."""
    item = [
        (CLIPS[name], "Audio") if name in CLIPS else (TEXTS.get(name, name), "Text")
        for name in protocol.content
    ]
    key, tag = ("audio", "Audio") if protocol.candidate == "clip" else ("answer", "Text")
    return item, [(f"{key}{end}", tag) for end in endings(protocol, n_candidates)]


def controls(protocol: Protocol, n_candidates: int) -> list[Control]:
    found = []
    ends = endings(protocol, n_candidates)
    for question in protocol.questions:
        about = list(enumerate(ends)) if question.per_candidate else [(None, "")]
        for place, end in about:
            found += _asked(question, question.key + end, place)
    if protocol.codes:
        meanings = tuple((code.key, str(code.title)) for code in protocol.codes)
        found.append(Control("codes", "Choices", "Codes", None, {"choice": "multiple"}, meanings))
    if protocol.comment:
        found.append(Control("comment", "TextArea", "Comment", None, {"maxSubmissions": "1"}))
    return found


def _asked(question: QuestionSpec, name: str, place: int | None) -> list[Control]:
    needed = {"required": "true"} if question.required and not question.excused_by else {}
    title = str(question.title)
    single = {**needed, "choice": "single"}
    if question.kind == "preference":
        asked = Control(
            name, "Choices", title, place, single, tuple((choice, "") for choice in question.choices)
        )
    elif question.kind == "text":
        asked = Control(name, "TextArea", title, place, {**needed, "maxSubmissions": "1"})
    elif not question.points:
        ends = {"min": f"{question.minimum:g}", "max": f"{question.maximum:g}"}
        asked = Control(name, "Number", title, place, {**needed, **ends})
    elif _is_stars(question):
        asked = Control(name, "Rating", title, place, {**needed, "maxRating": str(len(question.points))})
    else:
        points = tuple((f"{point.value:g}", str(point.label)) for point in question.points)
        asked = Control(name, "Choices", title, place, single, points)
    if question.confidence is None:
        return [asked]
    # Imported votes may be sure by half a point, which no choice among whole ones could hold.
    low, high = question.confidence.values[0], question.confidence.values[-1]
    bounds = {"min": f"{low:g}", "max": f"{high:g}"}
    return [asked, Control(f"{name}_confidence", "Number", str(question.confidence.title), place, bounds)]


def _is_stars(question: QuestionSpec) -> bool:
    """Label Studio's stars count from 1 and have no names."""
    counted = list(question.values) == list(range(1, len(question.values) + 1))
    return counted and not any(str(point.label) for point in question.points)


def configuration(protocol: Protocol, n_candidates: int) -> str:
    item, candidates = shown(protocol, n_candidates)
    view = xml.Element("View")
    for key, tag in item:
        _show(view, key, tag, title=key.replace("_", " "))
    asked = controls(protocol, n_candidates)
    for place, (key, tag) in enumerate(candidates):
        letter = key.partition("_")[2].upper()
        _show(view, key, tag, title=letter)
        _ask(view, [control for control in asked if control.about == place], to=f"show_{key}")
    _ask(view, [control for control in asked if control.about is None], to=f"show_{candidates[0][0]}")
    xml.indent(view)
    return xml.tostring(view, encoding="unicode") + "\n"


def _show(view: xml.Element, key: str, tag: str, *, title: str) -> None:
    if title:
        xml.SubElement(view, "Header", value=title)
    xml.SubElement(view, tag, name=f"show_{key}", value=f"${key}")


def _ask(view: xml.Element, asked: Sequence[Control], *, to: str) -> None:
    for control in asked:
        xml.SubElement(view, "Header", value=control.title)
        made = xml.SubElement(view, control.tag, {"name": control.name, "toName": to, **control.attributes})
        for value, meaning in control.choices:
            xml.SubElement(made, "Choice", {"value": value, **({"hint": meaning} if meaning else {})})


def _listed(said: Any) -> list[Any]:
    return said if isinstance(said, list) else [said]
