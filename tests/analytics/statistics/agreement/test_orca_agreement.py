"""Alpha of the human ratings that the ORCA authors published (BUTSpeechFIT/ORCA, data/seed_108)."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from analytics.statistics.agreement.alpha import krippendorff_alpha
from analytics.statistics.agreement.oracle import package_alpha
from analytics.statistics.agreement.patterns import Patterns, patterns_from_long

REPOSITORY = Path(__file__).resolve().parents[4]
REFERENCE_DATA = Path(os.environ.get("CONCORD_REFERENCE_DATA", REPOSITORY.parent / "shared" / "data"))


@pytest.fixture(scope="module")
def ratings() -> Patterns:
    folder = REFERENCE_DATA / "orca"
    if not folder.is_dir():
        pytest.skip(f"no ORCA ratings in {folder}; set CONCORD_REFERENCE_DATA")
    items = [
        (key, item["ratings"])
        for split in ("train", "dev", "test")
        for key, item in json.loads((folder / f"{split}.json").read_text(encoding="utf-8")).items()
    ]
    return patterns_from_long(
        [key for key, given in items for _ in given], [value for _, given in items for value in given]
    )


@pytest.mark.parametrize(("level", "alpha"), [("ordinal", 0.8204), ("interval", 0.8357), ("nominal", 0.5339)])
def test_alpha_of_the_published_ratings(ratings, level, alpha):
    """The paper reports 0.82 without its level; only ordinal rounds to it."""
    result = krippendorff_alpha(ratings, level=level)

    assert result.alpha == pytest.approx(alpha, abs=5e-5)
    assert result.alpha == pytest.approx(package_alpha(ratings, level=level), abs=1e-12)
    assert (result.units, result.ratings, result.pairable_units) == (2459, 6578, 2033)
    assert result.ci[0] < result.alpha < result.ci[1]
