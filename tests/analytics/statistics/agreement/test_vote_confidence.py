"""Votes against the majority of the others."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from analytics.statistics.agreement.percent_agreement import (
    NO_MAJORITY,
    agreement_by_confidence,
    agrees_with_others,
)
from analytics.statistics.bootstrap import Resampling

votes = st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=25)


@settings(max_examples=60, deadline=None)
@given(votes)
def test_a_vote_is_compared_with_all_others_on_its_unit(rows):
    expected = []
    for place, (unit, side) in enumerate(rows):
        others = [one for other, (where, one) in enumerate(rows) if where == unit and other != place]
        ahead = 2 * sum(one == side for one in others) - len(others)
        expected.append(NO_MAJORITY if ahead == 0 else int(ahead > 0))
    assert agrees_with_others([u for u, _ in rows], [s for _, s in rows]).tolist() == expected


def test_the_surer_are_told_from_the_unsure():
    unit, side = [0, 0, 0, 1, 1, 1, 2], [True, True, False, True, True, True, True]
    confidence = np.array([5, 5, 1, 5, 1, np.nan, 3])
    found = agreement_by_confidence(
        confidence, agrees_with_others(unit, side), clusters=None, resampling=Resampling(replicates=10)
    )
    # Of the first unit, each of the two who agree sees one vote either way.
    counts = {one.level: (one.votes, one.with_others.hits, one.with_others.n) for one in found}
    assert counts == {1: (2, 1, 2), 3: (1, 0, 0), 5: (3, 1, 1)}
    assert found[1].with_others.reason == "no_votes"
