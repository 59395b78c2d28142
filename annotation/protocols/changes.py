"""Protocol changes: the diff of two versions of a protocol, and which changes a study's data still allow.

A wording may be corrected at any time: answers before and after it are answers to one question. What decides which
values an answer can have, who is asked and what is judged stands as soon as somebody has answered; what decides which
candidates a task shows stands as soon as there are tasks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from enum import StrEnum
from typing import Any

from annotation.protocols.schema import Protocol, QuestionSpec, Text


class Since(StrEnum):
    """From when on a part of a protocol stands as it is."""

    TASKS = "tasks"
    JUDGMENTS = "judgments"


class Kind(StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    MOVED = "moved"


@dataclass(frozen=True)
class Change:
    """One difference. `where` is its place in the new definition; of what was removed, in the old one.

    part and key: what it is about, such as a question and its key. field: which of its fields; empty for the whole of
    it. language: of a text. reason: why the study's data do not allow it; empty where they do.
    """

    where: str
    kind: Kind
    part: str
    key: str = ""
    field: str = ""
    language: str = ""
    before: str = ""
    after: str = ""
    reason: str = ""
    since: Since | None = None

    @property
    def is_allowed(self) -> bool:
        return not self.reason


# Why a part of a protocol stands. The pages look these sentences up in their language.
TASKS_SHOW_IT = "The study has tasks that were made for it."
ANSWERS_DIFFER = "Answers before and after the change could not be compared."
SCALE_DIFFERS = "Answers before and after the change would be on different scales."
OPTIONS_STAND = (
    "Judgments store options by their number, so no option can be removed or moved. Add new ones at the end."
)
OTHER_TASKS = "Before and after the change, different tasks would be asked about."
OTHER_MATERIAL = "Raters before and after the change would judge by different material."
NO_ANSWERS_YET = "Judgments that are there have no answer to it. Leave it optional."
ANSWERED_ALREADY = "Judgments have answers to it. Make it optional first, or keep it."
GOLD_STANDS = (
    "Checks (such as gold tasks) expect an answer that it could not have, or that would mean something else."
    " Make them regular tasks first."
)
REASONS = (
    TASKS_SHOW_IT,
    ANSWERS_DIFFER,
    SCALE_DIFFERS,
    OPTIONS_STAND,
    OTHER_TASKS,
    OTHER_MATERIAL,
    NO_ANSWERS_YET,
    ANSWERED_ALREADY,
    GOLD_STANDS,
)

_TASKS = (Since.TASKS, TASKS_SHOW_IT)
_SCALE = (Since.JUDGMENTS, SCALE_DIFFERS)
_CONDITION = (Since.JUDGMENTS, OTHER_TASKS)
_FREE = None
# Of each part the fields that may change at any time (None) and those that stand, with the reason. A field that is not
# named here stands: a new one is safe until somebody has thought about it.
_Rule = tuple[Since, str] | None
_PROTOCOL: dict[str, _Rule] = {
    **dict.fromkeys(("key", "title", "guidelines", "codes_title", "comment", "source"), _FREE),
    **dict.fromkeys(("layout", "candidate", "candidates", "added"), _TASKS),
}
_QUESTION: dict[str, _Rule] = {
    **dict.fromkeys(("title", "help", "excused_by", "max_length"), _FREE),
    **dict.fromkeys(
        ("kind", "level", "per_candidate", "tie", "both_bad", "minimum", "maximum", "step", "min_choices",
         "max_choices", "min_events", "max_events", "extent", "clip", "notes"),
        _SCALE,
    ),
    "ask_if": _CONDITION,
}  # fmt: skip
# Those that decide which answers there are.
ANSWER_FIELDS = ("kind", "points", "options", "tie", "both_bad", "minimum", "maximum")
# Parts with fields of their own, which are compared one by one.
_OWN_PARTS = {"questions", "codes", "skip_reasons", "glossary", "content", "listening"}
_NESTED = {"points", "options", "bands", "confidence", "required"}


def compare(old: Protocol, new: Protocol, *, tasks: bool, judgments: bool) -> list[Change]:
    """The differences, in the order of the definition; refused ones have a reason. `tasks` and `judgments`: the study
    has some."""
    differences = [*_plain(old, new, _PROTOCOL, "", part="protocol", skip=_OWN_PARTS)]
    differences += _content(old, new)
    must_hear = [sorted(own.listening.must_hear) for own in (old, new)]
    if must_hear[0] != must_hear[1]:
        differences.append(_change("listening", *must_hear, part="protocol", key="", field="listening"))
    differences += _questions(old.questions, new.questions)
    differences += _codes(old.codes, new.codes, "codes", part="code")
    differences += _codes(old.skip_reasons, new.skip_reasons, "skip_reasons", part="skip_reason")
    if _plain_value(old.glossary) != _plain_value(new.glossary):
        differences.append(
            Change(
                "glossary", Kind.CHANGED, "glossary", before=_rows(old.glossary), after=_rows(new.glossary)
            )
        )
    holds = {Since.TASKS: tasks, Since.JUDGMENTS: judgments}
    return [
        change if change.since is None or holds[change.since] else replace(change, reason="")
        for change in differences
    ]


def refused(changes: Iterable[Change]) -> list[Change]:
    return [change for change in changes if not change.is_allowed]


def is_same_scale(old: QuestionSpec, new: QuestionSpec) -> bool:
    """Whether the values of both can be analysed together, as answers to one question."""
    apart = {SCALE_DIFFERS, OPTIONS_STAND}
    return old.key == new.key and not any(
        change.reason in apart and not change.field.startswith("confidence")
        for change in _question(old, new, "question")
    )


def allows_expected(question: QuestionSpec | None, *, choice: int | None, value: float | None) -> bool:
    """Whether what a check expects (`annotation.models.GoldKey`) can be an answer to this question."""
    if question is None or question.kind not in ("preference", "rating", "correctness", "choice"):
        return False
    if question.kind == "preference" and choice is not None:
        return (1 <= choice <= 2) or (choice == 3 and question.tie) or (choice == 4 and question.both_bad)
    if question.kind == "preference" or value is None:
        return choice is None and value is None
    if question.kind == "choice":
        return 1 <= value <= len(question.option_keys)
    if question.values:
        return value in question.values
    low, high = question.minimum, question.maximum
    return (low is None or value >= low) and (high is None or value <= high)


def keeps_expected(
    old: QuestionSpec | None, new: QuestionSpec | None, *, choice: int | None, value: float | None
) -> bool:
    """Whether what a check expects of a question is possible after its change, and still the same answer: options are
    expected by their number."""
    if not allows_expected(old, choice=choice, value=value):
        return allows_expected(new, choice=choice, value=value)
    assert old is not None  # it allows the answer
    if new is None or new.kind != old.kind or not allows_expected(new, choice=choice, value=value):
        return False
    if old.kind != "choice" or value is None:
        return True
    number = int(value) - 1
    return old.option_keys[number] == new.option_keys[number]


# ── The parts ─────────────────────────────────────────────────────────────────


def _questions(old: Sequence[QuestionSpec], new: Sequence[QuestionSpec]) -> Iterator[Change]:
    before = {question.key: question for question in old}
    after = {question.key for question in new}
    for index, question in enumerate(new):
        where = f"questions[{index}]"
        if question.key in before:
            yield from _question(before[question.key], question, where)
            continue
        rule = (Since.JUDGMENTS, NO_ANSWERS_YET) if question.required else _FREE
        yield _refusable(Change(where, Kind.ADDED, "question", question.key, after=str(question.title)), rule)
    for index, question in enumerate(old):
        if question.key not in after:
            rule = (Since.JUDGMENTS, ANSWERED_ALREADY) if question.required else _FREE
            yield _refusable(
                Change(
                    f"questions[{index}]", Kind.REMOVED, "question", question.key, before=str(question.title)
                ),
                rule,
            )
    yield from _order([q.key for q in old], [q.key for q in new], "questions", part="question")


def _question(old: QuestionSpec, new: QuestionSpec, where: str) -> Iterator[Change]:
    part = {"part": "question", "key": new.key}
    yield from _plain(old, new, _QUESTION, where, skip=_NESTED | {"key"}, **part)
    if old.required != new.required:
        rule = (Since.JUDGMENTS, NO_ANSWERS_YET) if new.required else _FREE
        yield _refusable(
            _change(f"{where}.required", old.required, new.required, field="required", **part), rule
        )
    yield from _points(old.points, new.points, f"{where}.points", field="points", **part)
    yield from _options(getattr(old, "options", ()), getattr(new, "options", ()), f"{where}.options", **part)
    edges = [[(band.minimum, band.maximum) for band in spec.bands] for spec in (old, new)]
    if edges[0] == edges[1]:
        for index, (one, other) in enumerate(zip(old.bands, new.bands, strict=True)):
            yield from _texts(one.label, other.label, f"{where}.bands[{index}].label", field="bands", **part)
    else:
        yield _refusable(_change(f"{where}.bands", old.bands, new.bands, field="bands", **part), _SCALE)
    yield from _confidence(old, new, f"{where}.confidence", **part)


def _points(
    old: Sequence[Any], new: Sequence[Any], where: str, *, field: str, part: str, key: str
) -> Iterator[Change]:
    values = [[point.value for point in points] for points in (old, new)]
    if sorted(values[0]) != sorted(values[1]):
        numbers = [", ".join(f"{value:g}" for value in own) for own in values]
        change = Change(where, Kind.CHANGED, part, key, field, before=numbers[0], after=numbers[1])
        yield _refusable(change, _SCALE)
        return
    if values[0] != values[1]:
        yield Change(where, Kind.MOVED, part, key, field)
    before = {point.value: point for point in old}
    for index, point in enumerate(new):
        own = before[point.value]
        for name in ("label", "meaning"):
            yield from _texts(
                getattr(own, name), getattr(point, name), f"{where}[{index}].{name}",
                field=f"{field} {point.value:g}", part=part, key=key,
            )  # fmt: skip


def _options(old: Sequence[Any], new: Sequence[Any], where: str, *, part: str, key: str) -> Iterator[Change]:
    """Judgments name an option by its number: what there was keeps its place, what comes comes after it."""
    keys = [[option.key for option in options] for options in (old, new)]
    if keys[1][: len(keys[0])] != keys[0]:
        before, after = (", ".join(own) for own in keys)
        change = Change(where, Kind.CHANGED, part, key, "options", before=before, after=after)
        yield _refusable(change, (Since.JUDGMENTS, OPTIONS_STAND))
        return
    for index, (one, other) in enumerate(zip(old, new, strict=False)):
        for name in ("title", "meaning"):
            yield from _texts(
                getattr(one, name), getattr(other, name), f"{where}[{index}].{name}",
                field=f"options {other.key}", part=part, key=key,
            )  # fmt: skip
    for index in range(len(old), len(new)):
        yield Change(
            f"{where}[{index}]",
            Kind.ADDED,
            part,
            key,
            f"options {new[index].key}",
            after=str(new[index].title),
        )


def _confidence(old: QuestionSpec, new: QuestionSpec, where: str, *, part: str, key: str) -> Iterator[Change]:
    one, other = old.confidence, new.confidence
    if one is None or other is None:
        if one is not other:
            rule = (Since.JUDGMENTS, NO_ANSWERS_YET) if other and other.required else _FREE
            kind = Kind.REMOVED if other is None else Kind.ADDED
            before, after = (str(own.title) if own else "" for own in (one, other))
            yield _refusable(Change(where, kind, part, key, "confidence", before=before, after=after), rule)
        return
    yield from _texts(one.title, other.title, f"{where}.title", field="confidence", part=part, key=key)
    if one.required != other.required:
        rule = (Since.JUDGMENTS, NO_ANSWERS_YET) if other.required else _FREE
        change = _change(
            f"{where}.required", one.required, other.required, field="confidence required", part=part, key=key
        )
        yield _refusable(change, rule)
    yield from _points(one.points, other.points, f"{where}.points", field="confidence", part=part, key=key)


def _codes(old: Sequence[Any], new: Sequence[Any], where: str, *, part: str) -> Iterator[Change]:
    before = {code.key: code for code in old}
    after = {code.key for code in new}
    for index, code in enumerate(new):
        at = f"{where}[{index}]"
        if code.key not in before:
            yield Change(at, Kind.ADDED, part, code.key, after=str(code.title))
            continue
        for name in ("title", "meaning"):
            own = getattr(before[code.key], name)
            yield from _texts(own, getattr(code, name), f"{at}.{name}", field=name, part=part, key=code.key)
    for index, code in enumerate(old):
        if code.key not in after:
            yield Change(f"{where}[{index}]", Kind.REMOVED, part, code.key, before=str(code.title))
    yield from _order([code.key for code in old], [code.key for code in new], where, part=part)


def _content(old: Protocol, new: Protocol) -> Iterator[Change]:
    if old.content == new.content:
        return
    before, after = (", ".join(own.content) for own in (old, new))
    if sorted(old.content) == sorted(new.content):
        yield Change("content", Kind.MOVED, "protocol", field="content", before=before, after=after)
    else:
        change = Change("content", Kind.CHANGED, "protocol", field="content", before=before, after=after)
        yield _refusable(change, (Since.JUDGMENTS, OTHER_MATERIAL))


def _order(old: Sequence[str], new: Sequence[str], where: str, *, part: str) -> Iterator[Change]:
    both = set(old) & set(new)
    stayed = [[key for key in keys if key in both] for keys in (old, new)]
    if stayed[0] != stayed[1]:
        before, after = (", ".join(keys) for keys in stayed)
        yield Change(where, Kind.MOVED, part, before=before, after=after)


# ── Single fields ─────────────────────────────────────────────────────────────


def _plain(
    old: Any, new: Any, rules: dict[str, _Rule], where: str, *, skip: set[str], part: str, key: str = ""
) -> Iterator[Change]:
    for field in fields(old):
        if not field.init or field.name in skip:
            continue
        one, other = getattr(old, field.name), getattr(new, field.name)
        at = f"{where}.{field.name}" if where else field.name
        if isinstance(one, Text) and isinstance(other, Text):
            yield from _texts(one, other, at, field=field.name, part=part, key=key)
        elif one != other:
            rule = rules.get(field.name, (Since.JUDGMENTS, ANSWERS_DIFFER))
            yield _refusable(_change(at, one, other, field=field.name, part=part, key=key), rule)


def _texts(old: Text, new: Text, where: str, *, field: str, part: str, key: str) -> Iterator[Change]:
    for language in dict.fromkeys([*old.by_language, *new.by_language]):
        before, after = (text.by_language.get(language, "") for text in (old, new))
        if before != after:
            kind = Kind.CHANGED if before and after else Kind.ADDED if after else Kind.REMOVED
            yield Change(where, kind, part, key, field, language, before, after)


def _change(where: str, old: Any, new: Any, *, part: str, key: str, field: str) -> Change:
    return Change(where, Kind.CHANGED, part, key, field, before=_shown(old), after=_shown(new))


def _refusable(change: Change, rule: _Rule) -> Change:
    return change if rule is None else replace(change, since=rule[0], reason=rule[1])


def _shown(value: Any) -> str:
    plain = _plain_value(value)
    if plain is None or plain == [] or plain == "":
        return "–"
    if isinstance(plain, float):
        return f"{plain:g}"
    if isinstance(plain, list) and all(isinstance(each, str | int | float) for each in plain):
        return ", ".join(f"{each:g}" if isinstance(each, float) else str(each) for each in plain)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _rows(rows: Iterable[Any]) -> str:
    return "\n".join(str(row.dimension) for row in rows)


def _plain_value(value: Any) -> Any:
    if isinstance(value, Text):
        return value.by_language
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return [_plain_value(each) for each in value] if isinstance(value, list | tuple) else value
