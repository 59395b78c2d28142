"""The model conflict flag rule: a scorer that clearly disagrees with the raters.

A rating and a score are compared on a scale from 0 to 1 where the range of the score is known; else by where each
stands among all of the study's, so that a score without a range only has to put answers in the raters' order. Votes on
pairs are held against a scorer of pairs, or against the difference of two scores where that is the log-odds that people
prefer the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from annotation.jobs.sweeps import SweepSource
from annotation.models import Answer, Study
from annotation.protocols import Protocol, QuestionSpec
from annotation.review.flag_queries import (
    ANSWERED_SQL,
    STRONGEST_EVIDENCE,
    RuleQuery,
    comparable_questions,
    scale_range,
)
from annotation.review.flag_rules import FlagRule, ModelConflict
from scoring import learned
from scoring.metrics.contract import USUAL_OUTPUTS
from scoring.models import Score, Scorer
from scoring.policies import predictions
from scoring.training.contract import heads_by_question

NEW_SCORES = SweepSource(
    highest="SELECT max(id) FROM scoring_score",
    changed="SELECT c.item_version_id FROM scoring_score s"
    " JOIN annotation_candidate c ON c.id = s.candidate_id"
    " JOIN annotation_itemversion v ON v.id = c.item_version_id"
    " JOIN annotation_item i ON i.id = v.item_id AND i.study_id = %(study)s WHERE s.id > %(low)s",
    rule=ModelConflict.key,
)

# What a rule compares unless it is told otherwise.
_DEFAULT_OUTPUT = "value"
# Fewer say nothing about ranks.
MIN_RANKED = 20
_QUANTILES = 200

_RATING_QUESTIONS = "asked AS (SELECT unnest(%(questions)s::bigint[]) AS id)"

_RATED = f"""
{_RATING_QUESTIONS}, rated AS (
    SELECT scope.version, a.task_id AS task, coalesce(a.candidate_id, k.candidate_id) AS candidate, count(*) AS n,
           avg(a.value) AS mean, max(j.submitted_at) AS newest
    {ANSWERED_SQL}
    LEFT JOIN annotation_taskcandidate k ON k.task_id = a.task_id AND k.slot = 0 AND a.candidate_id IS NULL
    WHERE a.value IS NOT NULL
    GROUP BY 1, 2, 3 HAVING count(*) >= %(min_ratings)s
), compared AS (
    SELECT rated.*, s.value AS score
    FROM rated JOIN scoring_score s ON s.scorer_id = %(scorer_id)s AND s.candidate_id = rated.candidate
        AND s.other_id IS NULL AND s.output = %(output)s AND s.value IS NOT NULL
)
"""

_BY_SCALE = """
, placed AS (
    SELECT compared.*, (mean - %(least)s) / (%(most)s - %(least)s) AS human,
           least(1.0, greatest(0.0, score)) AS model
    FROM compared
)
"""

# A value's rank is the middle of the places that it could take among the quantiles.
_BY_RANK = """
, placed AS (
    SELECT compared.*,
           (SELECT avg(((q < mean)::int + (q <= mean)::int) / 2.0) FROM unnest(%(means)s::float8[]) q) AS human,
           (SELECT avg(((q < score)::int + (q <= score)::int) / 2.0) FROM unnest(%(scores)s::float8[]) q) AS model
    FROM compared
)
"""

_RATING_CONFLICTS = f"""
, unit AS (
    SELECT version, task, abs(human - model) AS weight, newest, jsonb_build_object(
        'scorer', %(scorer)s::text, 'scorer_id', %(scorer_id)s::bigint, 'output', %(output)s::text,
        'question', %(question)s::text, 'how', %(how)s::text, 'candidate', candidate, 'n', n, 'mean', mean,
        'score', score, 'human', human::float8, 'model', model::float8,
        'difference', abs(human - model)::float8) AS evidence
    FROM placed WHERE abs(human - model) >= %(difference)s
), {STRONGEST_EVIDENCE}
"""

_QUANTILES_OF = """
, fractions AS (SELECT array_agg(i / %(steps)s::float8) AS f FROM generate_series(0, %(steps)s) i)
SELECT count(*), percentile_cont((SELECT f FROM fractions)) WITHIN GROUP (ORDER BY mean),
       percentile_cont((SELECT f FROM fractions)) WITHIN GROUP (ORDER BY score)
FROM compared
"""

_WHOLE_STUDY = """
WITH scope AS (
    SELECT current_version_id AS version FROM annotation_item WHERE study_id = %(study)s AND state = 'active'
),
"""

_PREFERENCE_QUESTIONS = """
asked AS (SELECT * FROM unnest(%(questions)s::bigint[], %(keys)s::text[], %(outputs)s::text[]) AS q (id, key, output))
"""

_VOTED = f"""
{_PREFERENCE_QUESTIONS}, voted AS (
    SELECT scope.version, a.task_id AS task, asked.key, asked.output, count(*) AS n, max(j.submitted_at) AS newest,
           count(*) FILTER (WHERE a.choice = {Answer.Choice.FIRST:d}) AS first,
           count(*) FILTER (WHERE a.choice = {Answer.Choice.SECOND:d}) AS second
    {ANSWERED_SQL} AND a.choice IS NOT NULL
    GROUP BY scope.version, a.task_id, asked.key, asked.output HAVING count(*) >= %(min_ratings)s
), paired AS (
    SELECT voted.*, k0.candidate_id AS one, k1.candidate_id AS other
    FROM voted
    JOIN annotation_taskcandidate k0 ON k0.task_id = voted.task AND k0.slot = 0
    JOIN annotation_taskcandidate k1 ON k1.task_id = voted.task AND k1.slot = 1
)
"""

# `lead`: how far a model's choice is from undecided, from -1 to 1. Scores name the pair either way round.
_BY_PAIR = """
, compared AS (
    SELECT paired.*, s.value AS score,
           (s.value - %(middle)s) / %(reach)s * CASE WHEN s.candidate_id = one THEN 1 ELSE -1 END AS lead
    FROM paired
    JOIN scoring_score s ON s.scorer_id = %(scorer_id)s AND s.output = paired.output AND s.value IS NOT NULL
        AND ((s.candidate_id = one AND s.other_id = other) OR (s.candidate_id = other AND s.other_id = one))
)
"""

# Of log-odds d, the chance of the first is 1 / (1 + exp(-d)), and twice that less 1 is tanh(d / 2).
_BY_DIFFERENCE = """
, compared AS (
    SELECT paired.*, s0.value - s1.value AS score, tanh((s0.value - s1.value) / 2) AS lead
    FROM paired
    JOIN scoring_score s0 ON s0.scorer_id = %(scorer_id)s AND s0.candidate_id = one AND s0.other_id IS NULL
        AND s0.output = paired.output AND s0.value IS NOT NULL
    JOIN scoring_score s1 ON s1.scorer_id = %(scorer_id)s AND s1.candidate_id = other AND s1.other_id IS NULL
        AND s1.output = paired.output AND s1.value IS NOT NULL
)
"""

_PREFERENCE_CONFLICTS = f"""
, unit AS (
    SELECT version, task, least(1.0, abs(lead)) AS weight, newest, jsonb_build_object(
        'scorer', %(scorer)s::text, 'scorer_id', %(scorer_id)s::bigint, 'output', output,
        'question', key, 'how', %(how)s::text, 'n', n, 'first', first, 'second', second, 'score', score,
        'model_prefers', CASE WHEN lead > 0 THEN 1 ELSE 2 END,
        'difference', least(1.0, abs(lead))::float8) AS evidence
    FROM compared
    WHERE abs(lead) >= %(difference)s AND ((2 * first > n AND lead < 0) OR (2 * second > n AND lead > 0))
), {STRONGEST_EVIDENCE}
"""


@dataclass(frozen=True)
class _Question:
    """A question that a score can be compared with, in all protocol versions that ask it alike."""

    spec: QuestionSpec
    ids: tuple[int, ...]


# A question with the output that it is compared with.
_QuestionOutput = tuple[_Question, str]


def conflict_query(study: Study, rule: FlagRule) -> RuleQuery | None:
    """None where the study has no such scorer yet, or no question that it can be compared with."""
    scorer = predictions.study_scorer(study, rule["scorer"])
    if scorer is None:
        return None
    numbers = {name: rule[name] for name in ("difference", "min_ratings")}
    params = {"scorer": scorer.key, "scorer_id": scorer.pk, **numbers}
    if predictions.reads_pairs(scorer.key):
        # A probability is undecided at a half, a difference at nothing.
        middle = predictions.preference_threshold(scorer)
        params |= {"middle": middle, "reach": 0.5 if middle else 1.0, "how": "sides"}
        questions = _questions(study, rule["question"], pairs=True)[:1]
        compared = [(one, _output(rule, scorer)) for one in questions]
        return _preference_query(_VOTED + _BY_PAIR + _PREFERENCE_CONFLICTS, compared, params)
    has_heads = scorer.key in predictions.LOG_ODDS_SCORERS
    if has_heads and (compared := _questions_by_head(study, rule, pairs=True)):
        return _preference_query(
            _VOTED + _BY_DIFFERENCE + _PREFERENCE_CONFLICTS, compared, {**params, "how": "differences"}
        )
    if has_heads:
        rated = _questions_by_head(study, rule, pairs=False)
    else:
        # Unless the rule names a question: the one that a version of this study learned, or the first.
        named = rule["question"] or learned.learned_questions(study).get(scorer.pk, "")
        rated = [(one, _output(rule, scorer)) for one in _questions(study, named, pairs=False)]
    return _rating_query(study, scorer, rated[0], params) if rated else None


def _output(rule: FlagRule, scorer: Scorer) -> str:
    """The one that the rule names. One that names none has “value” in its place, which not every scorer has."""
    output: str = rule["output"]
    if output != _DEFAULT_OUTPUT:
        return output
    stored = Score.objects.filter(scorer=scorer)
    return next((name for name in USUAL_OUTPUTS if stored.filter(output=name).exists()), output)


def _preference_query(
    ctes: str, compared: Sequence[_QuestionOutput], params: Mapping[str, Any]
) -> RuleQuery | None:
    rows = [(pk, one.spec.key, output) for one, output in compared for pk in one.ids]
    columns = dict(zip(("questions", "keys", "outputs"), map(list, zip(*rows, strict=True)), strict=False))
    return RuleQuery(ctes, {**params, **columns}) if rows else None


def _questions_by_head(study: Study, rule: FlagRule, *, pairs: bool) -> list[_QuestionOutput]:
    """Questions of one kind, each with the head that is about it, or those that the rule names."""
    all_asked, output = _questions(study, "", pairs=pairs), rule["output"]
    heads = heads_by_question([one.spec.key for one in all_asked])
    questions = [one for one in all_asked if rule["question"] in ("", one.spec.key)]
    if output == _DEFAULT_OUTPUT:
        return [(one, heads[one.spec.key]) for one in questions if one.spec.key in heads]
    own = [one for one in questions if heads.get(one.spec.key) == output]
    return [(one, output) for one in (own or questions)[:1]]


def _rating_query(
    study: Study, scorer: Scorer, compared: _QuestionOutput, params: Mapping[str, Any]
) -> RuleQuery | None:
    question, output = compared
    params = {**params, "output": output, "questions": list(question.ids), "question": question.spec.key}
    if predictions.has_known_scale(scorer):
        least, most = scale_range(question.spec)
        return RuleQuery(
            _RATED + _BY_SCALE + _RATING_CONFLICTS, {**params, "least": least, "most": most, "how": "scale"}
        )
    with connection.cursor() as cursor:
        sql = _WHOLE_STUDY + _RATED + _QUANTILES_OF
        cursor.execute(sql, {**params, "study": study.pk, "steps": _QUANTILES})
        n, means, scores = cursor.fetchone()
    if n < MIN_RANKED:
        return None
    return RuleQuery(
        _RATED + _BY_RANK + _RATING_CONFLICTS, {**params, "means": means, "scores": scores, "how": "ranks"}
    )


def _questions(study: Study, key: str, *, pairs: bool) -> list[_Question]:
    """The questions that the rule leaves, in the protocol's order."""
    comparable = predictions.compares if pairs else predictions.rates

    def fits(protocol: Protocol, spec: QuestionSpec) -> bool:
        return key in ("", spec.key) and comparable(protocol, spec)

    ids: dict[str, list[int]] = {}
    newest: dict[str, QuestionSpec] = {}
    for pk, spec in comparable_questions(study, fits):
        newest.setdefault(spec.key, spec)
        ids.setdefault(spec.key, []).append(pk)
    return [_Question(spec, tuple(ids[name])) for name, spec in newest.items()]
