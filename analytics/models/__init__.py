"""Models of analysis: cached figures, and releases."""

from analytics.models.browse import ItemSummary, ItemText, SummarySweep, TaskSummary
from analytics.models.figure import AgreementFigure, StudyFigure
from analytics.models.quality import QualitySweep, RaterQuality
from analytics.models.release import Release

__all__ = [
    "AgreementFigure",
    "ItemSummary",
    "ItemText",
    "QualitySweep",
    "RaterQuality",
    "Release",
    "StudyFigure",
    "SummarySweep",
    "TaskSummary",
]
