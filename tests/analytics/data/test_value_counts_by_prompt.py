from __future__ import annotations

import pytest

from analytics.data.questions import measured_questions
from analytics.data.value_counts import unit_counts_by_prompt
from annotation.models import Answer, Study
from tests import factories
from tests.analytics.votes import vote, votes

pytestmark = pytest.mark.django_db


def by_prompt(study: Study, key: str) -> list[list[tuple[dict[float, int], int]]]:
    """The rows of each prompt, without what prompts are called."""
    (question,) = [question for question in measured_questions(study) if question.key == key]
    found = unit_counts_by_prompt(question)
    prompts = {prompt: [] for prompt in found.clusters}
    for (row, units), prompt in zip(found.counted.rows, found.clusters, strict=True):
        prompts[prompt].append((dict(row), units))
    return sorted((sorted(rows, key=repr) for rows in prompts.values()), key=repr)


def test_units_about_the_same_question_are_together_whatever_their_items_are_called():
    study = factories.StudyFactory(overlap=9)
    for name, question, values in (("a", "Rain?", [1, 2]), ("b", "Rain?", [2, 1]), ("c", "Wind?", [1, 2, 7])):
        votes(factories.rating_task(study, name, question=question), values)
    (question,) = measured_questions(study)

    assert by_prompt(study, "correctness") == [[({1.0: 1, 2.0: 1}, 1)], [({1.0: 1, 2.0: 1}, 2)]]
    assert unit_counts_by_prompt(question).counted.off_scale == 1


def test_preferences_are_counted_by_canonical_choice():
    study = factories.StudyFactory(preset="cmi-pref")
    task = factories.comparison_task(study, "a")
    for choice in (Answer.Choice.SECOND, Answer.Choice.SECOND, Answer.Choice.TIE):
        vote(task, question="alignment", choice=choice)

    assert by_prompt(study, "alignment") == [[({2.0: 2, 3.0: 1}, 1)]]
