"""Which question each head is about."""

from __future__ import annotations

import pytest

from scoring.training.contract import heads_by_question


@pytest.mark.parametrize(
    ("questions", "heads"),
    [
        (["alignment", "musicality"], {"alignment": "alignment", "musicality": "musicality"}),
        (["relevance", "quality"], {"relevance": "alignment", "quality": "musicality"}),
        (["overall"], {"overall": "musicality"}),
        (["which"], {"which": "musicality"}),
        (["which", "why"], {}),
        # That of its own name comes before others, wherever it stands.
        (["overall", "musicality"], {"musicality": "musicality"}),
        (["quality", "impression", "relevance"], {"relevance": "alignment", "quality": "musicality"}),
        ([], {}),
    ],
)
def test_a_head_is_about_the_question_of_its_name_or_one_that_means_it(questions, heads):
    assert heads_by_question(questions) == heads
