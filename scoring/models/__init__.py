"""Models in the loop: scorers, runs over a study and the scores they leave; writers, and what they wrote; what was
trained on votes."""

from scoring.models.learned import LearnedModel
from scoring.models.run import ScoringRow, ScoringRun
from scoring.models.score import Score, Scorer
from scoring.models.writing import Writer, WritingRow, WritingRun

__all__ = [
    "LearnedModel",
    "Score",
    "Scorer",
    "ScoringRow",
    "ScoringRun",
    "Writer",
    "WritingRow",
    "WritingRun",
]
