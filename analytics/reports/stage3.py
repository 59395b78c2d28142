"""What the ORCA paper reports of its third stage (arXiv 2512.09066, section 5.2 and appendix A), for any study."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from analytics.questions import measured_questions
from analytics.reports.stage3_corrections import corrections, drafts
from analytics.reports.stage3_feedback import feedback
from analytics.reports.stage3_flow import flow
from analytics.reports.stage3_ratings import question_parts
from annotation.models import Study


def stage3(study: Study) -> dict[str, Any]:
    """As JSON, section by section; the fields of each are those of its module's dataclasses."""
    return {
        "corrections": asdict(corrections(study)),
        "drafts": [asdict(one) for one in drafts(study)],
        "feedback": asdict(feedback(study)),
        "questions": [asdict(question_parts(question)) for question in measured_questions(study)],
        "flow": asdict(flow(study)),
    }
