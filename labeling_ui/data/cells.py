"""Cells of the tables of a study's data: a column's plain value as HTML, by the column's kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.template.loader import get_template
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext as look_up
from django.utils.translation import ngettext

from analytics.browse.columns import Column
from analytics.browse.facts import Facts
from analytics.browse.query import Query
from analytics.browse.rater_table import DONE, RATER_STATES
from analytics.browse.rows import DataRow, RowContext, as_text
from analytics.browse.tables import ITEM_STATES, KINDS, ORIGINS, STATUSES, TASK_STATES
from analytics.raters.rules import FIGURES, FigureSpec
from annotation.models import Answer, Study
from annotation.review.labels import CHOICE_LABELS
from annotation.studies.protocols import load_protocol
from labeling_ui.templatetags.formatting import in_language, moment

NOTHING = SafeString("")
_LABELS = {
    name: label
    for options in (RATER_STATES, KINDS, TASK_STATES, ITEM_STATES, STATUSES, ORIGINS)
    for name, label, _value in options
}
_TAG_CLASSES = {
    "gold": "on", "trap": "on", "held": "warn", "withdrawn": "bad", "excluded": "bad", "counted": "good",
    "paused": "warn", "active": "good", "surplus": "warn", "superseded": "", "expert": "on",
}  # fmt: skip
# A disagreement or a gap above it stands out.
_HIGH = 0.5
_BAR_WIDTH = 100
_COLOURS = 6


# Numbers to the right, long texts in the room they need.
_CELL_CLASSES = {
    "number": "number",
    "decimal": "number",
    "text": "text",
    "date": "date number",
    "code": "text",
}


@dataclass(frozen=True)
class ShownRow:
    """`cells`: the row's cells as HTML, drawn here: a template takes several times as long for a page of them."""

    row: DataRow
    cells: SafeString


class CellDrawer:
    """Draws the rows of one table of one study."""

    def __init__(self, study: Study, query: Query, facts: Facts, context: RowContext) -> None:
        self.study, self.query, self.facts, self.context = study, query, facts, context
        self.columns = query.shown_columns
        # A row of a page links to the item's; its address is built once.
        self.item_path = reverse("item_history", args=[study.slug, 0])
        self.clips_template = get_template("labeling_ui/data/clip.html")

    def rows(self, rows: list[DataRow]) -> list[ShownRow]:
        heads = [
            (
                column,
                _CELL_CLASSES.get(column.kind, "") + (" wide-cell" if column.wide else ""),
                look_up(column.label),
            )
            for column in self.columns
        ]
        return [ShownRow(row, self._cells(row, heads)) for row in rows]

    def _cells(self, row: DataRow, heads: list[tuple[Column, str, str]]) -> SafeString:
        drawn = ((classes, label, self._draw(column, row)) for column, classes, label in heads)
        return format_html_join(
            "",
            '<td class="{}{}" data-label="{}">{}</td>',
            ((classes, "" if html else " empty-cell", label, html) for classes, label, html in drawn),
        )

    def _draw(self, column: Column, row: DataRow) -> SafeString:
        value = row.values.get(column.key)
        drawer = _DRAWERS.get(column.kind)
        if drawer is not None:
            return drawer(self, value, row)
        return NOTHING if value in (None, "", [], {}) else format_html("{}", as_text(value))

    @cached_property
    def answer_names(self) -> Mapping[float, str]:
        """What the values of the first question are called."""
        question = self.context.leading
        if question is None:
            return {}
        if question.is_preference:
            return {float(choice): str(CHOICE_LABELS[choice.name.lower()]) for choice in Answer.Choice}
        spec = load_protocol(self.study.protocol_version_id).spec.question(question.question_key)
        if spec is None:
            return {}
        options = {float(n): in_language(one.title) for n, one in enumerate(spec.options, start=1)}
        return options or {point.value: in_language(point.label) for point in spec.points}


def _name(drawer: CellDrawer, value: Any, row: DataRow) -> SafeString:
    """What a row is about, by the end of its path; below it the folder, the systems where no player names them, and the
    id where it says more. Long ones are cut at their beginning: their ends differ."""
    path = drawer.item_path.replace("/0/", f"/{row.item}/")
    full = row.item_name or value or row.name
    parts = full.rsplit("/", 2)
    below = [parts[0]] if len(parts) == 3 else []
    if row.systems and not row.clips and "systems" not in {column.key for column in drawer.columns}:
        below.append(" · ".join(row.systems))
    if row.name != full:
        below.append(f"…{row.name.removeprefix(full)}" if row.name.startswith(full) else row.name)
    lines = format_html_join(
        "", '<span class="name-line" title="{}"><bdi dir="ltr">{}</bdi></span>', ((one, one) for one in below)
    )
    return format_html(
        '<a class="name" data-row-link href="{}" title="{}">{}</a>{}', path, full, "/".join(parts[-2:]), lines
    )


def _rater(drawer: CellDrawer, value: Any, row: DataRow) -> SafeString:
    if not value:
        return format_html('<span class="soft">{}</span>', _("unnamed"))
    path = reverse("rater", args=[drawer.study.slug, value])
    return format_html('<a class="rater-code" data-row-link href="{}">{}</a>', path, value)


def _text(drawer: CellDrawer, value: Any, row: DataRow) -> SafeString:
    return format_html('<span dir="auto" title="{}">{}</span>', value[:400], value) if value else NOTHING


def _tag(drawer: CellDrawer, value: Any, row: DataRow) -> SafeString:
    if not value:
        return NOTHING
    label = look_up(_LABELS[value]) if value in _LABELS else value
    return format_html('<span class="tag {}">{}</span>', _TAG_CLASSES.get(value, ""), label)


def _rater_actions(drawer: CellDrawer, value: Any, row: DataRow) -> SafeString:
    """What stands of what was done; the state is shown beside it."""
    labels = {name: look_up(label) for name, label, _sql in DONE}
    return _tags(drawer, [labels[one] for one in value or () if one in labels], row)


def _figure(drawer: CellDrawer, value: Any, row: DataRow) -> SafeString:
    """A bar from 0 to 1, with the interval on it where there is one, the figure, and what it rests on."""
    if not value:
        return NOTHING
    spec = FIGURES[value["figure"]]
    figure, n = float(value["value"]), int(value["n"])
    words = figure_text(spec, figure)
    title = _("%(label)s: %(figure)s, of %(n)s %(of)s") % {
        "label": look_up(spec.label), "figure": words, "n": f"{n:,}", "of": look_up(spec.of),
    }  # fmt: skip
    if spec.most > 1:
        return format_html(
            '<span class="figure" title="{}">{} <span class="soft small">/ {}</span></span>',
            title,
            words,
            f"{n:,}",
        )
    low, high = value.get("low"), value.get("high")
    whisker: SafeString = NOTHING
    if low is not None and high is not None:
        whisker = format_html(
            '<rect class="whisker" x="{}" y="0.35" width="{}" height="0.3"/>',
            round(_BAR_WIDTH * low, 1), round(_BAR_WIDTH * (high - low), 1),
        )  # fmt: skip
    return format_html(
        '<span class="meter" title="{}"><svg viewBox="0 0 {} 1" preserveAspectRatio="none" aria-hidden="true">'
        '<rect width="{}" height="1"/>{}</svg><span>{} <span class="soft small">/ {}</span></span></span>',
        title, _BAR_WIDTH, round(_BAR_WIDTH * min(1.0, max(0.0, figure)), 1), whisker, words, f"{n:,}",
    )  # fmt: skip


def figure_text(spec: FigureSpec, value: float) -> str:
    """A figure of a rater as pages write it: 80 %, 0.42, 12."""
    if spec.share:
        return f"{100 * value:.0f} %"
    places = 2 if spec.most <= 100 else 0 if value >= 10 or value == int(value) else 1
    return f"{value:,.{places}f}".replace("-", "−")


def _kind(drawer: CellDrawer, value: Any, row: DataRow) -> SafeString:
    """Regular tasks are the rule."""
    return (
        format_html('<span class="soft">{}</span>', _("Regular"))
        if value == "regular"
        else _tag(drawer, value, row)
    )


def _tags(drawer: CellDrawer, value: Any, row: DataRow) -> SafeString:
    inner = format_html_join("", '<span class="tag">{}</span>', ((one,) for one in value or ()))
    return format_html('<span class="tags">{}</span>', inner) if inner else NOTHING


def _codes(drawer: CellDrawer, value: Any, row: DataRow) -> SafeString:
    pairs = ((drawer.facts.codes.get(one, one), one) for one in value or ())
    inner = format_html_join("", '<span class="tag on" title="{}">{}</span>', pairs)
    return format_html('<span class="tags">{}</span>', inner) if inner else NOTHING


def _strata(drawer: CellDrawer, value: Any, row: DataRow) -> SafeString:
    return _tags(drawer, [one.replace("=", ": ", 1) for one in value or ()], row)


def _progress(drawer: CellDrawer, value: Any, row: DataRow) -> SafeString:
    share = min(1.0, value / row.n_wanted) if row.n_wanted else 0.0
    return format_html(
        '<span class="meter"><svg viewBox="0 0 {} 1" preserveAspectRatio="none" aria-hidden="true">'
        '<rect width="{}" height="1"/></svg><span>{} / {}</span></span>',
        _BAR_WIDTH, round(share * _BAR_WIDTH, 1), value, row.n_wanted,
    )  # fmt: skip


def _meter(drawer: CellDrawer, value: Any, row: DataRow) -> SafeString:
    if value is None:
        return NOTHING
    return format_html(
        '<span class="meter{}"><svg viewBox="0 0 {} 1" preserveAspectRatio="none" aria-hidden="true">'
        '<rect width="{}" height="1"/></svg><span>{}</span></span>',
        " high" if value >= _HIGH else "", _BAR_WIDTH, round(value * _BAR_WIDTH, 1), f"{value:.2f}",
    )  # fmt: skip


def _votes(drawer: CellDrawer, value: Any, row: DataRow) -> SafeString:
    """A bar of shares, and the same in words for whoever cannot see it."""
    counts = sorted((float(answer), n) for answer, n in (value or {}).items())
    total = sum(n for _answer, n in counts)
    if not total:
        return NOTHING
    order = {answer: place for place, answer in enumerate(sorted(drawer.answer_names))}
    bars, start = [], 0.0
    for place, (answer, n) in enumerate(counts):
        width = _BAR_WIDTH * n / total
        bars.append((order.get(answer, place) % _COLOURS, round(start, 2), round(width, 2)))
        start += width
    words = [f"{drawer.answer_names.get(answer) or f'{answer:g}'}: {n}" for answer, n in counts]
    short = " · ".join(f"{_short(drawer, answer)} ×{n}" for answer, n in counts[:4])
    return format_html(
        '<span class="shares" title="{}"><svg viewBox="0 0 {} 1" preserveAspectRatio="none" aria-hidden="true">{}</svg>'
        '<span class="shares-text">{}</span></span>',
        "; ".join(words), _BAR_WIDTH,
        format_html_join("", '<rect class="s{}" x="{}" width="{}" height="1"/>', bars),
        short + (" …" if len(counts) > 4 else ""),
    )  # fmt: skip


def _short(drawer: CellDrawer, answer: float) -> str:
    leading = drawer.context.leading
    if leading is not None and leading.is_preference:
        return {1: "A", 2: "B", 3: "=", 4: "✗"}.get(int(answer), f"{answer:g}")
    if leading is not None and leading.options:
        return Truncator(drawer.answer_names.get(answer) or f"{answer:g}").chars(20)
    return f"{answer:g}"


def _date(drawer: CellDrawer, value: Any, row: DataRow) -> SafeString:
    return mark_safe(moment(datetime.fromisoformat(value))) if value else NOTHING  # an element of our own


def _flagged(drawer: CellDrawer, value: Any, row: DataRow) -> SafeString:
    return format_html('<span class="tag warn">{}</span>', _("Open case")) if value else NOTHING


def _counts(drawer: CellDrawer, value: Any, row: DataRow) -> SafeString:
    return _tags(drawer, [f"{name} ×{n}" for name, n in (value or {}).items()], row)


def _scores(drawer: CellDrawer, value: Any, row: DataRow) -> SafeString:
    lines = (
        (f"{system}: " + ", ".join(f"{name} {score:g}" for name, score in scores.items()),)
        for system, scores in (value or {}).items()
    )
    return format_html_join("", '<span class="score-line">{}</span>', lines)


def _lines(drawer: CellDrawer, value: Any, row: DataRow) -> SafeString:
    return format_html_join("", '<span class="line" dir="auto">{}</span>', ((one,) for one in value or ()))


def _number(drawer: CellDrawer, value: Any, row: DataRow) -> SafeString:
    return (
        format_html("{}", f"{value:,}") if value else format_html('<span class="soft">{}</span>', value or 0)
    )


def _decimal(drawer: CellDrawer, value: Any, row: DataRow) -> SafeString:
    return NOTHING if value is None else format_html("{}", f"{value:.2f}".replace("-", "−"))


def _code(drawer: CellDrawer, value: Any, row: DataRow) -> SafeString:
    return format_html("<code>{}</code>", value) if value else NOTHING


def _clips(drawer: CellDrawer, value: Any, row: DataRow) -> SafeString:
    if not row.clips:
        return NOTHING
    slug = drawer.study.slug
    url = (
        reverse("api_item_clips", args=[slug, row.item])
        if row.task is None
        else reverse("api_task_clips", args=[slug, row.task])
    )
    labels = {"reference": _("Reference"), "recording": _("Recording")}
    clips = [
        {"name": clip.name, "label": labels.get(clip.label, clip.label), "seconds": clip.seconds}
        for clip in row.clips
    ]
    return SafeString(drawer.clips_template.render({"clips": clips, "url": url, "title": row.name}))


Drawer = Callable[[CellDrawer, Any, DataRow], SafeString]
_DRAWERS: Mapping[str, Drawer] = {
    "name": _name, "rater": _rater, "text": _text, "task_state": _tag, "item_state": _tag, "kind": _kind,
    "status": _tag, "origin": _tag, "tags": _tags, "codes": _codes, "strata": _strata, "progress": _progress,
    "meter": _meter, "votes": _votes, "date": _date, "flagged": _flagged, "counts": _counts, "scores": _scores,
    "texts": _lines, "answer": _lines, "heard": _lines, "number": _number, "decimal": _decimal, "code": _code,
    "clips": _clips, "rater_state": _tag, "rater_actions": _rater_actions, "figure": _figure,
}  # fmt: skip


def total_text(n: int, *, more: bool, table: str) -> str:
    """How many rows there are, in words."""
    counted = f"{n:,}"
    if more:
        texts = {
            "items": _("more than {n} items"),
            "tasks": _("more than {n} tasks"),
            "judgments": _("more than {n} judgments"),
            "raters": _("more than {n} raters"),
        }
        return texts[table].format(n=counted) if n else _("not counted: finding them all takes too long")
    texts = {
        "items": ngettext("{n} item", "{n} items", n),
        "tasks": ngettext("{n} task", "{n} tasks", n),
        "judgments": ngettext("{n} judgment", "{n} judgments", n),
        "raters": ngettext("{n} rater", "{n} raters", n),
    }
    return texts[table].format(n=counted)
