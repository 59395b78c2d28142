"""A judge with the built-in encoder, trained on the published ORCA ratings and read on questions it has not seen."""

from __future__ import annotations

import numpy as np
import pytest
from django.conf import settings
from scipy import stats

from benchmarks.learned_orca import overlaps_of, rated_answers, trained
from scoring.training import splits
from scoring.training.contract import Split
from scoring.training.splits import split_by_group

FOLDER = settings.REFERENCE_DATA / "orca"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not FOLDER.is_dir(), reason=f"no ORCA ratings in {FOLDER}; set CONCORD_REFERENCE_DATA"
    ),
]


def test_a_short_training_foresees_ratings_of_unseen_questions_better_than_the_words_of_the_reference():
    answers = rated_answers(FOLDER, mmau=settings.REFERENCE_DATA / "mmau" / "mmau-test-mini.json")
    assert (len(answers), sum(len(answer.ratings) for answer in answers)) == (2459, 6578)
    split = split_by_group(answers, seed=0)
    splits.refuse_leakage(split, splits.ANSWER_LEAKAGE_KEYS)
    # A third of what there is to learn from is enough here, and takes a third of the time.
    less = Split(split.train[::3], split.dev[::3], split.test)
    options = {"edges": "cells", "steps": 60, "validate_every": 60}
    means, variances, _ = trained(less, options, seed=0, device="cpu")
    people = [np.mean(answer.ratings) for answer in split.test]
    recall = stats.spearmanr(overlaps_of(split.test, ("plain_rc",))[:, 0], people).statistic
    assert stats.spearmanr(means, people).statistic > recall + 0.04
    assert ((means >= 0) & (means <= 1)).all()
    assert (variances > 0).all()
