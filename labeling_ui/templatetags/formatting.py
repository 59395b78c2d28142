"""Numbers and moments in templates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from math import ceil
from typing import Any

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from analytics.reports.render import durations
from annotation.protocols.schema import Text
from annotation.simulation.profiles import profiles
from labeling_ui import markdown
from labeling_ui.sentences import full_stop, translated_sentence

register = template.Library()

register.filter("lapse", durations.duration)
register.filter("translated", translated_sentence)


@register.filter
def count(n: object) -> str:
    """12,345; a dash where nothing was counted."""
    return f"{n:,}" if isinstance(n, int) else "–"


@register.filter
def decimals(value: float | None, places: int = 3) -> str:
    """0.820, with a real minus sign; a dash for a figure that is not defined."""
    return "–" if value is None else f"{value:.{places}f}".replace("-", "−")


@register.filter
def percent(share: float | None) -> str:
    """41.5 % of a share from 0 to 1."""
    return "–" if share is None else f"{100 * share:.1f}\u00a0%"


@register.filter
def plain(value: float) -> str:
    """3, not 3.0; no thousands and no comma in any language, for attributes of a drawing too."""
    return f"{value:g}"


@register.filter
def clock(seconds: float) -> str:
    """A length as minutes and seconds, rounded as the players do: 8.6 s are 0:09; an encoder's padding is no second."""
    whole = max(1, ceil(seconds - 0.05)) if seconds > 0 else 0
    return f"{whole // 60}:{whole % 60:02d}"


# Moments: one style everywhere, year first, to the minute. Pages show them in the reader's time zone: the server writes
# UTC and says so, and `static/js/page/local_time.js` writes it again in the same style.


@register.filter
def moment(at: datetime | None, classes: str = "") -> str:
    """A <time> element: 2026-11-23 07:49 UTC; a dash where nothing has happened."""
    return _time_element(at, "%Y-%m-%d %H:%M UTC", classes)


@register.filter
def moment_of_day(at: datetime | None, classes: str = "") -> str:
    """A <time> element without its day, where that is today's: 07:49 UTC."""
    return _time_element(at, "%H:%M UTC", classes)


@register.filter
def moment_text(at: datetime | None) -> str:
    """A moment where no element can be, as in an attribute: 2026-11-23 07:49 UTC."""
    return "–" if at is None else _in_utc(at).strftime("%Y-%m-%d %H:%M UTC")


@register.filter
def day(at: date | None) -> str:
    """A day without its hour: 2026-11-23."""
    if at is None:
        return "–"
    return f"{_in_utc(at) if isinstance(at, datetime) else at:%Y-%m-%d}"


def _time_element(at: datetime | None, style: str, classes: str) -> str:
    if not isinstance(at, datetime):
        return "–"
    at = _in_utc(at)
    element = '<time{} datetime="{}" data-module="local_time">{}</time>'
    class_attribute = format_html(' class="{}"', classes) if classes else ""
    return format_html(element, class_attribute, at.isoformat(timespec="seconds"), at.strftime(style))


def _in_utc(at: datetime) -> datetime:
    return at.astimezone(UTC)


# Looking things up in templates.


@register.filter
def of(table: Mapping[str, Any], key: str) -> Any:
    """What a table holds under a name; nothing where it has no such name."""
    return table.get(key)


@register.filter
def at(row: Sequence[Any], place: int) -> Any:
    """The value at a place of a row, counted from 0."""
    return row[place]


@register.filter
def pairs(table: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Names in order, and what they hold.

    For tables that may hold something called `items`, which a template would take for the method.
    """
    return sorted(table.items())


# Protocol texts in templates: in the reader's language, and as formatted text.


@register.filter
def sentence(problem: str) -> str:
    """A problem of a file or a row as a sentence in the reader's language."""
    return full_stop(translated_sentence(problem))


@register.filter
def in_language(text: Text) -> str:
    """A protocol's text in the language of this page; English where it has no other."""
    return text.in_language(get_language() or "en")


@register.filter
def profile_title(key: str) -> str:
    """A profile of simulated raters in words."""
    profile = profiles().get(key)
    return key if profile is None else in_language(profile.title)


@register.filter
def formatted(text: str, slug: str = "") -> SafeString:
    """As HTML; with the address of a study also the pictures and sounds that lie there."""
    attachments = reverse("attachment", args=[slug, "x"])[:-1] if slug else ""
    return mark_safe(
        markdown.to_html(text, attachments=attachments)
    )  # it escapes first: see labeling_ui.markdown
