"""Moments look the same everywhere."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

from django.conf import settings

from labeling_ui.templatetags.formatting import clock, day, moment, moment_of_day, moment_text

AT = datetime(2026, 3, 1, 23, 5, 9, tzinfo=UTC)


def test_a_moment_is_an_element_that_the_browser_shows_in_its_time_zone():
    element = '<time datetime="2026-03-01T23:05:09+00:00" data-module="local_time">{}</time>'
    assert moment(AT) == element.format("2026-03-01 23:05 UTC")
    assert moment(AT, "soft small").startswith('<time class="soft small" datetime=')
    assert moment_of_day(AT) == element.format("23:05 UTC")


def test_a_moment_of_another_zone_is_written_in_utc_and_none_as_a_dash():
    assert moment_text(AT.astimezone(timezone(timedelta(hours=2)))) == "2026-03-01 23:05 UTC"
    assert moment_text(None) == moment(None) == day(None) == "–"
    assert (day(AT), day(AT.date())) == ("2026-03-01", "2026-03-01")


def test_a_length_is_rounded_as_the_players_round_it():
    assert [clock(seconds) for seconds in (0, 0.4, 8.6, 30.02, 65)] == [
        "0:00",
        "0:01",
        "0:09",
        "0:30",
        "1:05",
    ]


def test_no_template_writes_a_date_in_a_style_of_its_own():
    folder = Path(settings.BASE_DIR, "labeling_ui", "templates")
    own = [path.name for path in folder.rglob("*.html") if "|date" in path.read_text(encoding="utf-8")]
    assert own == []
