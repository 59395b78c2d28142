"""Second opinions at the review desk: how a language model's judge rates a case's answers, and its reasons.

An opinion is what a judge wrote of an answer in a scoring run; it is a score, never a vote. Experts read it once they
have judged the case blind, like everything that others think of it: ask for it only where that is settled, or let
`request_opinion` see to it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from annotation.errors import Conflict, NotFound
from annotation.models import ReviewCase, Study, TaskCandidate, User
from annotation.review import blind_judgments, cases
from scoring.models import Score, Scorer, ScoringRow, ScoringRun
from scoring.runs import scoring_runs

# Judges that write a rating with a reason, and the output that the rating is stored under.
RATING_OUTPUTS: Mapping[str, str] = {"llm-judge": "value", "llm-judge-audio": "value", "aura": "judge"}
_JUDGES_LISTED = 10
_REASONS_SHOWN = 10


@dataclass(frozen=True)
class Opinion:
    """One judge's of one answer. rating: the mean of the ratings that it predicts, on its scale from `low` to `high`.
    reasons: as it wrote them, without the rating; none where it writes none."""

    scorer: Scorer
    candidate_id: int
    system: str
    rating: float
    low: int
    high: int
    reasons: tuple[str, ...]
    created_at: datetime


@dataclass(frozen=True)
class OpinionRun:
    """A run of a judge over a case's item that has brought no opinion, or not yet. problem: why, once it has ended."""

    metric: str
    is_awaited: bool
    problem: str


@dataclass(frozen=True)
class CaseOpinions:
    """judges: those of the study that have not rated this version and can be asked, by their last run."""

    opinions: list[Opinion]
    runs: list[OpinionRun]
    judges: list[ScoringRun]

    @property
    def is_awaited(self) -> bool:
        return any(run.is_awaited for run in self.runs)


def case_opinions(case: ReviewCase) -> CaseOpinions:
    """By three queries, and one for each run that failed. A case about an earlier version of its item keeps the
    opinions of it, and gets no more."""
    opinions = list(_opinions(case))
    runs = _runs(case)
    given = {one.scorer.pk for one in opinions}
    busy = {(run.metric, _key(run.options)) for run in runs if not run.is_finished}
    judges = [
        run
        for run in (judges_of(case.study) if _is_current(case) else [])
        if run.scorer_id not in given and (run.metric, _key(run.options)) not in busy
    ]
    return CaseOpinions(opinions, [_opinion_run(run) for run in runs if _brought_none(run, given)], judges)


def judges_of(study: Study) -> list[ScoringRun]:
    """The last run of each judge that has scored this study, newest first: its settings open the judge again."""
    runs = ScoringRun.objects.filter(study=study, metric__in=RATING_OUTPUTS, scorer__isnull=False)
    by_scorer: dict[int | None, ScoringRun] = {}
    for run in runs.select_related("scorer").order_by("-pk"):
        by_scorer.setdefault(run.scorer_id, run)
    return list(by_scorer.values())[:_JUDGES_LISTED]


@transaction.atomic
def request_opinion(user: User, case_id: int, judge: str) -> ScoringRun:
    """Let a judge of the study, as name@digest, rate the answers of the case's item in the background.

    Only the expert who holds the case and has judged it blind may. Raises NotFound, Conflict where the item has changed
    since, the judge has rated it or is at it.
    """
    case = cases.claimed_case(user, case_id)
    if not blind_judgments.has_judged_blind(case, user):
        raise NotFound
    last = next((run for run in judges_of(case.study) if judge_name(run) == judge), None)
    if last is None:
        raise NotFound
    if not _is_current(case):
        raise Conflict(
            "The item has been changed since; a judge would rate its answers as they are now.", code="past"
        )
    if any(one.scorer.pk == last.scorer_id for one in _opinions(case)):
        raise Conflict("This judge has rated these answers already.", code="has_opinion")
    part = {"items": [case.item.external_id]}
    return scoring_runs.request(case.study, last.metric, last.options, filter=part, actor=user)


def judge_name(run: ScoringRun) -> str:
    assert run.scorer is not None
    return f"{run.scorer.key}@{run.scorer.digest}"


def _is_current(case: ReviewCase) -> bool:
    return case.item.current_version_id == case.item_version_id


def _opinions(case: ReviewCase) -> Iterator[Opinion]:
    """Those of the answers in the case's task, or of all answers of its version where it has none; of the newest scorer
    first."""
    scores = Score.objects.filter(
        candidate__item_version=case.item_version_id, other=None, scorer__key__in=RATING_OUTPUTS,
        output__in=set(RATING_OUTPUTS.values()),
    )  # fmt: skip
    if case.task_id is not None:
        scores = scores.filter(
            candidate__in=TaskCandidate.objects.filter(task=case.task_id).values("candidate")
        )
    for score in scores.select_related("scorer", "candidate__system").order_by("-scorer_id", "candidate_id"):
        shares = _shares(score.distribution)
        if score.output == RATING_OUTPUTS[score.scorer.key] and shares:
            yield Opinion(
                score.scorer,
                score.candidate_id,
                score.candidate.system.name,
                sum(rating * share for rating, share in shares.items()) / sum(shares.values()),
                min(shares),
                max(shares),
                tuple(reasons_of(score.provenance))[:_REASONS_SHOWN],
                score.created_at,
            )


def _shares(distribution: Any) -> dict[int, float]:
    """By rating; none where the distribution is not one of whole ratings."""
    if not isinstance(distribution, Mapping) or not all(name.isdecimal() for name in distribution):
        return {}
    shares = {int(name): float(share) for name, share in distribution.items()}
    return shares if sum(shares.values()) > 0 else {}


def _runs(case: ReviewCase) -> list[ScoringRun]:
    """Runs over this item alone, the last of each judge with its settings."""
    part = {"items": [case.item.external_id]}
    runs = ScoringRun.objects.filter(study=case.study_id, metric__in=RATING_OUTPUTS, filter=part).order_by(
        "-pk"
    )
    last: dict[tuple[str, str], ScoringRun] = {}
    for run in runs:
        last.setdefault((run.metric, _key(run.options)), run)
    return list(last.values())


def _brought_none(run: ScoringRun, given: set[int]) -> bool:
    return not run.is_finished or (run.scorer_id not in given)


def _opinion_run(run: ScoringRun) -> OpinionRun:
    failed = ScoringRow.objects.filter(run=run, state=ScoringRow.State.FAILED) if run.n_failed else None
    row = failed.first() if failed else None
    problem = run.message or (row.reason if row else "")
    return OpinionRun(run.metric, not run.is_finished, problem if run.is_finished else "")


def _key(options: Mapping[str, Any]) -> str:
    return json.dumps(options, sort_keys=True)


# ── reasons: what a judge wrote beside its rating ──

_REASONING = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_FENCE = re.compile(r"\A```(?:json)?\s*\n(.*)\n```\Z", re.DOTALL)
_RATING = re.compile(r"\[RESULT\]\s*\S+\s*\Z|^\W*Score:.*\Z", re.MULTILINE)


def reasons_of(provenance: Mapping[str, Any]) -> Iterator[str]:
    """Of every answer of a judge, each text once: the texts of a JSON object, or what stands around the rating."""
    answers = provenance.get("answers")
    texts = [text for own in answers.values() for text in own] if isinstance(answers, Mapping) else []
    yield from dict.fromkeys(reason for text in texts if (reason := _reason(str(text))))


def _reason(answer: str) -> str:
    text = _REASONING.sub("", answer).strip()
    fenced = _FENCE.match(text)
    try:
        content = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError):
        return _RATING.sub("", text).strip()
    if not isinstance(content, dict):
        return ""
    return "\n".join(value.strip() for value in content.values() if isinstance(value, str)).strip()
