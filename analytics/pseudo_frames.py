"""The door from stored scores to what models learn from first: answers that a judge rated, pairs that one decided.

A model learns from what other models say before it learns from people (ORCA, Table 3, scenario 5; CMI-RewardBench
§3.3.2): there is more of it, on candidates that nobody has voted on, too.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

import numpy as np

from analytics import score_frames
from analytics.score_frames import Scores
from analytics.statistics.distinct_rows import FloatArray
from analytics.training_things import Judged, answer_of, candidates_of, pair_of
from annotation.models import Candidate, Study
from scoring.metrics import registry
from scoring.metrics.entries import Reads
from scoring.models import Scorer
from scoring.training.contract import HEADS, PairVote, TrainingError

_USUAL = ("value", "default", "mean")


def scored_answers(study: Study, scorer: Scorer) -> list[Judged]:
    """Answers in words with the scorer's rating as the only one. A score from 0 to 1 is a probability and is brought to
    1 to 5. Raises TrainingError for scores on another scale."""
    scores = score_frames.scores(study, scorer)
    value = scores.values[:, _output(scores)]
    kept = np.isfinite(value) & (scores.others == 0)
    candidates, ratings = scores.candidates[kept], _as_ratings(value[kept], scorer)
    shown = candidates_of(study, set(candidates.tolist()))
    return [
        answer_of(shown[candidate], (rating,), (str(scorer),))
        for candidate, rating in zip(candidates.tolist(), ratings.tolist(), strict=True)
        if candidate in shown and shown[candidate].is_words
    ]


def decided_pairs(study: Study, scorer: Scorer) -> list[Judged]:
    """Pairs of clips and the side that the scorer prefers; where it prefers neither, a tie. A scorer of pairs decides
    the pairs that it has scored; one of single clips, all pairs of clips of one prompt. An output that is named after
    a head decides that head; others tell how well a sound fits its text: alignment."""
    scores = score_frames.scores(study, scorer)
    shown = candidates_of(study, {*scores.candidates.tolist(), *scores.others.tolist()})
    heads = {head: scores.outputs.index(head) for head in HEADS if head in scores.outputs}
    heads = heads or {"alignment": _output(scores)}
    found: dict[tuple[int, int], Judged] = {}
    for head, column in heads.items():
        for first, second, lead in _leads(scores, scores.values[:, column], scorer, shown):
            judged = found.get((first, second)) or pair_of(shown[first], shown[second])
            votes = {**judged.thing.votes, head: (PairVote((np.sign(lead).item() + 1) / 2),)}
            found[first, second] = judged.saying(votes, str(scorer))
    return list(found.values())


def _leads(
    scores: Scores, value: FloatArray, scorer: Scorer, shown: dict[int, Candidate]
) -> list[tuple[int, int, float]]:
    """(first, second, how far the first is ahead), of pairs of clips that have a score."""
    entry = registry.METRICS.get(scorer.key)
    finite = np.isfinite(value) & np.array(
        [_is_clip(shown, one) for one in scores.candidates.tolist()], dtype=bool
    )
    if entry is not None and entry.reads is Reads.PAIR:
        # A probability is undecided at a half, a difference at nothing.
        middle = float(scorer.config.get("prefers_first_above", 0.5))
        rows = zip(
            scores.candidates[finite].tolist(), scores.others[finite].tolist(), value[finite], strict=True
        )
        return [
            (first, second, float(one - middle)) for first, second, one in rows if _is_clip(shown, second)
        ]
    of_version: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for candidate, one in zip(scores.candidates[finite].tolist(), value[finite], strict=True):
        of_version[shown[candidate].item_version_id].append((candidate, float(one)))
    return [
        (first, second, ahead - behind)
        for clips in of_version.values()
        for (first, ahead), (second, behind) in combinations(sorted(clips), 2)
    ]


def _is_clip(shown: dict[int, Candidate], candidate: int) -> bool:
    return candidate in shown and shown[candidate].clip is not None


def _output(scores: Scores) -> int:
    """The usual output of a scorer that has several."""
    named = [scores.outputs.index(name) for name in _USUAL if name in scores.outputs]
    return named[0] if named else 0


def _as_ratings(value: FloatArray, scorer: Scorer) -> FloatArray:
    if not len(value) or (value.min() >= 0 and value.max() <= 1):
        return 1 + 4 * value
    if value.min() >= 1 and value.max() <= 5:
        return value
    raise TrainingError(
        "scale",
        f"Scores of {scorer} go from {value.min():g} to {value.max():g}. To learn from them they have to be "
        "probabilities from 0 to 1 or ratings from 1 to 5: name another scorer.",
    )
