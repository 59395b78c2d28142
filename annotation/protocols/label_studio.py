"""Labeling configurations of Label Studio as protocols: the audio templates' controls become questions.

What has no place in a protocol is listed, never dropped in silence. A configuration is untrusted: a document type, with
which entities and files come, is refused before anything is parsed.
"""

from __future__ import annotations

import re
import unicodedata
import xml.etree.ElementTree as ElementTree
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotation.protocols.schema import ProtocolError

Definition = dict[str, Any]
Element = ElementTree.Element
MOST_ELEMENTS = 2000
MOST_DEPTH = 50
AUDIO = ("Audio", "AudioPlus")
TEXTS = ("Text", "HyperText", "Paragraphs")
# Which field of an item a text or a sound is, by words of its variable's name; the first that fits.
_TEXT_FIELDS = (
    ("lyric", "lyrics"), ("transcript", "transcript"), ("rationale", "rationale"), ("explan", "rationale"),
    ("reference", "reference"), ("expected", "reference"), ("question", "question"), ("prompt", "prompt"),
)  # fmt: skip
_REFERENCE = ("reference", "ref", "original", "target")


@dataclass
class _Control:
    """A control as a question, with what it is about. `about`: the sounds that it names."""

    name: str
    question: Definition
    about: tuple[str, ...]
    # The question (its Label Studio name) and the answers that show it.
    condition: tuple[str, tuple[str, ...]] | None = None
    # Label Studio's values of the options by the keys that these got.
    keys: dict[str, str] = field(default_factory=dict)


def definition_of_config(config: str) -> tuple[Definition, tuple[str, ...]]:
    """A protocol, and what of the configuration is not in it. Raises ProtocolError."""
    root = _parse(config)
    reader = _Reader()
    reader.walk(root, heading="", condition=None)
    return reader.definition(), tuple(dict.fromkeys(reader.notes))


def _parse(config: str) -> Element:
    if re.search(r"<!\s*(DOCTYPE|ENTITY)", config, re.IGNORECASE):
        raise ProtocolError("file", "has a document type, which a labeling configuration does not need")
    try:
        root = ElementTree.fromstring(config)
    except ElementTree.ParseError as error:
        raise ProtocolError("file", f"is no XML: {error}") from error
    if sum(1 for _ in root.iter()) > MOST_ELEMENTS:
        raise ProtocolError("file", f"has more than {MOST_ELEMENTS} elements")
    level, depth = [root], 0
    while level := [inner for element in level for inner in element]:
        depth += 1
        if depth > MOST_DEPTH:
            raise ProtocolError("file", "is nested too deeply")
    if root.tag != "View":
        raise ProtocolError(
            "file", "is no labeling configuration of Label Studio: its first element is not <View>"
        )
    return root


class _Reader:
    def __init__(self) -> None:
        self.controls: list[_Control] = []
        self.sounds: dict[str, str] = {}
        self.texts: dict[str, str] = {}
        self.instructions: list[str] = []
        self.notes: list[str] = []
        self.lists: list[str] = []

    # Reading elements

    def walk(self, view: Element, *, heading: str, condition: tuple[str, tuple[str, ...]] | None) -> None:
        own = self._condition(view)
        if own and condition:
            self.notes.append(
                f"The condition on {condition[0]} around one on {own[0]}: one condition is kept."
            )
        condition = own or condition
        for element in view:
            if element.tag == "Header":
                text = element.get("value", "")
                if heading and text:
                    self.instructions.append(heading)
                heading = "" if text.startswith("$") else text
            elif element.tag in ("View", "Collapse", "Panel"):
                self.walk(element, heading=heading or element.get("value", ""), condition=condition)
                heading = ""
            elif element.tag in AUDIO:
                self.sounds[element.get("name", "")] = element.get("value", "").removeprefix("$")
                # What stands above a sound is its name, which raters must not be led by.
                heading = ""
            elif element.tag in TEXTS:
                self._text(element, heading)
                heading = ""
            elif element.tag == "List":
                self.lists.append(element.get("name", ""))
            elif (read := getattr(self, f"_read_{element.tag.lower()}", None)) is not None:
                heading = self._control(element, read, heading, condition)
            elif element.tag == "Style":
                self.notes.append("<Style>: pages keep their own look.")
            elif element.tag != "Shortcut":
                self.notes.append(
                    f"<{element.tag}{_named(element)}>: there is no such kind of question here."
                )
        if heading:
            self.instructions.append(heading)

    def _text(self, element: Element, heading: str) -> None:
        value = element.get("value", "")
        if not value.startswith("$"):
            self.instructions.append(value)
            return
        if heading:
            self.notes.append(
                f"The heading {heading!r} above ${value[1:]}: fields of items have names of their own."
            )
        self.texts[element.get("name", "")] = value[1:]

    def _control(
        self, element: Element, read: Any, heading: str, condition: tuple[str, tuple[str, ...]] | None
    ) -> str:
        """Read one; returns the heading that is left for the next."""
        if element.get("perRegion") == "true":
            self.notes.append(
                f"<{element.tag}{_named(element)}>: asked of each region; moments take a note instead."
            )
            return heading
        control: _Control | None = read(element)
        if control is None:
            return heading
        name = element.get("name", "")
        control.question["title"] = heading or element.get("title") or _words(name)
        if hint := element.get("placeholder"):
            control.question["help"] = hint
        if control.question["kind"] != "events":
            control.question["required"] = element.get("required") == "true"
        control.condition = self._condition(element) or condition
        self.controls.append(control)
        return ""

    def _condition(self, element: Element) -> tuple[str, tuple[str, ...]] | None:
        when = element.get("visibleWhen")
        if when is None:
            return None
        values = tuple(
            filter(None, (value.strip() for value in element.get("whenChoiceValue", "").split(",")))
        )
        if when != "choice-selected" or not element.get("whenTagName"):
            self.notes.append(f'visibleWhen="{when}"{_named(element)}: it is asked always.')
            return None
        return element.get("whenTagName", ""), values

    # Controls

    def _read_choices(self, element: Element) -> _Control:
        options, keys = self._options(element, "Choice")
        several = element.get("choice", "single") == "multiple"
        question: Definition = {"kind": "choices" if several else "choice", "options": options}
        if several and element.get("required") != "true":
            question["min_choices"] = 0
        if element.get("layout") == "select":
            self.notes.append(f"The drop-down list{_named(element)} is shown open.")
        return _Control(element.get("name", ""), question, _to(element), keys=keys)

    def _read_labels(self, element: Element) -> _Control:
        options, keys = self._options(element, "Label")
        question: Definition = {"kind": "events", "extent": "interval"}
        if options:
            question["options"] = options
        return _Control(element.get("name", ""), question, _to(element), keys=keys)

    def _read_rating(self, element: Element) -> _Control:
        most = _whole(element.get("maxRating"), 5)
        points = [{"value": value} for value in range(1, most + 1)]
        return _Control(
            element.get("name", ""), {"kind": "rating", "level": "ordinal", "points": points}, _to(element)
        )

    def _read_number(self, element: Element) -> _Control:
        low, high, step = (_number(element.get(name)) for name in ("min", "max", "step"))
        if low is None or high is None or low >= high:
            self.notes.append(
                f"<Number{_named(element)}> has no smallest and largest value: it goes from 0 to 100."
            )
            low, high = 0, 100
        question: Definition = {"kind": "rating", "level": "interval", "minimum": low, "maximum": high}
        if step and step > 0 and abs((high - low) / step - round((high - low) / step)) < 1e-6:
            question["step"] = step
        return _Control(element.get("name", ""), question, _to(element))

    def _read_textarea(self, element: Element) -> _Control:
        if _whole(element.get("maxSubmissions"), 1) > 1:
            self.notes.append(f"<TextArea{_named(element)}>: one text instead of several.")
        return _Control(element.get("name", ""), {"kind": "text"}, _to(element))

    def _read_pairwise(self, element: Element) -> _Control:
        question: Definition = {"kind": "preference", "level": "nominal"}
        return _Control(element.get("name", ""), question, _to(element))

    def _read_ranker(self, element: Element) -> _Control:
        return _Control(element.get("name", ""), {"kind": "ranking"}, _to(element))

    def _options(self, element: Element, tag: str) -> tuple[list[Definition], dict[str, str]]:
        options: list[Definition] = []
        keys: dict[str, str] = {}
        taken: set[str] = set()
        for child in element:
            if child.tag != tag:
                self.notes.append(f"<{child.tag}> in <{element.tag}{_named(element)}> is left out.")
                continue
            if nested := [inner for inner in child if inner.tag == tag]:
                self.notes.append(
                    f"{len(nested)} choices below {child.get('value')!r}: options have no levels."
                )
            title = child.get("value") or child.get("alias") or ""
            if title.startswith("$"):
                self.notes.append(f"The option {title}: options are the same for all tasks.")
                continue
            key = _key(child.get("alias") or title, prefix="option", taken=taken)
            taken.add(key)
            keys.setdefault(title, key)
            option: Definition = {"key": key, "title": title}
            if hint := child.get("hint"):
                option["meaning"] = hint
            options.append(option)
        return options, keys

    # The whole

    def definition(self) -> Definition:
        if not self.controls:
            raise ProtocolError("file", "has no control that becomes a question")
        reference, judged = self._sounds()
        kinds = {control.question["kind"] for control in self.controls}
        ranked = "ranking" in kinds or bool(self.lists)
        if ranked or len(judged) > 2:
            layout, n = "panel", max(len(judged), 2)
        elif "preference" in kinds or len(judged) == 2:
            layout, n = "comparison", 2
        else:
            layout, n = "rating", 1
        clips = bool(judged) or (ranked and not self.texts)
        controls = self._joined(judged) if layout != "rating" else self.controls
        definition: Definition = {
            "key": "label-studio",
            "title": "Imported from Label Studio",
            "layout": layout,
            "candidate": "clip" if clips else "text",
            "content": [*self._text_fields(), *(["reference_clip"] if reference else [])],
            "guidelines": "\n\n".join(dict.fromkeys(self.instructions))
            or "Listen to the whole before you answer.",
            "questions": list(self._questions(controls, layout)),
        }
        if layout == "panel":
            definition["candidates"] = [n, 8 if ranked else max(n, 3)]
        if clips:
            definition["listening"] = {"must_hear": ["candidates"]}
        return definition

    def _sounds(self) -> tuple[list[str], list[str]]:
        """The names of reference sounds, and of those that are judged."""
        reference = [
            name
            for name, variable in self.sounds.items()
            if len(self.sounds) > 1
            and any(word in re.split(r"[_\W]", f"{name}_{variable}".lower()) for word in _REFERENCE)
        ]
        if len(reference) > 1:
            self.notes.append(f"The sounds {', '.join(reference[1:])}: an item has one reference clip.")
        return reference[:1], [name for name in self.sounds if name not in reference]

    def _text_fields(self) -> list[str]:
        fields: list[str] = []
        for name, variable in self.texts.items():
            word = f"{name} {variable}".lower()
            chosen = next((one for part, one in _TEXT_FIELDS if part in word), "prompt")
            if chosen in fields:
                self.notes.append(f"The text ${variable}: the item's {chosen} is shown once.")
            else:
                fields.append(chosen)
        return fields

    def _joined(self, judged: Sequence[str]) -> list[_Control]:
        """Controls that are the same for every sound become one that is asked of each."""
        joined: list[_Control] = []
        waiting = list(self.controls)
        while waiting:
            control = waiting.pop(0)
            if (
                len(control.about) == 1
                and control.about[0] in judged
                and control.question["kind"] != "preference"
            ):
                same = [one for one in waiting if self._is_same(one, control, judged)]
                if {one.about[0] for one in same} | set(control.about) == set(judged):
                    waiting = [one for one in waiting if one not in same]
                    self._about_each(control, judged)
                elif len(judged) > 1 and control.question["kind"] == "events":
                    self._about_each(control, judged)
                    self.notes.append(
                        f"{control.name}: it is about {control.about[0]} there; here it is asked of each."
                    )
            joined.append(control)
        return joined

    def _is_same(self, one: _Control, other: _Control, judged: Sequence[str]) -> bool:
        def plain(control: _Control) -> Mapping[str, Any]:
            return {name: value for name, value in control.question.items() if name not in ("title", "help")}

        return len(one.about) == 1 and one.about[0] in judged and plain(one) == plain(other)

    def _about_each(self, control: _Control, judged: Sequence[str]) -> None:
        control.question["per_candidate"] = True
        title = str(control.question["title"])
        reworded = re.sub(r"\b(audio|clip|sample|sound)\s*[AB12]\b", r"this \1", title, flags=re.IGNORECASE)
        if len(judged) > 1 and re.search(r"\b[AB]\b", reworded):
            self.notes.append(f"{title!r} names one of them, and is asked of each: reword it.")
        control.question["title"] = reworded

    def _questions(self, controls: Sequence[_Control], layout: str) -> Iterator[Definition]:
        keys: dict[str, str] = {}
        by_name: dict[str, _Control] = {}
        taken: set[str] = set()
        for control in controls:
            key = _key(control.name or str(control.question["title"]), prefix="q", taken=taken, lower=True)
            question: Definition = {"key": key, **control.question}
            if control.condition:
                self._add_condition(question, control.condition, keys, by_name)
            if question["kind"] == "preference" and layout != "comparison":
                self.notes.append(f"{control.name}: a preference is between two sounds; here are more.")
                continue
            taken.add(key)
            keys[control.name], by_name[control.name] = key, control
            yield question

    def _add_condition(
        self,
        question: Definition,
        condition: tuple[str, tuple[str, ...]],
        keys: Mapping[str, str],
        by_name: Mapping[str, _Control],
    ) -> None:
        name, values = condition
        earlier = by_name.get(name)
        if earlier is None or not earlier.keys:
            self.notes.append(
                f"{question['key']}: its condition on {name} names no earlier choice; it is asked always."
            )
            return
        option_keys = [earlier.keys[value] for value in values if value in earlier.keys] or list(
            earlier.keys.values()
        )
        if lost := [value for value in values if value not in earlier.keys]:
            self.notes.append(f"{question['key']}: {', '.join(lost)} is no option of {name}.")
        if earlier.question.get("per_candidate") and not question.get("per_candidate"):
            question["per_candidate"] = True
        question["ask_if"] = {"question": keys[name], "any_of": option_keys}


def _to(element: Element) -> tuple[str, ...]:
    return tuple(filter(None, (name.strip() for name in element.get("toName", "").split(","))))


def _named(element: Element) -> str:
    return f' name="{element.get("name")}"' if element.get("name") else ""


def _words(name: str) -> str:
    return re.sub(r"[_\-]+", " ", name).strip().capitalize() or "Question"


def _key(text: str, *, prefix: str, taken: Collection[str], lower: bool = False) -> str:
    """A key derived from a text, unlike the `taken` ones."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    base = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")[:36] or f"{prefix}{len(taken) + 1}"
    if lower and not base[0].isalpha():
        base = f"{prefix}_{base}"
    key, again = base, 2
    while key in taken:
        key, again = f"{base}_{again}", again + 1
    return key


def _number(text: str | None) -> float | int | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    if number != number or abs(number) > 1e12:
        return None
    return int(number) if number.is_integer() else number


def _whole(text: str | None, default: int) -> int:
    number = _number(text)
    return int(number) if number is not None and 1 <= number <= 100 else default
