"""The human side of FENSE (blmoistawinde/fense, branch experiment-code): its votes from their published files to
majorities, ties and agreement, and to the numbers of pairs that published accuracies rest on."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from django.conf import settings

from analytics.benchmarks import open_benchmark
from analytics.benchmarks.contract import Folder
from analytics.benchmarks.fense import SETS, CaptionPair, caption_pairs
from analytics.statistics.agreement.alpha import krippendorff_alpha
from analytics.statistics.agreement.patterns import Patterns, patterns_from_rows
from analytics.statistics.agreement.percent_agreement import percent_agreement
from analytics.statistics.judges.accuracy import pairwise_accuracy

FOLDER = settings.REFERENCE_DATA / "fense"

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason=f"no FENSE votes in {FOLDER}; set CONCORD_REFERENCE_DATA"
)


def pairs(name: str, category: str = "") -> list[CaptionPair]:
    found = caption_pairs(Folder(FOLDER, published=""), name)
    return [pair for pair in found if category in ("", pair.category)]


def patterns(name: str, category: str = "") -> Patterns:
    return patterns_from_rows([(Counter(map(float, pair.votes)), 1) for pair in pairs(name, category)])


@pytest.mark.parametrize(
    ("name", "counts", "votes"),
    [
        ("audiocaps", {"HC": 250, "HI": 250, "HM": 250, "MM": 921}, {1: 4590, -1: 1327, 0: 767}),
        ("clotho", {"HC": 250, "HI": 250, "HM": 250, "MM": 1000}, {1: 4119, -1: 2159, 0: 722}),
    ],
)
def test_every_pair_has_four_votes(name, counts, votes):
    found = pairs(name)
    assert Counter(pair.category for pair in found) == counts
    assert {len(pair.votes) for pair in found} == {4}
    assert Counter(vote for pair in found for vote in pair.votes) == votes


@pytest.mark.parametrize(
    ("name", "ties", "for_the_first"),
    [
        ("audiocaps", {"HC": 47, "HI": 3, "HM": 11, "MM": 127}, {"HC": 120, "HI": 246, "HM": 235, "MM": 579}),
        ("clotho", {"HC": 40, "HI": 6, "HM": 18, "MM": 131}, {"HC": 99, "HI": 239, "HM": 198, "MM": 536}),
    ],
)
def test_the_sum_of_the_votes_is_the_majority(name, ties, for_the_first):
    found = pairs(name)
    assert Counter(pair.category for pair in found if sum(pair.votes) == 0) == ties
    assert Counter(pair.category for pair in found if sum(pair.votes) > 0) == for_the_first


@pytest.mark.parametrize(
    ("name", "category", "alpha", "pooled"),
    [
        ("audiocaps", "", 0.492, 0.758),
        ("audiocaps", "HC", 0.275, 0.611),
        ("audiocaps", "HI", 0.184, 0.968),
        ("audiocaps", "HM", 0.231, 0.919),
        ("audiocaps", "MM", 0.478, 0.698),
        ("clotho", "", 0.332, 0.634),
    ],
)
def test_how_far_the_four_people_agree(name, category, alpha, pooled):
    # Near-unanimous categories have the lowest alpha: there is hardly any disagreement to expect.
    found = patterns(name, category)
    assert krippendorff_alpha(found, level="nominal").alpha == pytest.approx(alpha, abs=6e-4)
    assert percent_agreement(found).pooled_pairs == pytest.approx(pooled, abs=6e-4)


# AQAScore, table 5, Clotho-Eval, in per cent: the rows of AQAScore in the columns small enough to tell of how many
# pairs they are percentages.
PUBLISHED = {
    "HC": (55.7, 63.8, 63.3, 61.4, 61.0),
    "HI": (93.9, 95.5, 91.4, 91.8, 79.1),
    "HM": (73.3, 74.1, 72.0, 66.8, 65.5),
}


@pytest.mark.parametrize("category", PUBLISHED)
def test_published_accuracies_rest_on_the_pairs_that_people_decided(category):
    found = pairs("clotho", category)
    decided = sum(sum(pair.votes) != 0 for pair in found)

    def possible(n: int) -> bool:
        return all(round(100 * round(percent * n / 100) / n, 1) == percent for percent in PUBLISHED[category])

    assert [n for n in range(200, 251) if possible(n)] == [decided]


def test_the_benchmark_opens_on_the_published_files(tmp_path):
    for name in SETS:
        (tmp_path / f"{name}_eval.json").symlink_to(FOLDER / f"{name}_eval.json")
        for pair in pairs(name):
            sound = pair.clip.get("raw_name") or f"Y{pair.clip['audio_id']}.wav"
            (tmp_path / "sounds" / name).mkdir(parents=True, exist_ok=True)
            (tmp_path / "sounds" / name / Path(sound).name).touch()
    found = open_benchmark("fense", tmp_path)
    assert Counter(one.parts[1] for one in found.choices) == {
        "AudioCaps-Eval/All": 1671,
        "Clotho-Eval/All": 1750,
    }
    humans = [one.human for one in found.choices]
    perfect = pairwise_accuracy(humans, humans)
    assert (perfect.accuracy.value, perfect.accuracy.n, perfect.human_ties) == (1.0, 3038, 383)
