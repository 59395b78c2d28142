"""Models of analysis: cached figures, and releases."""

from analytics.models.figure import AgreementFigure, StudyFigure
from analytics.models.release import Release

__all__ = ["AgreementFigure", "Release", "StudyFigure"]
