"""Why a figure is missing, in the language of the report. The statistics know no languages: they give codes."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.translation import gettext as look_up

from analytics.reports.agreement import SENTENCES as OF_AGREEMENT


def because(reason: str | None, sentences: Mapping[str, str] = OF_AGREEMENT) -> str | None:
    """The sentence of a code, by default of those of agreement; None where there is no reason."""
    return None if reason is None else look_up(sentences[reason])
