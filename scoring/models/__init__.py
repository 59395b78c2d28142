"""Models in the loop: scorers, runs over a study, and the scores they leave."""

from scoring.models.run import ScoringRow, ScoringRun
from scoring.models.score import Score, Scorer

__all__ = ["Score", "Scorer", "ScoringRow", "ScoringRun"]
