"""Hints: the study scorer's predictions for open tasks, for studies that show them to raters."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from django.db import connection
from django.db.models import Q

from annotation.advisory_locks import LockKey, session_lock
from annotation.errors import FieldProblem, InvalidInput
from annotation.models import Study, Task, User
from annotation.rating import hints
from annotation.rating.rules.hints import settings
from annotation.studies.protocols import load_protocol
from scoring import learned
from scoring.models import Score, Scorer, ScoringRun
from scoring.policies import predictions
from scoring.policies.predictions import Predictor, ScoreValues

_CHUNK = 500

# Open tasks, and checks, which raters are to take for such, with a score of theirs that nothing is said of yet, or what
# another version said; and those where it said nothing of a candidate that has a score by now.
_TASKS_WITHOUT_HINT = f"""
SELECT t.id, array_agg(k.candidate_id ORDER BY k.slot)
FROM annotation_task t JOIN annotation_taskcandidate k ON k.task_id = t.id
WHERE t.id IN (
    SELECT t.id FROM annotation_task t
    WHERE t.study_id = %(study)s AND (t.wants_more OR t.kind > 1 AND t.state = 1)
      AND t.kind <> {Task.Kind.IDENTICAL:d} AND t.id > %(after)s
      AND (t.hint IS NULL OR t.hint ->> 'scorer' <> %(name)s
           OR jsonb_path_exists(t.hint, '$.answers.*[*] ? (@ == null)'))
      AND EXISTS (SELECT FROM annotation_taskcandidate x JOIN scoring_score s ON s.candidate_id = x.candidate_id
                  WHERE x.task_id = t.id AND s.scorer_id = %(scorer)s
                    AND (t.hint IS NULL OR t.hint ->> 'scorer' <> %(name)s
                         OR jsonb_path_exists(t.hint, '$.answers.*[$slot] ? (@ == null)',
                                              jsonb_build_object('slot', x.slot))))
    ORDER BY t.id LIMIT %(most)s
)
GROUP BY t.id ORDER BY t.id
"""

# Spoken traps, of whose clips there is no score, and identical pairs, which a chance of exactly a half would give away,
# show what is predicted for the task that they were made from.
_HINTS_OF_SOURCES = f"""
SELECT c.id, source.hint FROM annotation_task c JOIN annotation_itemversion v ON v.id = c.item_version_id
CROSS JOIN LATERAL (
    SELECT t.hint FROM annotation_task t WHERE t.id = c.repeats_id AND t.hint ->> 'scorer' = %(name)s
    UNION ALL
    SELECT t.hint FROM annotation_item i JOIN annotation_task t ON t.item_version_id = i.current_version_id
    WHERE c.repeats_id IS NULL AND i.study_id = c.study_id AND i.external_id = v.extra #>> '{{trap,made_from}}'
      AND t.kind = {Task.Kind.REGULAR:d} AND t.hint ->> 'scorer' = %(name)s
    LIMIT 1
) AS source
WHERE c.study_id = %(study)s AND c.state = 1
  AND (c.kind = {Task.Kind.IDENTICAL:d} AND c.hint IS DISTINCT FROM source.hint
       OR c.kind = {Task.Kind.TRAP:d} AND coalesce(c.hint ->> 'scorer', '') <> %(name)s)
"""


def set_rule(study: Study, *, actor: User | None, scorer: str, withheld: float) -> Study:
    """Show raters what a scorer says, or nothing for an empty name. Raises InvalidInput where that scorer has scored
    nothing here, or says nothing of what the study asks."""
    if scorer:
        _check_scorer(study, scorer)
    return hints.set_hint_settings(study, actor=actor, scorer=scorer, withheld=withheld)


def eligible_scorers(study: Study) -> list[Scorer]:
    """The scorer versions that have scored this study and say something of what it asks, the newest first."""
    protocol = load_protocol(study.protocol_version_id).spec
    run = Q(runs__in=ScoringRun.objects.filter(study=study))
    scorers = Scorer.objects.filter(run | Q(learned_models__study=study)).distinct().order_by("-pk")
    learned_one = learned.learned_questions(study)
    return [one for one in scorers if Predictor(one, protocol, learned_one.get(one.pk, "")).questions]


def sweep() -> int:
    """Bring up to date what is said of the open tasks of each study that shows it, and take away what another shows no
    more. Returns how many tasks changed. For beat; a second sweep at once does nothing."""
    studies = Study.objects.filter(rules__has_key="hints").exclude(state=Study.State.CLOSED)
    if not studies.exists():
        return 0
    changed = 0
    with session_lock(LockKey.HINT_SWEEP) as alone:
        for study in studies.order_by("pk") if alone else ():
            changed += refresh(study)
    return changed


def refresh(study: Study) -> int:
    """The same for one study. Returns how many of its tasks changed."""
    rule = settings(study.rules)
    if rule is None:
        return hints.clear_hints(study)
    scorer = predictions.study_scorer(study, rule.scorer)
    if scorer is None or study.protocol_version_id is None:
        return hints.clear_hints(study)
    predictor, changed, after = _predictor(study, scorer), 0, 0
    while tasks := _tasks_without_hint(study, scorer, after=after):
        changed += hints.store_hints(study, _hints_for(predictor, tasks))
        after = max(tasks)
    with connection.cursor() as cursor:
        cursor.execute(_HINTS_OF_SOURCES, {"study": study.pk, "name": str(scorer)})
        of_sources = {pk: json.loads(hint) for pk, hint in cursor.fetchall()}
    changed += hints.store_hints(study, of_sources)
    # What another scorer said where this one is silent, or has not come to yet.
    return changed + hints.clear_hints(study, unless_by=str(scorer))


def _predictor(study: Study, scorer: Scorer) -> Predictor:
    only = learned.learned_questions(study).get(scorer.pk, "")
    return Predictor(scorer, load_protocol(study.protocol_version_id).spec, only)


def _tasks_without_hint(study: Study, scorer: Scorer, *, after: int) -> dict[int, list[int]]:
    """The candidates of a chunk of tasks, in the order of their slots."""
    params: dict[str, Any] = {
        "study": study.pk,
        "scorer": scorer.pk,
        "name": str(scorer),
        "after": after,
        "most": _CHUNK,
    }
    with connection.cursor() as cursor:
        cursor.execute(_TASKS_WITHOUT_HINT, params)
        return dict(cursor.fetchall())


def _hints_for(predictor: Predictor, tasks: dict[int, list[int]]) -> dict[int, dict[str, Any]]:
    values = _score_values(predictor.scorer, {one for slots in tasks.values() for one in slots})
    predictions = {pk: predictor.predict(slots, values) for pk, slots in tasks.items()}
    return {
        pk: {"scorer": str(predictor.scorer), "answers": answers}
        for pk, answers in predictions.items()
        if answers
    }


def _score_values(scorer: Scorer, candidates: set[int]) -> ScoreValues:
    by_pair: defaultdict[tuple[int, int], dict[str, float]] = defaultdict(dict)
    scores = Score.objects.filter(scorer=scorer, candidate__in=candidates)
    for candidate, other, output, value in scores.values_list("candidate_id", "other_id", "output", "value"):
        if value is not None:
            by_pair[candidate, other or 0][output] = value
    return by_pair


def _check_scorer(study: Study, name: str) -> None:
    scorer = predictions.study_scorer(study, name)
    if scorer is None:
        message = f"{name!r} has scored nothing in this study: run it first, or choose another."
    elif not _predictor(study, scorer).questions:
        message = f"{name!r} gives no rating and no preference that this study asks for: choose another."
    else:
        return
    raise InvalidInput("These settings cannot be used.", problems=[FieldProblem("scorer", message)])
