"""The steps of making a report, as a page names them while it waits: reading votes, and then the sections."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

STEPS = (
    _("Reading votes"),
    _("Data"),
    _("Agreement"),
    _("Preferences"),
    _("Ratings"),
    _("Raters"),
    _("Scores shown to raters"),
    _("Models against people"),
    _("Length of answers"),
    _("Methods"),
    _("References"),
)
