"""What the study's scorer says of its open tasks, for studies that show it to raters."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from django.db import connection
from django.db.models import Q

from annotation.errors import FieldProblem, InvalidInput
from annotation.models import Study, User
from annotation.rules.hints import settings
from annotation.services import hints, sweep_marks
from annotation.services.protocols import loaded
from scoring.models import Score, Scorer, ScoringRun
from scoring.services import learned, sayings
from scoring.services.sayings import Values, Voice

_SWEEP_LOCK = 7_303_031
_CHUNK = 500

# Open tasks with a score of theirs that nothing is said of yet, or what another version said; and those where it said
# nothing of a candidate that has a score by now.
_UNTOLD = """
SELECT t.id, array_agg(k.candidate_id ORDER BY k.slot)
FROM annotation_task t JOIN annotation_taskcandidate k ON k.task_id = t.id
WHERE t.id IN (
    SELECT t.id FROM annotation_task t
    WHERE t.study_id = %(study)s AND t.wants_more AND t.id > %(after)s
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


def set_rule(study: Study, *, actor: User | None, scorer: str, withheld: float) -> Study:
    """Show raters what a scorer says, or nothing for an empty name. Raises InvalidInput where that scorer has scored
    nothing here, or says nothing of what the study asks."""
    if scorer:
        _refuse_mute(study, scorer)
    return hints.set_rule(study, actor=actor, scorer=scorer, withheld=withheld)


def voices(study: Study) -> list[Scorer]:
    """The scorer versions that have scored this study and say something of what it asks, the newest first."""
    protocol = loaded(study.protocol_version_id).spec
    run = Q(runs__in=ScoringRun.objects.filter(study=study))
    found = Scorer.objects.filter(run | Q(learned_models__study=study)).distinct().order_by("-pk")
    learned_one = learned.questions_learned(study)
    return [one for one in found if Voice(one, protocol, learned_one.get(one.pk, "")).questions]


def sweep() -> int:
    """Bring up to date what is said of the open tasks of each study that shows it, and take away what another shows no
    more. Returns how many tasks changed. For beat; a second sweep at once does nothing."""
    studies = Study.objects.filter(rules__has_key="hints").exclude(state=Study.State.CLOSED)
    if not studies.exists():
        return 0
    changed = 0
    with sweep_marks.alone(_SWEEP_LOCK) as alone:
        for study in studies.order_by("pk") if alone else ():
            changed += refresh(study)
    return changed


def refresh(study: Study) -> int:
    """The same for one study. Returns how many of its tasks changed."""
    rule = settings(study.rules)
    if rule is None:
        return hints.forget(study)
    scorer = sayings.version_of(study, rule.scorer)
    if scorer is None or study.protocol_version_id is None:
        return hints.forget(study)
    voice, changed, after = _voice(study, scorer), 0, 0
    while tasks := _untold(study, scorer, after=after):
        changed += hints.write(_said(voice, tasks))
        after = max(tasks)
    # What another scorer said where this one is silent, or has not come to yet.
    return changed + hints.forget(study, unless_by=str(scorer))


def _voice(study: Study, scorer: Scorer) -> Voice:
    only = learned.questions_learned(study).get(scorer.pk, "")
    return Voice(scorer, loaded(study.protocol_version_id).spec, only)


def _untold(study: Study, scorer: Scorer, *, after: int) -> dict[int, list[int]]:
    """The candidates of a chunk of tasks, in the order of their slots."""
    params: dict[str, Any] = {
        "study": study.pk,
        "scorer": scorer.pk,
        "name": str(scorer),
        "after": after,
        "most": _CHUNK,
    }
    with connection.cursor() as cursor:
        cursor.execute(_UNTOLD, params)
        return dict(cursor.fetchall())


def _said(voice: Voice, tasks: dict[int, list[int]]) -> dict[int, dict[str, Any]]:
    values = _values(voice.scorer, {one for slots in tasks.values() for one in slots})
    said = {pk: voice.says(slots, values) for pk, slots in tasks.items()}
    return {pk: {"scorer": str(voice.scorer), "answers": answers} for pk, answers in said.items() if answers}


def _values(scorer: Scorer, candidates: set[int]) -> Values:
    found: defaultdict[tuple[int, int], dict[str, float]] = defaultdict(dict)
    scores = Score.objects.filter(scorer=scorer, candidate__in=candidates)
    for candidate, other, output, value in scores.values_list("candidate_id", "other_id", "output", "value"):
        if value is not None:
            found[candidate, other or 0][output] = value
    return found


def _refuse_mute(study: Study, name: str) -> None:
    scorer = sayings.version_of(study, name)
    if scorer is None:
        message = f"{name!r} has scored nothing in this study: run it first, or choose another."
    elif not _voice(study, scorer).questions:
        message = f"{name!r} gives no rating and no preference that this study asks for: choose another."
    else:
        return
    raise InvalidInput("These settings cannot be used.", problems=[FieldProblem("scorer", message)])
