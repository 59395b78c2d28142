"""The part of a study's overview that takes a scan to know: computed in the background and stored as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from analytics import frames
from analytics.frames import CountRow
from analytics.questions import MeasuredQuestion, measured_questions
from analytics.reports import stopping, systems, trials
from analytics.reports.agreement import question_agreement
from analytics.reports.distribution import histogram
from annotation.models import Study


def scan(study: Study) -> tuple[dict[str, Any], dict[str, Any]]:
    """Agreement by question key, and the overview: questions in the order asked, codes, judgments wanted."""
    agreement, questions = {}, []
    for question in measured_questions(study):
        counted = frames.count_rows(question)
        agreement[question.key] = question_agreement(question, counted, level=question.level).as_json()
        questions.append(_question(question, counted.rows))
    overview = {
        "questions": questions,
        "codes": list(frames.code_counts(study).items()),
        "judgments_wanted": frames.judgments_wanted(study),
        **stopping.as_json(stopping.stopped_early(study)),
        **trials.as_json(trials.abx_report(study), trials.screened(study)),
    }
    return agreement, overview


def _question(question: MeasuredQuestion, rows: list[CountRow]) -> dict[str, Any]:
    means = [] if question.is_preference else systems.means(frames.system_ratings(question))
    wins = systems.wins(frames.pair_votes(question)) if question.is_preference else []
    return {
        "key": question.key,
        "histogram": histogram(question, rows),
        "means": [asdict(one) for one in means],
        "wins": [asdict(one) for one in wins],
    }
