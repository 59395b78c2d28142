"""Review report: corrections, drafts, feedback codes, case flow, and agreement before and after adjudication (ORCA)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from statistics import fmean
from typing import Any

from analytics.data import review
from analytics.data.items import items_by_stratum
from analytics.data.postgres import consistent_snapshot
from analytics.data.questions import MeasuredQuestion, measured_questions
from analytics.data.review import (
    COMMENT,
    REVIEW_PARTS,
    BlindAnswer,
    CorrectionRow,
    SystemAnswers,
    Tally,
)
from analytics.data.value_counts import CountRow, histograms
from analytics.reports.agreement import alpha_json, alphas
from analytics.statistics.ratings.contested import variance_counts
from annotation.jobs import jobs
from annotation.jobs.jobs import JobFailed, RunningJob
from annotation.models import Draft, Job, ReviewCase, Study, User
from annotation.review.rules import CORRECTABLE_FIELDS
from annotation.studies.protocols import load_protocol

# A person has said what becomes of these; the others wait, failed, or came too late.
SETTLED = (Draft.State.ACCEPTED, Draft.State.EDITED, Draft.State.REJECTED, Draft.State.UNUSED)
UNDECIDED = "undecided"
_NONE = Tally(0, 0, 0)


def correction_figures(study: Study) -> dict[str, Any]:
    """Corrections that stand, by field and by stratum; `undone` are apart. items: how many items have one."""
    rows = review.correction_rows(study)
    standing = [row for row in rows if not row.undone]
    return {
        "n": len(standing),
        "undone": len(rows) - len(standing),
        "items": len({row.item_id for row in standing}),
        "fields": tuple(_of_field(field, rows) for field in _fields(rows)),
        "strata": tuple(
            _of_stratum(stratum, items, standing) for stratum, items in items_by_stratum(study).items()
        )
        if standing
        else (),
    }


def draft_figures(study: Study) -> list[dict[str, Any]]:
    """A writer's drafts for one field by state, or `drafts.LATE`. `share` is of drafts accepted unedited among those
    settled, 0 to 1."""
    by_writer: defaultdict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for field, writer, state, n in review.draft_states(study):
        by_writer[field, writer][state] = n
    figures = []
    for (field, writer), states in by_writer.items():
        settled = sum(states.get(state, 0) for state in SETTLED)
        share = states.get(Draft.State.ACCEPTED, 0) / settled if settled else None
        figures.append(
            {"field": field, "writer": writer, "states": states, "settled": settled, "share": share}
        )
    return figures


def _of_field(field: str, rows: Iterable[CorrectionRow]) -> dict[str, Any]:
    own = [row for row in rows if row.field == field]
    standing = [row for row in own if not row.undone]
    return {
        "field": field,
        "n": len(standing),
        "undone": len(own) - len(standing),
        "reasons": dict(Counter(row.reason for row in standing)),
        "origins": dict(Counter(row.origin for row in standing)),
    }


def _of_stratum(stratum: str, items: Mapping[str, int], standing: Sequence[CorrectionRow]) -> dict[str, Any]:
    """By field and value of one stratum (a benchmark, a modality); `items` are all there are."""
    counts = {
        field: Counter(
            str(row.strata[stratum]) for row in standing if row.field == field and stratum in row.strata
        )
        for field in _fields(standing)
    }
    fields = {field: dict(by_value) for field, by_value in counts.items()}
    return {"stratum": stratum, "items": items, "fields": fields}


def _fields(rows: Iterable[CorrectionRow]) -> list[str]:
    """In the order of the desk; what it does not know comes last."""
    place = {field: n for n, field in enumerate(CORRECTABLE_FIELDS)}
    return sorted({row.field for row in rows}, key=lambda field: (place.get(field, len(place)), field))


def feedback_figures(study: Study) -> dict[str, Any]:
    """Feedback codes by items, by tasks and by judgments, before the review and counted now (ORCA, table 4), in the
    protocol's order, then those of earlier versions, then comments. `title` is in English, empty where the present
    protocol has no such code.

    The paper counts unique questions for codes about the question and tuples for codes about the rater's difficulty.
    Which is which differs between protocols, so every code has all three counts.
    """
    tallies = review.code_tallies(study)
    titles = {
        code.key: code.title.in_language("en") for code in load_protocol(study.protocol_version_id).spec.codes
    }
    earlier = sorted(tallies.keys() - titles.keys() - {COMMENT})
    rows = []
    for code in (*titles, *earlier, COMMENT):
        before, after = map(asdict, tallies.get(code, (_NONE, _NONE)))
        rows.append({"code": code, "title": titles.get(code, ""), "before": before, "after": after})
    return {"of": asdict(review.judged_and_marked(study)), "codes": tuple(rows)}


def case_flow(study: Study) -> dict[str, Any]:
    """How the loop runs. states: cases not decided, by state; decisions: the decided ones. rules: cases that a rule is
    among the reasons of, by decision. returns: to whom, by what came of it."""
    counted = review.case_states(study)
    states: Counter[str] = Counter()
    decisions: Counter[str] = Counter()
    for state, decision, n in counted:
        if state == ReviewCase.State.RESOLVED:
            decisions[decision] += n
        else:
            states[state] += n
    returns: dict[str, dict[str, int]] = {"rater": {}, "pool": {}}
    for to_rater, state, n in review.case_returns(study):
        returns["rater" if to_rater else "pool"][state] = n
    return {
        "cases": sum(n for _, _, n in counted),
        "states": dict(states),
        "decisions": dict(decisions),
        "rules": _rules(study),
        "times": asdict(review.case_durations(study)),
        "undone": review.n_decisions_undone(study),
        "returns": returns,
        "rejudging": asdict(review.rejudging(study)),
    }


def _rules(study: Study) -> tuple[dict[str, Any], ...]:
    """The rule with the most cases first; `undecided` are open, claimed or returned."""
    by_rule: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for rule, decision, n in review.rule_decisions(study):
        by_rule[rule][decision or UNDECIDED] = n
    totals = sorted((-sum(decisions.values()), rule) for rule, decisions in by_rule.items())
    return tuple({"rule": rule, "n": -n, "decisions": by_rule[rule]} for n, rule in totals)


def question_parts(question: MeasuredQuestion) -> dict[str, Any]:
    """One question before and after the review: agreement and variance by the names of REVIEW_PARTS; histogram (ORCA,
    figure 5): value or range, ratings before the review, ratings counted now; systems (table 5), where `answers` are
    different ones that were rated, `mean` is over ratings, `words` and `seconds` over answers; and how experts' blind
    answers stand to the raters'."""
    units = review.unit_rows(question)
    sets = [review.part_value_counts(units, "before"), review.part_value_counts(units, "after")]
    systems = review.system_answers(question) if question.is_rating else []
    return {
        "key": question.key,
        "title": question.title,
        "kind": question.kind,
        "level": question.level,
        "parts": {part: _part(question, review.part_value_counts(units, part)) for part in REVIEW_PARTS},
        "histogram": tuple((label, before, after) for label, (before, after) in histograms(question, sets)),
        "systems": tuple(_system(row) for row in systems),
        "blind": blind_agreement(
            review.blind_answers(question), with_mean=question.level not in ("", "nominal")
        ),
    }


def blind_agreement(answers: Sequence[BlindAnswer], *, with_mean: bool) -> dict[str, Any]:
    """Experts' own answers, given before they saw the raters'.

    with_majority: where one answer of the raters' is more frequent than any other; `agreed` of these are the expert's.
    mean_difference: expert less the raters' mean, on average over `with_raters`; None for preferences.
    """
    seen = [one for one in answers if one.raters]
    decided = [(one.expert, value) for one in seen if (value := _majority(one.raters)) is not None]
    differences = [one.expert - fmean(one.raters) for one in seen] if with_mean else []
    return {
        "answers": len(answers),
        "with_raters": len(seen),
        "with_majority": len(decided),
        "agreed": sum(expert == value for expert, value in decided),
        "mean_difference": fmean(differences) if differences else None,
        "mean_distance": fmean(map(abs, differences)) if differences else None,
    }


def _part(question: MeasuredQuestion, rows: Sequence[CountRow]) -> dict[str, Any]:
    patterns, alpha, symmetric = alphas(question, rows, level=question.level)
    width = question.width
    return {
        **alpha_json(alpha),
        **({} if symmetric is None else {"symmetric": alpha_json(symmetric)}),
        # A quarter of the scale squared: 1 on a scale from 1 to 5.
        "variance": None if width is None else asdict(variance_counts(patterns, threshold=(width / 4) ** 2)),
    }


def _system(row: SystemAnswers) -> dict[str, Any]:
    return {
        "system": row.system,
        "answers": row.answers,
        "ratings": row.ratings,
        "mean": row.total / row.ratings,
        "words": row.words,
        "seconds": row.seconds,
    }


def _majority(values: Iterable[float]) -> float | None:
    """The most frequent value; None where two share the first place."""
    (value, n), *others = Counter(values).most_common(2)
    return None if others and others[0][1] == n else value


def review_report(study: Study) -> dict[str, Any]:
    """What the ORCA paper reports of its third stage (arXiv 2512.09066, section 5.2 and appendix A), as JSON."""
    return {
        "corrections": correction_figures(study),
        "drafts": draft_figures(study),
        "feedback": feedback_figures(study),
        "questions": [question_parts(question) for question in measured_questions(study)],
        "flow": case_flow(study),
    }


REVIEW_REPORT_JOB = "review_report"


def start_review_report(study: Study, *, actor: User) -> Job:
    """The report that is under way, or a new one, made in the background: it reads every vote."""
    return jobs.enqueue_once(REVIEW_REPORT_JOB, study=study, params={}, actor=actor)


def run_review_report(running: RunningJob) -> dict[str, Any]:
    """The job's work; what it returns is the job's report."""
    if running.job.study is None:
        raise JobFailed("This study is not here any more.")
    with consistent_snapshot():
        return review_report(running.job.study)


def latest_review_report(study: Study) -> tuple[Job | None, Job | None]:
    """The last report that was finished, and the newest job of all, which may be under way or have failed."""
    return jobs.last_done_and_newest(jobs.newest_jobs(study, REVIEW_REPORT_JOB))
