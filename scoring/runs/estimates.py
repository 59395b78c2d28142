"""What a scoring run would ask of its server and cost, before it is requested."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.db import connection

from annotation.errors import InvalidInput
from annotation.models import Candidate, Clip, Study
from scoring.metrics import estimates, registry
from scoring.metrics.contract import Example, Sound
from scoring.metrics.estimates import Estimate
from scoring.models import ScoringRow, ScoringRun
from scoring.runs import rows, validation

_SAMPLED = 32
# Anywhere in the study, and the same rows each time.
_SAMPLE = """
SELECT candidate, other, count(*) OVER () FROM ({read}) part
ORDER BY md5(candidate::text || '-' || coalesce(other::text, '')) LIMIT %(sampled)s
"""


def estimate_run(
    study: Study, metric: str, options: Mapping[str, Any], *, filter: Mapping[str, Any] | None = None
) -> Estimate:
    """Of all rows in a part of the study, also those that a version has scored already: which version it would be is
    known once the server has answered. Raises InvalidInput."""
    settings = validation.validate_options(study, metric, options)
    part = validation.validate_filter(study, filter or {}, reads=registry.entry(metric).reads)
    if not estimates.asks_servers(settings):
        raise InvalidInput.of_field(
            "options.backbone", estimates.NO_SERVER, "Start the run.", summary=estimates.NO_SERVER
        )
    run = ScoringRun(study=study, metric=metric, options=settings, filter=part)
    n_rows, sampled = _sample(run)
    entry = registry.entry(metric)
    read = [rows.example_of(row, entry, sound=_unread) for row in sampled]
    examples = [each for each in read if isinstance(each, Example)]
    return estimates.estimate(metric, settings, examples, n_rows=n_rows, n_sampled=len(sampled))


def _sample(run: ScoringRun) -> tuple[int, list[ScoringRow]]:
    """How many rows a run would have, and some of them."""
    read, values = rows.row_query(run)
    with connection.cursor() as cursor:
        cursor.execute(_SAMPLE.replace("{read}", read), {**values, "sampled": _SAMPLED})
        found = cursor.fetchall()
    candidates = Candidate.objects.select_related(
        "clip", "item_version__clip", "item_version__reference_clip"
    ).in_bulk({pk for first, second, _ in found for pk in (first, second) if pk})
    sampled = [
        ScoringRow(pk=number, candidate=candidates[first], other=candidates.get(second))
        for number, (first, second, _) in enumerate(found)
    ]
    return (found[0][2] if found else 0), sampled


def _unread(clip: Clip) -> Sound:
    """Only its length counts: the file may be in a bucket."""
    return Sound(clip.sha256, Path("unread"), clip.duration_s)
