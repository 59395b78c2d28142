"""Scorer versions as the models page lists them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analytics.reports.scorers import COUNTED, ScorerRow, n_candidates
from annotation.models import Study
from labeling_ui.run_lines import chosen_settings, title_of, weights_of


@dataclass(frozen=True)
class ScorerLine:
    """`n_units`: the candidates there are to score; None for pairs, and where there are too many to count at once."""

    row: ScorerRow
    title: str
    weights: str
    settings: list[str]
    n_scored: int
    n_units: int | None
    length: float

    @property
    def compares_templates(self) -> bool:
        return len(self.row.scorer.config.get("templates") or {}) > 1


def scorer_lines(study: Study, rows: Sequence[ScorerRow]) -> list[ScorerLine]:
    if not rows:
        return []
    counted = n_candidates(study)
    candidates = counted if counted <= COUNTED else None
    return [_line(row, None if row.reads_pairs else candidates) for row in rows]


def _line(row: ScorerRow, units: int | None) -> ScorerLine:
    # What was scored may have been replaced since.
    n_scored = row.n_scored if units is None else min(row.n_scored, units)
    return ScorerLine(
        row=row,
        title=title_of(row.scorer.key),
        weights=weights_of(row.latest.options),
        settings=chosen_settings(row.latest.metric, row.latest.options),
        n_scored=n_scored,
        n_units=units,
        length=round(100 * n_scored / units, 2) if units else 0.0,
    )
