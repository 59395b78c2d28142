"""Durations, throughput and time left, in words."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

MINUTE, HOUR, DAY = 60, 3600, 86400


def time_left(seconds: float | None) -> str:
    """Roughly: nobody believes a forecast to the second. Empty where there is none."""
    if seconds is None:
        return ""
    if seconds < MINUTE:
        return _("less than a minute left")
    if seconds < 90 * MINUTE:
        n = round(seconds / MINUTE)
        return ngettext("about %(n)d minute left", "about %(n)d minutes left", n) % {"n": n}
    if seconds < 36 * HOUR:
        n = round(seconds / HOUR)
        return ngettext("about %(n)d hour left", "about %(n)d hours left", n) % {"n": n}
    n = round(seconds / DAY)
    return ngettext("about %(n)d day left", "about %(n)d days left", n) % {"n": n}


def duration(seconds: float | None) -> str:
    """How long something took, in the unit that says it in few digits; a dash where nothing did."""
    if seconds is None:
        return "–"
    if seconds < 90:
        return _("{n} s").format(n=f"{seconds:.0f}")
    if seconds < 90 * MINUTE:
        return _("{n} min").format(n=f"{seconds / MINUTE:.0f}")
    if seconds < 36 * HOUR:
        return _("{n} h").format(n=f"{seconds / HOUR:.1f}")
    return _("{n} days").format(n=f"{seconds / DAY:.1f}")


def throughput(per_second: float | None) -> str:
    """Rows in whatever time holds a few of them."""
    if not per_second:
        return ""
    if per_second >= 1:
        return _("%(n)s rows a second") % {
            "n": f"{per_second:.1f}" if per_second < 10 else f"{per_second:,.0f}"
        }
    if per_second * MINUTE >= 1:
        return _("%(n)s rows a minute") % {"n": f"{per_second * MINUTE:.1f}"}
    return _("%(n)s rows an hour") % {"n": f"{per_second * HOUR:.1f}"}
