"""Keeping the priorities of tasks up to date with the study's scorer and the votes so far."""

from __future__ import annotations

from django.db import connection
from django.db.models import Q

from annotation.models import Study
from annotation.rules import ordering as rules
from annotation.services import ordering, sweep_marks
from scoring.models import Scorer
from scoring.services import learned
from scoring.services.priority_queries import changed_priorities
from scoring.services.sayings import version_of

_SWEEP_LOCK = 7_303_032

# All that priorities rest on, in short: as long as it is the same, so are they.
_STATE = """
SELECT concat_ws(':', md5((s.rules -> 'ordering')::text), %(scorer)s::bigint,
    (SELECT max(id) FROM annotation_task WHERE study_id = s.id),
    (SELECT max(id) FROM annotation_judgment WHERE study_id = s.id),
    s.n_unnamed_judgments + (SELECT coalesce(sum(n_judgments), 0) FROM annotation_rater WHERE study_id = s.id),
    (SELECT max(finished_at) FROM scoring_scoringrun WHERE study_id = s.id AND scorer_id = %(scorer)s::bigint))
FROM annotation_study s WHERE s.id = %(study)s
"""

_REMEMBER = f"""
UPDATE annotation_study SET rules = rules || jsonb_build_object('{rules.MADE_FROM}', %(state)s::text)
WHERE id = %(study)s
"""


def sweep() -> int:
    """Reckon anew where something has changed, in every study that orders its tasks by a policy and may be rated.
    Returns how many tasks have another priority. For beat; a second sweep at once does nothing."""
    ruled = Study.objects.filter(rules__has_key="ordering").exclude(
        Q(rules__ordering={}) | Q(state=Study.State.CLOSED)
    )
    if not ruled.exists():
        return 0
    changed = 0
    with sweep_marks.alone(_SWEEP_LOCK) as alone:
        for study in ruled.order_by("pk") if alone else ():
            state = _state(study, _scorer(study))
            if state != study.rules.get(rules.MADE_FROM):
                changed += refresh(study)
                # What comes in meanwhile is not in this state, so the next sweep looks again.
                with connection.cursor() as cursor:
                    cursor.execute(_REMEMBER, {"study": study.pk, "state": state})
    return changed


def refresh(study: Study) -> int:
    """Reckon the priorities of a study's open tasks now. Returns how many have changed."""
    policy = rules.settings(study.rules)
    if policy is None or study.protocol_version_id is None:
        return 0
    scorer = _scorer(study)
    with connection.cursor() as cursor:
        cursor.execute(*changed_priorities(study, policy, scorer))
        changed = dict(cursor.fetchall())
    return ordering.set_priorities(
        study, changed, made_from=f"{scorer.key}@{scorer.digest}" if scorer else ""
    )


def _scorer(study: Study) -> Scorer | None:
    """The model that was made the study's scorer, or the one that its policy names; None where there is none."""
    policy = rules.settings(study.rules)
    if policy is not None and policy.scorer:
        return version_of(study, policy.scorer)
    return learned.promoted_scorer(study)


def _state(study: Study, scorer: Scorer | None) -> str:
    with connection.cursor() as cursor:
        cursor.execute(_STATE, {"study": study.pk, "scorer": scorer.pk if scorer else None})
        return str(cursor.fetchone()[0])
