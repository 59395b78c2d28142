"""Which rows a table shows, brought up to date before it is read: summaries of items and tasks, or quality of
raters."""

from __future__ import annotations

from analytics.browse import summaries
from analytics.browse.rater_table import RATERS
from analytics.browse.summaries import Freshness
from analytics.raters import quality
from annotation.models import Study


def freshen(study: Study, table: str) -> Freshness:
    """Bring the rows of a table up to date where that takes no time; else wake a worker."""
    return quality.freshen(study) if table == RATERS.name else summaries.freshen(study)
