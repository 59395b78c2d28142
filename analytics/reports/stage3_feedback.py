"""Feedback codes by items, by tasks and by judgments, before the review and counted now (ORCA, table 4).

The paper counts unique questions for codes about the question and tuples for codes about the rater's difficulty. Which
is which differs between protocols, so every code has all three counts.
"""

from __future__ import annotations

from dataclasses import dataclass

from analytics import review_frames
from analytics.review_frames import COMMENT, JudgedAndMarked, Tally
from annotation.models import Study
from annotation.services.protocols import loaded

_NONE = Tally(0, 0, 0)


@dataclass(frozen=True)
class CodeCount:
    """A code, or COMMENT for free text; `title` in English, empty where the present protocol has no such code."""

    code: str
    title: str
    before: Tally
    after: Tally


@dataclass(frozen=True)
class Feedback:
    of: JudgedAndMarked
    codes: tuple[CodeCount, ...]


def feedback(study: Study) -> Feedback:
    """The codes in the protocol's order, then those of earlier versions, then comments."""
    found = review_frames.code_tallies(study)
    titles = {code.key: code.title.in_language("en") for code in loaded(study.protocol_version_id).spec.codes}
    earlier = sorted(found.keys() - titles.keys() - {COMMENT})
    return Feedback(
        of=review_frames.judged_and_marked(study),
        codes=tuple(
            CodeCount(code, titles.get(code, ""), *found.get(code, (_NONE, _NONE)))
            for code in (*titles, *earlier, COMMENT)
        ),
    )
