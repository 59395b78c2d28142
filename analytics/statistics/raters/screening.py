"""Post-screening of MUSHRA listeners by the hidden reference and the anchors.

Recommendation ITU-R BS.1534 has two rules, both over a listener's trials: the hidden reference is rated below 90 in
more than 15 % of them, or the mid anchor (7 kHz) above 90 in more than 15 %. We mark such listeners; to leave them out
is the researcher's decision.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

REFERENCE, ANCHOR = "hidden_reference", "anchor_7000"
# Points on the scale from 0 to 100, and the share of trials that is still forgiven.
SCREENING_LIMIT = 90.0
FORGIVEN_SHARE = 0.15

REFERENCE_LOW, ANCHOR_HIGH = "hidden_reference_low", "anchor_7000_high"


@dataclass(frozen=True)
class RoleRatings:
    """How often one listener rated the hidden reference, or the mid anchor, and on either side of the limit."""

    rater: str
    role: str
    n: int
    n_below: int
    n_above: int


@dataclass(frozen=True)
class ScreenedListener:
    """One listener. The shares are of trials, None without any; `marks` names the rules that hold."""

    n_reference: int
    reference_low: float | None
    n_anchor: int
    anchor_high: float | None
    marks: tuple[str, ...]


def screen_listeners(rows: Iterable[RoleRatings]) -> dict[str, ScreenedListener]:
    """Every listener of the rows by name. At most one row per listener and role; other roles are passed over."""
    by_rater: dict[str, dict[str, RoleRatings]] = {}
    for row in rows:
        by_rater.setdefault(row.rater, {})[row.role] = row
    return {rater: _screen_listener(rater, roles) for rater, roles in sorted(by_rater.items())}


def _screen_listener(rater: str, roles: Mapping[str, RoleRatings]) -> ScreenedListener:
    reference, anchor = (roles.get(role, RoleRatings(rater, role, 0, 0, 0)) for role in (REFERENCE, ANCHOR))
    low = reference.n_below / reference.n if reference.n else None
    high = anchor.n_above / anchor.n if anchor.n else None
    rules = ((REFERENCE_LOW, low), (ANCHOR_HIGH, high))
    marks = tuple(mark for mark, share in rules if share is not None and share > FORGIVEN_SHARE)
    return ScreenedListener(reference.n, low, anchor.n, high, marks)
