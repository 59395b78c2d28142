"""Ratings: systems by mean and distribution, with raters' severity taken out, and what raters disagree about."""

from __future__ import annotations

from collections.abc import Iterator

from django.utils.translation import gettext as _

from analytics.reports.document import Block, Paragraph, Section
from analytics.reports.paper.material import Material
from analytics.reports.paper.rated import Rated, rated
from analytics.reports.paper.ratings_contested import disagreement
from analytics.reports.paper.ratings_distribution import distribution
from analytics.reports.paper.ratings_mushra import mushra
from analytics.reports.paper.ratings_normalised import normalised, same_systems
from analytics.reports.paper.ratings_systems import by_mean, systems


def ratings_section(material: Material) -> Section | None:
    asked = [rated(material, votes) for votes in material.votes if not votes.question.is_preference]
    blocks = [block for one in asked if len(one.votes) for block in question_blocks(one)]
    return Section("ratings", _("Ratings"), blocks) if blocks else None


def question_blocks(rated: Rated) -> Iterator[Block]:
    """Everything about one question. Values that have names only (the nominal level) are counted, not averaged."""
    if not len(rated.ratings):
        yield Paragraph(
            _("%(question)s: no rating counts.") % {"question": rated.question.title}, warning=True
        )
        return
    found = by_mean(rated)
    order = [one.system for one in found]
    if rated.question.level == "nominal":
        yield from distribution(rated, order)
        return
    yield from systems(rated, found)
    yield from mushra(rated)
    yield from distribution(rated, order)
    yield from same_systems(rated)
    yield from normalised(rated, order)
    yield from disagreement(rated, order)
