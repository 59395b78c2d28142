"""Alpha against figures that others have published; the source stands beside each."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from analytics.statistics.agreement.alpha import IntervalSettings, krippendorff_alpha, symmetric_alpha
from analytics.statistics.agreement.oracle import package_alpha
from analytics.statistics.agreement.patterns import Patterns, patterns_from_counts, patterns_from_long
from analytics.statistics.agreement.percent_agreement import percent_agreement
from analytics.statistics.bootstrap import Resampling


def table(*raters: str) -> Patterns:
    """One string per rater and one character per unit; a dot is a missing rating, a letter a category."""
    cells = [(unit, mark) for rater in raters for unit, mark in enumerate(rater) if mark != "."]
    return patterns_from_long([unit for unit, _ in cells], [int(mark, 16) for _, mark in cells])


# Krippendorff, "Computing Krippendorff's alpha-reliability" (2011), sections A, B and C/D.
KRIPPENDORFF_A = table("0100000010", "1110010000")
KRIPPENDORFF_B = table("aabbdcccedda", "babbbccceddd")
KRIPPENDORFF_CD = table("123321412...", "1233224125.3", ".3332342251.", "12332441251.")
# The example of the Wikipedia article on Krippendorff's alpha.
WIKIPEDIA = table(".....34121133.3", "1.213343.......", "..21344.21133.4")
# Hayes & Krippendorff, "Answering the call for a standard reliability measure for coding data" (2007).
HAYES = table(
    "112.001122.01311211000201001111223222221",
    "1130000.21102311121000302102111122222221",
    "203000222100221123001.30.1012202.2232.21",
    ".13....0.10022...31.103021122..122...12.",
    "2..0001.2....3112..0.0..2.0..20.2.2222.1",
)
# Krippendorff, "Content Analysis", 4th ed. (2018), pages 306 and 310.
CONTENT_ANALYSIS_306 = table("010110001111", "010100001101", "011001001000")
CONTENT_ANALYSIS_310 = table("aacccccbbbbd", "acccccbbbbbd")
# Issue 96 of the R package oolong, where two raters hardly vary: 1 - 4 / (125 / 29).
NEARLY_CONSTANT = table("2222222222", "1222222222", "1111222222")
# The examples of the evalica package.
EVALICA = table("123", "234")
EVALICA_RATIO = table("12", "24")


@pytest.mark.parametrize(
    ("patterns", "level", "alpha"),
    [
        (KRIPPENDORFF_A, "nominal", 0.0952380952),
        (KRIPPENDORFF_B, "nominal", 0.6919642857),
        (KRIPPENDORFF_CD, "nominal", 0.7434210526),
        (KRIPPENDORFF_CD, "ordinal", 0.8153875038),
        (KRIPPENDORFF_CD, "interval", 0.8491071429),
        (KRIPPENDORFF_CD, "ratio", 0.7974027747),
        (WIKIPEDIA, "nominal", 0.6913580247),
        (WIKIPEDIA, "ordinal", 0.8067214199),
        (WIKIPEDIA, "interval", 0.8108448928),
        (WIKIPEDIA, "ratio", 0.8089436708),
        (HAYES, "ordinal", 0.7598291892),
        (HAYES, "nominal", 0.4765095674),
        (CONTENT_ANALYSIS_306, "nominal", 0.234375),
        (CONTENT_ANALYSIS_310, "nominal", 0.7591623037),
        (NEARLY_CONSTANT, "nominal", 0.072),
    ],
)
def test_alpha_equals_the_published_value_to_ten_digits(patterns, level, alpha):
    assert krippendorff_alpha(patterns, level=level).alpha == pytest.approx(alpha, abs=5e-11)


@pytest.mark.parametrize(
    ("patterns", "level", "alpha"),
    [
        (EVALICA, "nominal", -0.1538462),
        (EVALICA, "interval", 0.5454545),
        (EVALICA_RATIO, "ratio", 0.1712707),
    ],
)
def test_alpha_equals_the_examples_of_evalica(patterns, level, alpha):
    assert krippendorff_alpha(patterns, level=level).alpha == pytest.approx(alpha, abs=5e-8)


def test_nominal_alpha_of_the_textbook_example_is_a_fraction():
    assert krippendorff_alpha(KRIPPENDORFF_CD, level="nominal").alpha == pytest.approx(113 / 152, abs=1e-15)


def test_the_textbook_example_counts_its_data():
    result = krippendorff_alpha(KRIPPENDORFF_CD, level="nominal")

    assert (result.units, result.pairable_units) == (12, 11)
    assert (result.ratings, result.pairable_ratings) == (41, 40)
    assert percent_agreement(HAYES).pairs == 239


@pytest.mark.parametrize(
    ("level", "standard_error"), [("nominal", 0.146327), ("ordinal", 0.148031), ("interval", 0.140840)]
)
def test_the_interval_is_the_jackknife_standard_error_times_the_t_quantile(level, standard_error):
    half = IntervalSettings(resampling=Resampling(level=0.5))
    result = krippendorff_alpha(KRIPPENDORFF_CD, level=level, interval=half)

    half = 0.6998121  # t for 10 degrees of freedom, 50 %
    assert (result.alpha - result.ci[0]) / half == pytest.approx(standard_error, abs=5e-7)
    assert (result.ci[1] - result.alpha) / half == pytest.approx(standard_error, abs=5e-7)


def test_the_interval_is_wider_than_the_published_kalpha_bootstrap():
    """KALPHA gives [.7078, .8078] here (Hayes & Krippendorff 2007); the jackknife error is .054."""
    low, high = krippendorff_alpha(HAYES, level="ordinal").ci

    assert (low, high) == pytest.approx((0.7598 - 2.0227 * 0.054, 0.7598 + 2.0227 * 0.054), abs=2e-3)


@pytest.mark.parametrize(
    ("disagreeing", "agreement", "alpha", "symmetric"),
    [(199, 0.691, 0.382, 0.3825), (178, 0.724, 0.447, 0.4476)],
    ids=["instruction following", "music quality"],
)
def test_cmi_pref_agreement_is_reproduced(disagreeing, agreement, alpha, symmetric):
    """CMI-RewardBench, Table 6: 644 pairs of votes, each taken as a unit.

    The paper prints 1 - Do / 0.5. Ours corrects the expected disagreement for the sample, 0.5 n / (n - 1)
    for n = 1288 votes, and so is larger by less than 0.0005: 0.4476 where the paper has 0.447.
    """
    vote_pairs = patterns_from_counts([0, 1], [[1, 1]] * disagreeing + [[2, 0]] * (644 - disagreeing))

    share = percent_agreement(vote_pairs).pooled_pairs
    result = symmetric_alpha(vote_pairs).alpha

    assert share == pytest.approx(agreement, abs=5e-4)
    assert 1 - (1 - share) / 0.5 == pytest.approx(alpha, abs=5e-4)
    assert result == pytest.approx(symmetric, abs=5e-5)
    assert result == pytest.approx(1 - disagreeing / 644 / (0.5 * 1288 / 1287), abs=1e-15)


def documented() -> list[tuple[str, list[str], float]]:
    """Level, ratings and alpha of each line in the table of published figures."""
    text = (Path(__file__).parents[4] / "docs" / "agreement.md").read_text()
    lines = text.partition("## Published figures")[2].splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.count("|") == 5]
    return [(level, re.findall("`([^`]+)`", ratings), float(alpha)) for _, level, ratings, alpha in cells[2:]]


def test_the_documented_table_is_what_is_computed():
    rows = documented()
    assert len(rows) == 15
    for level, ratings, alpha in rows:
        assert krippendorff_alpha(table(*ratings), level=level).alpha == pytest.approx(alpha, abs=5e-11)


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
