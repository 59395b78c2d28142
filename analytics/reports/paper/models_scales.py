"""Where a question's scale and its confidence begin and end, and scores brought to 0 to 1 where that can be told."""

from __future__ import annotations

import numpy as np

from analytics.questions import MeasuredQuestion
from analytics.statistics.distinct_rows import FloatArray
from annotation.models import Question
from annotation.protocols import QuestionSpec
from annotation.services.protocols import loaded


def ends(question: MeasuredQuestion) -> tuple[float, float] | None:
    """The least and the greatest rating; None for preferences and for scales without ends."""
    if question.width is None:
        return None
    low = min(question.points) if question.points else spec(question).minimum
    return None if low is None else (float(low), float(low) + question.width)


def middle_confidence(question: MeasuredQuestion) -> float | None:
    """Halfway between the least and the greatest confidence; None where none is asked for."""
    asked = spec(question).confidence
    return None if asked is None else (min(asked.values) + max(asked.values)) / 2


def from_0_to_1(scores: FloatArray, scale: tuple[float, float] | None) -> FloatArray | None:
    """Scores that all lie from 0 to 1 as they are, those that all lie on the question's scale brought there; None for
    any other, as nobody knows what they would be on that scale."""
    known = scores[np.isfinite(scores)]
    if not len(known):
        return None
    if known.min() >= 0 and known.max() <= 1:
        return scores
    if scale is not None and scale[0] <= known.min() and known.max() <= scale[1]:
        return (scores - scale[0]) / (scale[1] - scale[0])
    return None


def spec(question: MeasuredQuestion) -> QuestionSpec:
    """As the newest of the protocol versions that ask it alike has it."""
    row = Question.objects.get(pk=question.ids[0])
    found = loaded(row.protocol_version_id).spec.question(question.key)
    assert found is not None  # the row was made from it
    return found
