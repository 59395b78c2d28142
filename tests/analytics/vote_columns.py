"""Votes as a report reads them, made without a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from analytics.data.questions import MeasuredQuestion
from analytics.data.votes import NOBODY, Stratum, Units, Votes


def rating_question(**fields: Any) -> MeasuredQuestion:
    return _question(
        kind="rating",
        level="ordinal",
        points=(1.0, 2.0, 3.0, 4.0, 5.0),
        width=4.0,
        one_candidate=True,
        **fields,
    )


def preference_question(**fields: Any) -> MeasuredQuestion:
    return _question(kind="preference", level="nominal", points=(), width=None, one_candidate=False, **fields)


def made_votes(
    question: MeasuredQuestion,
    unit: Sequence[int],
    value: Sequence[float],
    *,
    rater: Sequence[int] | None = None,
    first: Sequence[int] | None = None,
    second: Sequence[int] | None = None,
    systems: Sequence[str] = ("alto", "bass", "cello"),
    item: Sequence[int] | None = None,
    strata: Mapping[str, tuple[Sequence[str], Sequence[int]]] | None = None,
    corrected: Sequence[bool] | None = None,
    **columns: Sequence[Any],
) -> Votes:
    """`rater` and further `columns` per vote; `first`, `second`, `item`, `corrected` and strata per unit.

    By default nobody is named, every unit is an item of its own and of the first system, votes come a second apart.
    """
    units, votes = max(unit, default=-1) + 1, len(unit)
    items = np.arange(units) if item is None else np.asarray(item)
    raters = np.full(votes, NOBODY) if rater is None else np.asarray(rater)
    per_vote: dict[str, Any] = {
        "confidence": np.full(votes, np.nan),
        "at": np.arange(votes, dtype=np.float64),
        "shown_first": np.full(votes, NOBODY),
        "status": np.zeros(votes, dtype=np.int64),
        "again": np.zeros(votes, dtype=np.bool_),
        "judgment": np.arange(votes) + 1,
        "seconds": np.full(votes, np.nan),
    }
    per_vote |= {name: np.asarray(column) for name, column in columns.items()}
    return Votes(
        question=question,
        units=Units(
            task=np.arange(units) + 1,
            item=items,
            item_ids=items + 1,
            prompt=items,
            candidate=np.arange(units) + 1,
            other=np.zeros(units, dtype=np.int64),
            first=np.zeros(units, dtype=np.int64) if first is None else np.asarray(first),
            second=np.full(units, NOBODY) if second is None else np.asarray(second),
            corrected=np.zeros(units, dtype=np.bool_) if corrected is None else np.asarray(corrected),
            overlap=np.full(units, 3),
            strata={
                key: Stratum(tuple(values), np.asarray(of_unit))
                for key, (values, of_unit) in (strata or {}).items()
            },
        ),
        systems=tuple(systems),
        raters=tuple(f"R{n}" for n in range(raters.max(initial=NOBODY) + 1)),
        unit=np.asarray(unit, dtype=np.int64),
        rater=raters,
        value=np.asarray(value, dtype=np.float64),
        **per_vote,
    )


def _question(**fields: Any) -> MeasuredQuestion:
    defaults: dict[str, Any] = {
        "study_id": 0,
        "key": "quality",
        "title": "How good?",
        "per_candidate": False,
        "ids": (1,),
        "versions": (1,),
        "other_versions": (),
    }
    return MeasuredQuestion(**{**defaults, **fields})
