"""What the page of a study's data shows beside its rows: tabs, filter controls, chips of what is active, columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext as look_up

from analytics.browse.columns import Column, Filter
from analytics.browse.facts import Facts
from analytics.browse.query import Query
from analytics.browse.rater_table import GROUPS as RATER_GROUPS
from analytics.browse.rater_table import RATERS
from analytics.browse.tables import GROUP_MODELS, GROUP_RATERS, GROUP_REVIEW, GROUP_WHAT, TABLES
from analytics.raters.rules import FIGURES
from annotation.models import SavedView, Study

Option = tuple[str, str]


@dataclass(frozen=True)
class Control:
    """A field of the filter form. `values`: by parameter, what stands in it; `options`: what can be chosen."""

    kind: str
    key: str
    label: str
    values: Mapping[str, str] = field(default_factory=dict)
    options: tuple[Option, ...] = ()
    chosen: tuple[str, ...] = ()
    step: str = "any"
    problem: str = ""


@dataclass(frozen=True)
class ControlGroup:
    title: str
    controls: tuple[Control, ...]


@dataclass(frozen=True)
class Chip:
    """An active filter, and the address of the page without it."""

    text: str
    path: str


@dataclass(frozen=True)
class Heading:
    """`path`: of the page sorted by this column, the other way round where it is already; empty where it cannot be."""

    column: Column
    label: str
    path: str
    sorted: str
    help: str


def data_path(study: Study, query: Query, **extra: str) -> str:
    values = urlencode(
        {**query.as_values(), **{name: [value] for name, value in extra.items() if value}}, doseq=True
    )
    path = (
        reverse("raters", args=[study.slug])
        if query.table == RATERS.name
        else reverse("data", args=[study.slug, query.table])
    )
    return path + (f"?{values}" if values else "")


def table_tabs(study: Study, query: Query) -> list[dict[str, Any]]:
    """The other tables take along the filters that they have, too."""
    tabs = []
    for name, table in TABLES.items():
        if table is RATERS:  # has a page of its own
            continue
        table_query = (
            query
            if name == query.table
            else replace(
                Query.of(name, {key: list(values) for key, values in query.filters.items()}),
                sort="",
                columns=(),
            )
        )
        tabs.append(
            {
                "title": look_up(table.label),
                "path": data_path(study, table_query),
                "current": name == query.table,
            }
        )
    return tabs


def headings(study: Study, query: Query) -> list[Heading]:
    shown = []
    now = query.sort or query.shape.default_sort
    for column in query.shown_columns:
        way, path = "", ""
        if column.sort:
            way = {column.key: "ascending", f"-{column.key}": "descending"}.get(now, "")
            # What is worth a look comes first: names from A, numbers and dates from the greatest.
            ascending = column.kind in ("name", "rater") or (
                column.key in FIGURES and FIGURES[column.key].low_is_bad
            )
            first = column.key if ascending else f"-{column.key}"
            other = column.key if first.startswith("-") else f"-{column.key}"
            path = data_path(study, replace(query, sort=other if now == first else first))
        help_text = look_up(column.help) if column.help else ""
        shown.append(Heading(column, look_up(column.label), path, way, help_text))
    return shown


def column_choices(query: Query) -> list[dict[str, Any]]:
    shown = {column.key for column in query.shown_columns}
    return [
        {"key": column.key, "label": look_up(column.label), "shown": column.key in shown}
        for column in query.shape.columns
    ]


@dataclass(frozen=True)
class ViewLink:
    """A saved view: where it leads, and whether it is what the page shows."""

    view: SavedView
    path: str
    current: bool


def view_links(study: Study, query: Query, views: Sequence[SavedView]) -> list[ViewLink]:
    now = data_path(study, query)
    links = []
    for view in views:
        path = data_path(study, Query.of(query.table, view.filters))
        links.append(ViewLink(view, path, path == now))
    return links


_GROUPS = (GROUP_WHAT, GROUP_RATERS, GROUP_MODELS, GROUP_REVIEW)


# ── Filters ──────────────────────────────────────────────────────────────────


def control_groups(query: Query, facts: Facts, problems: Mapping[str, str]) -> list[ControlGroup]:
    groups = []
    for title in (*_GROUPS, *RATER_GROUPS):
        own = [one for one in query.shape.filters if one.group == title]
        controls = [control for one in own for control in _controls(one, query, facts, problems)]
        if controls:
            groups.append(ControlGroup(look_up(title), tuple(controls)))
    return groups


def _controls(one: Filter, query: Query, facts: Facts, problems: Mapping[str, str]) -> list[Control]:
    values = {name: (query.filters.get(name) or ("",))[0] for name in one.names}
    problem = next((problems[name] for name in one.names if name in problems), "")
    base = Control(
        one.kind, one.key, look_up(one.label), values, problem=problem, step=getattr(one, "step", "any")
    )
    chosen = tuple(query.filters.get(one.key, ()))
    match one.kind:
        case "strata":
            return [
                Control(
                    "one", f"strata.{name}", name,
                    options=tuple((value, value) for value in values),
                    chosen=tuple(query.filters.get(f"strata.{name}", ())),
                )
                for name, values in facts.strata.items()
            ]  # fmt: skip
        case "choice":
            options = _options(one, facts)
            return [replace(base, options=options, chosen=chosen)] if options else []
        case "score":
            options = tuple((digest, name) for digest, (name, _pk) in facts.scorers.items())
            return [replace(base, options=options, chosen=(values["scorer"],))] if options else []
        case "answer":
            options = tuple((key, title) for key, (title, _ids) in facts.questions.items())
            return [replace(base, options=options, chosen=(values["question"],))] if options else []
        case "range" if one.key == "gap" and not facts.scorers:
            return []
        case _:
            return [base]


def _options(one: Filter, facts: Facts) -> tuple[Option, ...]:
    source = getattr(one, "source", "")
    if source == "raters":
        return tuple((name, name) for name in facts.raters.choices())
    if source == "codes":
        return tuple((key, f"{key} · {title}") for key, title in facts.codes.items())
    if source == "chosen":
        return tuple((key, answer.title) for key, answer in facts.chosen.items())
    if source:
        return tuple((name, name) for name in getattr(facts, source))
    return tuple((name, look_up(label)) for name, label, _value in getattr(one, "options", ()))


def chips(study: Study, query: Query, facts: Facts) -> list[Chip]:
    shown = []
    for one in query.shape.filters:
        names = [name for name in one.names if name in query.filters]
        if one.kind == "strata":
            shown += [
                Chip(f"{name.removeprefix('strata.')}: {texts[0]}", data_path(study, query.without(name)))
                for name, texts in query.filters.items()
                if name.startswith("strata.")
            ]
        elif names:
            text = _chip_text(one, query, facts)
            shown.append(Chip(text, data_path(study, query.without(*one.names))))
    return shown


def _chip_text(one: Filter, query: Query, facts: Facts) -> str:
    label, filters = look_up(one.label), query.filters
    match one.kind:
        case "choice":
            titles = dict(_options(one, facts)) if one.key != "rater" else {}
            return f"{label}: {', '.join(titles.get(value, value) for value in filters[one.key])}"
        case "flag":
            return f"{label}: {_('yes') if filters[one.key][0] == 'yes' else _('no')}"
        case "range" | "days":
            return f"{label}: {_span(*(_value(filters, name) for name in one.names))}"
        case "score":
            name = facts.scorers.get(_value(filters, "scorer"), (_value(filters, "scorer"), 0))[0]
            return f"{name}: {_span(_value(filters, 'score.min'), _value(filters, 'score.max'))}"
        case "answer":
            title = facts.questions.get(_value(filters, "question"), (label, ()))[0]
            parts = [
                _span(_value(filters, "answer.min"), _value(filters, "answer.max")),
                _span(_value(filters, "confidence.min"), _value(filters, "confidence.max")),
            ]
            sure = f" · {_('confidence')} {parts[1]}" if parts[1] else ""
            return f"{title}: {parts[0]}{sure}"
        case _:
            return f"{label}: {_value(filters, one.key)}"


def _value(filters: Mapping[str, Sequence[str]], name: str) -> str:
    return (filters.get(name) or ("",))[0]


def _span(least: str, most: str) -> str:
    if least and most:
        return least if least == most else f"{least} – {most}"
    return f"≥ {least}" if least else f"≤ {most}" if most else ""
