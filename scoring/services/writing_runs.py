"""Writing runs: asked for, stopped, taken up again, and how far they are. The work itself is in `writing_work`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotation.models import User
from scoring.models import Writer, WritingRun


def request(
    writer: Writer,
    *,
    filter: Mapping[str, Any] | None = None,
    anew: bool = False,
    judged: bool = False,
    publishes: bool = False,
    actor: User | None,
    wake: bool = True,
) -> WritingRun:
    """Record a run of a writer over its study's items, with all its rows, and wake a worker after this transaction.

    A writer of an item's field is asked about active items that lack it; `anew`, about those that have it as well;
    `judged`, also about items that somebody has judged, whose new version then is to be judged anew. A writer of
    answers is asked for an answer of its system to each current version that has none of it. `filter` is as scoring
    runs have it ({"items": [external ids], "strata": {…}}). `publishes`: texts go to the items as they come.

    Raises InvalidInput, and Conflict `already_under_way` where this writer is at the same already, `nothing_to_write`
    where no item is left to write for.
    """
    raise NotImplementedError
