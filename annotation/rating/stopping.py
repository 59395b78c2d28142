"""Sequential stopping (adaptive overlap): undecided pairs get one more vote at a time, decided ones none.

A sweep looks at the tasks of which something new was said. One that has all its judgments and is undecided gets one
more place; where a place stands open that is not needed any more (a vote was changed or excluded, the rule was
changed), it goes. A task of which an expert asks the pool for votes is left alone until these are in. Tasks are decided
under their own lock, so that no vote comes or goes meanwhile.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from annotation.advisory_locks import LockKey, session_lock
from annotation.jobs import sweeps
from annotation.jobs.sweeps import SweepSource
from annotation.models import Question, Return, StoppingSweep, Study, Task, User
from annotation.protocols.changes import is_same_scale
from annotation.rating import counted, overlap
from annotation.rating.rules import stopping as rules
from annotation.rating.rules.answers import FIRST, SECOND
from annotation.rating.rules.stopping import Stopping, Votes
from annotation.studies import audit
from annotation.studies.protocols import load_protocol
from annotation.studies.stored_settings import lock_study, save_settings

_CHUNK = 500

# What experts decide about a case may change how many judgments its tasks take.
_SOURCES = {
    "judgments": SweepSource(
        highest="SELECT max(id) FROM annotation_judgment WHERE study_id = %(study)s",
        changed="SELECT task_id FROM annotation_judgment WHERE study_id = %(study)s AND id > %(low)s",
    ),
    "exclusions": SweepSource(
        highest="SELECT max(id) FROM annotation_exclusion",
        changed="SELECT j.task_id FROM annotation_exclusion e"
        " JOIN annotation_judgment j ON j.id = e.judgment_id AND j.study_id = %(study)s WHERE e.id > %(low)s",
    ),
    "case_events": SweepSource(
        highest="SELECT max(id) FROM annotation_caseevent",
        changed="SELECT t.id FROM annotation_caseevent e"
        " JOIN annotation_reviewcase c ON c.id = e.case_id AND c.study_id = %(study)s"
        " JOIN annotation_task t ON t.item_version_id = c.item_version_id WHERE e.id > %(low)s",
    ),
}

# The votes of each task; analysis counts them too. Experts' own judgments and what was excluded are not among them.
VOTE_COUNTS = f"""
SELECT a.task_id, count(*) FILTER (WHERE a.choice = {FIRST:d}) AS first,
       count(*) FILTER (WHERE a.choice = {SECOND:d}) AS second,
       count(*) FILTER (WHERE a.choice NOT IN ({FIRST:d}, {SECOND:d})) AS neither
FROM annotation_answer a JOIN annotation_judgment j ON j.id = a.judgment_id
WHERE a.question_id = ANY(%(questions)s) AND a.counted AND {counted.NOT_EXPERT}
"""

_ADD = """
UPDATE annotation_task t SET overlap_added = t.overlap_added + m.votes
FROM unnest(%s::bigint[], %s::int[]) AS m (id, votes) WHERE t.id = m.id
"""

_REMEMBER = f"""
UPDATE annotation_study SET rules = rules || jsonb_build_object('{rules.LAST_RULE_KEY}', %(rule)s::jsonb)
WHERE id = %(study)s AND rules -> '{rules.LAST_RULE_KEY}' IS DISTINCT FROM %(rule)s::jsonb
"""


@dataclass(frozen=True)
class OverlapChange:
    """How many more votes tasks were given places for, and how many open places were taken away."""

    more: int = 0
    fewer: int = 0

    def __add__(self, other: OverlapChange) -> OverlapChange:
        return OverlapChange(self.more + other.more, self.fewer + other.fewer)


def stopping_rule_of(study: Study) -> Stopping | None:
    """The study's rule; None where it has none, or its protocol does not ask the question any more."""
    rule = rules.settings(study.rules)
    if rule is None or study.protocol_version_id is None:
        return None
    questions = rules.eligible_questions(load_protocol(study.protocol_version_id).spec)
    return rule if rule.question in questions else None


def question_ids(study: Study, key: str) -> list[int]:
    """The rows of a question in the versions of the study's protocol that ask it on the scale of the one in force."""
    now = load_protocol(study.protocol_version_id).spec.question(key)
    rows = Question.objects.filter(protocol_version__study=study, key=key)
    specs = ((row.pk, load_protocol(row.protocol_version_id).spec.question(key)) for row in rows)
    return [pk for pk, spec in specs if now and spec and is_same_scale(spec, now)]


def sweep() -> OverlapChange:
    """Look at what changed in every running study with a rule, and once, whatever its state, at one whose rule was
    switched off. For beat; a second sweep at once does nothing."""
    changed = OverlapChange()
    just_off = Q(rules__stopping__question="") & ~Exists(StoppingSweep.objects.filter(study=OuterRef("pk")))
    with session_lock(LockKey.STOPPING_SWEEP) as alone:
        ruled = Study.objects.filter(rules__has_key="stopping").order_by("pk")
        studies = ruled.filter(Q(state=Study.State.RUNNING) | just_off)
        for study_id in studies.values_list("pk", flat=True) if alone else ():
            changed += _sweep(study_id)
    return changed


def apply_stopping_rule(study: Study) -> OverlapChange:
    """Look at all tasks of a study now, whatever its state."""
    StoppingSweep.objects.get_or_create(study=study)
    return _update_in_chunks(study, Task.objects.filter(study=study))


def reset_sweep(study: Study) -> None:
    """Have the next sweep look at all of a study: its rule has changed. In the transaction that changes it."""
    StoppingSweep.objects.filter(study=study).delete()


def _sweep(study_id: int) -> OverlapChange:
    # In this order: a rule that changes after the mark was read takes the mark away, so that all is looked at again.
    mark, _ = StoppingSweep.objects.get_or_create(study_id=study_id)
    study = Study.objects.get(pk=study_id)
    heads = sweeps.visible_heads(study, {name: source.highest for name, source in _SOURCES.items()})
    tasks = Task.objects.filter(study=study)
    if mark.seen:
        tasks = tasks.filter(pk__in=sweeps.changed_ids(study, _SOURCES, mark.seen))
    changed = _update_in_chunks(study, tasks)
    sweeps.store_mark(mark, heads)
    return changed


def _update_in_chunks(study: Study, tasks: QuerySet[Task]) -> OverlapChange:
    """Tasks that have all their judgments may need a place more, and those with one that was added a place less."""
    may_change = Q(n_judgments__gte=F("overlap")) | Q(overlap_added__gt=0)
    regular = tasks.filter(may_change, kind=Task.Kind.REGULAR).exclude(state=Task.State.WITHDRAWN)
    ids = list(regular.order_by("pk").values_list("pk", flat=True))
    changed = OverlapChange()
    for start in range(0, len(ids), _CHUNK):
        changed += update_places(study, ids[start : start + _CHUNK])
    StoppingSweep.objects.filter(study=study).update(n_asked=F("n_asked") + changed.more + changed.fewer)
    return changed


@transaction.atomic
def update_places(study: Study, task_ids: Sequence[int]) -> OverlapChange:
    """Give each of these tasks the place it needs, or take away those that it does not. Locks tasks, raters, study."""
    rule = stopping_rule_of(study)
    places = overlap.lock_tasks(task_ids)
    for pk in _awaited_by_experts(places):
        del places[pk]
    votes = _votes(study, rule, places) if rule else {}
    added = dict(Task.objects.filter(pk__in=places).values_list("pk", "overlap_added"))
    moves = {
        pk: move
        for pk, place in places.items()
        if (
            move := rules.places_to_add(
                rule, votes.get(pk, Votes()), place, added=added[pk], overlap=study.overlap
            )
        )
    }
    overlap.change_overlap(study, moves)
    with connection.cursor() as cursor:
        cursor.execute(_ADD, [list(moves), list(moves.values())])
        if rule and any(move > 0 for move in moves.values()):
            cursor.execute(_REMEMBER, {"study": study.pk, "rule": json.dumps(asdict(rule))})
    listed = list(moves.values())
    changed = OverlapChange(sum(n for n in listed if n > 0), -sum(n for n in listed if n < 0))
    if moves:
        audit.record("stopping.applied", actor=None, study=study, tasks=len(moves), **asdict(changed))
    return changed


def _awaited_by_experts(task_ids: Collection[int]) -> set[int]:
    """Those of which an expert waits for votes of the pool: what the rule gives or takes would be taken for these."""
    waits = Return.objects.filter(task__in=task_ids, assignment__isnull=True, state=Return.State.WAITING)
    return set(waits.values_list("task_id", flat=True))


def _votes(study: Study, rule: Stopping, task_ids: Iterable[int]) -> dict[int, Votes]:
    params = {"questions": question_ids(study, rule.question), "tasks": list(task_ids)}
    with connection.cursor() as cursor:
        cursor.execute(f"{VOTE_COUNTS} AND a.task_id = ANY(%(tasks)s) GROUP BY a.task_id", params)
        return {pk: Votes(*counts) for pk, *counts in cursor.fetchall()}


@transaction.atomic
def set_stopping_rule(study: Study, *, actor: User | None, **settings: Any) -> Study:
    """Change some of the settings; the others stay as they are. An empty `question` switches the rule off.

    The next sweep looks at all of the study's tasks, so that the rule holds for the votes there are, too. Raises
    InvalidInput with every problem, and changes nothing then.
    """
    study = lock_study(study)
    before = study.rules.get("stopping", {})
    after = {**rules.as_json(study.rules), **settings}
    questions = rules.eligible_questions(load_protocol(study.protocol_version_id).spec)
    problems = rules.validate_stopping(after, overlap=study.overlap, questions=questions)
    never_on = not (before or after["question"])
    if save_settings(
        study, "stopping", actor=actor, before=before, after={} if never_on else after, problems=problems
    ):
        reset_sweep(study)
    return study
