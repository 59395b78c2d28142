"""A rater's own answer to one assignment, in the words in which they were asked."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from annotation import access
from annotation.listening.rules.coverage import ListeningRules
from annotation.models import User
from annotation.protocols import Protocol
from annotation.protocols.schema import QuestionSpec
from annotation.rating import revisions
from annotation.studies.protocols import load_protocol


@dataclass(frozen=True)
class OwnAnswer:
    question: str
    said: str


def own_answers(user: User, assignment_id: uuid.UUID) -> list[OwnAnswer]:
    """Sides and positions as this rater saw them: which system is behind them is told to nobody who rates."""
    assignment = access.assignment_of(user, assignment_id)
    spec, language = load_protocol(assignment.protocol_version_id).spec, get_language() or "en"
    questions = {question.key: question for question in spec.questions}
    judgment = revisions.own_judgment(user, assignment_id)
    is_panel = len(assignment.presentation) > 1
    answers = [
        _own_answer(questions[answer["question"]], answer, language, is_panel=is_panel)
        for answer in judgment.answers
    ]
    codes = {code.key: code.title.in_language(language) for code in spec.codes}
    if judgment.codes:
        answers.append(OwnAnswer(_("Codes"), ", ".join(codes.get(code, code) for code in judgment.codes)))
    if judgment.comment:
        answers.append(OwnAnswer(_("Comment"), judgment.comment))
    return answers


def _own_answer(
    question: QuestionSpec, answer: Mapping[str, Any], language: str, *, is_panel: bool
) -> OwnAnswer:
    title, position = question.title.in_language(language), answer.get("position")
    if is_panel and position is not None:
        title = f"{title} ({chr(ord('A') + position)})"
    text = _answer_text(question, answer, language)
    if "confidence" in answer:
        text = _("{answer} (confidence {n})").format(answer=text, n=f"{answer['confidence']:g}")
    return OwnAnswer(title, text)


def _answer_text(question: QuestionSpec, answer: Mapping[str, Any], language: str) -> str:
    if "choice" in answer:
        return {"tie": _("Tie"), "both_bad": _("Both bad")}.get(answer["choice"], str(answer["choice"]))
    if "value" in answer:
        labels = {point.value: point.label.in_language(language) for point in question.points}
        return f"{answer['value']:g} {labels.get(answer['value'], '')}".strip()
    return str(answer.get("text", ""))


# What a study asks of listening, told to its raters before they begin.


def listening_requirements(protocol: Protocol, rules: ListeningRules) -> list[str]:
    """A sentence for each requirement; none where answers may be given without listening."""
    if not protocol.listening.must_hear:
        return []
    sentences = []
    if amount := _required_listening(rules.short_seconds, rules.short_share):
        sentences.append(_("Of each clip of up to a minute, hear at least {amount}.").format(amount=amount))
    if amount := _required_listening(rules.long_seconds, rules.long_share):
        sentences.append(_("Of each longer clip, hear at least {amount}.").format(amount=amount))
    compares = protocol.candidates[1] > 1 and "candidates" in protocol.listening.must_hear
    if compares and (n := rules.min_switches):
        switch = ngettext(
            "Switch between the clips at least once.", "Switch between the clips at least {n} times.", n
        )
        sentences.append(switch.format(n=n))
    return sentences


def _required_listening(seconds: float, share: float) -> str:
    if seconds and share:
        words = _("{seconds} seconds or {percent} %, whichever is more")
    elif seconds:
        words = _("{seconds} seconds")
    else:
        words = _("{percent} %") if share else ""
    return words.format(seconds=f"{seconds:g}", percent=f"{share * 100:g}")
