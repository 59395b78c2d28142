"""Scorer versions as the models page lists them."""

from __future__ import annotations

from dataclasses import dataclass

from analytics.reports.scorers import Scored, ScorerRow
from labeling_ui.run_lines import chosen_settings, title_of, weights_of


@dataclass(frozen=True)
class ScorerLine:
    """`n_units`: the candidates there are to score; None for pairs, and where there are too many to count at once."""

    row: ScorerRow
    title: str
    weights: str
    settings: list[str]
    n_units: int | None
    length: float

    @property
    def compares_templates(self) -> bool:
        return len(self.row.scorer.config.get("templates") or {}) > 1


def scorer_lines(scored: Scored) -> list[ScorerLine]:
    return [_line(row, None if row.reads_pairs else scored.n_candidates) for row in scored.rows]


def _line(row: ScorerRow, units: int | None) -> ScorerLine:
    return ScorerLine(
        row=row,
        title=title_of(row.scorer.key),
        weights=weights_of(row.latest.options),
        settings=chosen_settings(row.latest.metric, row.latest.options),
        n_units=units,
        length=round(100 * (row.n_scored or 0) / units, 2) if units else 0.0,
    )
