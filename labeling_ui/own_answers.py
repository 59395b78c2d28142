"""A rater's own answer to one assignment, in the words in which they were asked."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import get_language
from django.utils.translation import gettext as _

from annotation import access
from annotation.models import User
from annotation.protocols.schema import QuestionSpec
from annotation.services import revisions
from annotation.services.protocols import loaded


@dataclass(frozen=True)
class OwnAnswer:
    question: str
    said: str


def own_answers(user: User, assignment_id: uuid.UUID) -> list[OwnAnswer]:
    """Sides and positions as this rater saw them: which system is behind them is told to nobody who rates."""
    assignment = access.assignment_of(user, assignment_id)
    spec, language = loaded(assignment.protocol_version_id).spec, get_language() or "en"
    questions = {question.key: question for question in spec.questions}
    given = revisions.given(user, assignment_id)
    is_panel = len(assignment.presentation) > 1
    found = [_answer(questions[one["question"]], one, language, is_panel=is_panel) for one in given.answers]
    codes = {code.key: code.title.in_language(language) for code in spec.codes}
    if given.codes:
        found.append(OwnAnswer(_("Codes"), ", ".join(codes.get(code, code) for code in given.codes)))
    if given.comment:
        found.append(OwnAnswer(_("Comment"), given.comment))
    return found


def _answer(question: QuestionSpec, given: Mapping[str, Any], language: str, *, is_panel: bool) -> OwnAnswer:
    title, position = question.title.in_language(language), given.get("position")
    if is_panel and position is not None:
        title = f"{title} ({chr(ord('A') + position)})"
    said = _said(question, given, language)
    if "confidence" in given:
        said = _("{answer} (confidence {n})").format(answer=said, n=f"{given['confidence']:g}")
    return OwnAnswer(title, said)


def _said(question: QuestionSpec, given: Mapping[str, Any], language: str) -> str:
    if "choice" in given:
        return {"tie": _("Tie"), "both_bad": _("Both bad")}.get(given["choice"], str(given["choice"]))
    if "value" in given:
        labels = {point.value: point.label.in_language(language) for point in question.points}
        return f"{given['value']:g} {labels.get(given['value'], '')}".strip()
    return str(given.get("text", ""))
