from __future__ import annotations

import re

import numpy as np
import pytest

from annotation.demo.clips import Comparison, load_prompts, make_comparisons
from annotation.demo.raters import RATERS, evidence, timestamp

DILIGENT = RATERS[0]
# What cannot be said of a clip with the flaw.
DENIES = {
    "unsteady": "steady|beat",
    "wrong_notes": "in key|in tune|somewhere",
    "looped_bar": "goes somewhere|finished|proper close",
}


@pytest.fixture(scope="module")
def comparisons() -> list[Comparison]:
    return make_comparisons(load_prompts()[:4], seed=1)


def written(comparison: Comparison, *, seed: int, first: bool = True) -> str | None:
    stream = np.random.default_rng(seed)
    return evidence(DILIGENT, comparison, aligned_first=first, musical_first=first, rng=stream)


def test_evidence_is_one_to_three_varied_sentences_with_timestamps_within_the_clip(
    comparisons: list[Comparison],
) -> None:
    texts = [written(c, seed=seed) for c in comparisons for seed in range(20)]
    assert len(set(texts[:20])) >= 5
    for text in (text for text in texts if text is not None):
        assert 1 <= text.count(".") <= 3
        assert text[0].isupper()
        assert text.endswith(".")
        assert "{" not in text
    stamps = [int(second) for text in texts for second in re.findall(r"0:(\d\d)", text or "")]
    assert 0 < max(stamps) <= 8
    assert [timestamp(seconds) for seconds in (0.2, 3.9, 61.0)] == ["0:00", "0:03", "1:01"]


def test_praise_is_never_given_for_what_is_wrong(comparisons: list[Comparison]) -> None:
    checked = 0
    for comparison in comparisons:
        texts = [written(comparison, seed=seed) or "" for seed in range(20)]
        praises = [text.split(";")[0] for text in texts if ";" in text]
        for kind in {flaw.kind for flaw in comparison.a.flaws} & DENIES.keys():
            assert not any(re.search(DENIES[kind], praise) for praise in praises)
            checked += len(praises)
    assert checked > 0


def test_the_evidence_names_a_failure_of_the_side_that_lost(comparisons: list[Comparison]) -> None:
    slow = next(c for c in comparisons if "wrong_tempo" in c.b.failures and not c.a.failures)
    texts = [written(slow, seed=seed) or "" for seed in range(20)]
    assert any("bpm instead of" in text or "much too" in text for text in texts)
