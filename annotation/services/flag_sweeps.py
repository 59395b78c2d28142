"""The flag rules at work: looking at what is new in every study that has begun (`sweep_marks` says how)."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass

from django.db import connection

from annotation import audit
from annotation.models import FlagSweep, Study
from annotation.rules import flag_rules
from annotation.rules.flag_rules import FlagRules
from annotation.services import sweep_marks
from annotation.services.flagging import Applied, all_versions, look_at
from annotation.services.sweep_marks import InSight

_SWEEP_LOCK = 7_303_016


@dataclass(frozen=True)
class Source:
    """Rows that rules rest on: `highest` selects the highest id in sight, `changed` the versions that rows after
    %(low)s speak of, both of %(study)s. One that only `rule` rests on is asked only where that rule is in force."""

    highest: str
    changed: str
    rule: str = ""


# Other apps add what their rules rest on.
SOURCES = {
    "judgments": Source(
        highest="SELECT max(id) FROM annotation_judgment WHERE study_id = %(study)s",
        changed="SELECT t.item_version_id FROM annotation_judgment j JOIN annotation_task t ON t.id = j.task_id"
        " WHERE j.study_id = %(study)s AND j.id > %(low)s",
    ),
    "exclusions": Source(
        highest="SELECT max(id) FROM annotation_exclusion",
        changed="SELECT t.item_version_id FROM annotation_exclusion e"
        " JOIN annotation_judgment j ON j.id = e.judgment_id AND j.study_id = %(study)s"
        " JOIN annotation_task t ON t.id = j.task_id WHERE e.id > %(low)s",
    ),
}


def sweep() -> Applied:
    """Look at what changed in every study that has begun. For beat; a second sweep at the same time does nothing."""
    n_opened, n_added = 0, 0
    with _alone() as alone:
        begun = (
            Study.objects.exclude(state=Study.State.DRAFT).order_by("pk") if alone else Study.objects.none()
        )
        for study_id in begun.values_list("pk", flat=True):
            applied = _sweep(study_id)
            n_opened, n_added = n_opened + applied.n_opened, n_added + applied.n_added
    return Applied(n_opened, n_added)


def look_again(study: Study) -> None:
    """Have the next sweep look at all of a study: its rules have changed. In the transaction that changes them."""
    FlagSweep.objects.filter(study=study).delete()


def _sweep(study_id: int) -> Applied:
    # In this order: rules that change after the mark was read take the mark away, so that they are looked at again.
    mark, _ = FlagSweep.objects.get_or_create(study_id=study_id)
    study = Study.objects.get(pk=study_id)
    sight = _in_sight(study)
    applied = _look(study, mark.seen)
    if applied != Applied():
        audit.record("flags.applied", actor=None, study=study, **asdict(applied))
    sweep_marks.move_on(mark, sight)
    return applied


def _look(study: Study, seen: dict[str, int]) -> Applied:
    rules = FlagRules.of(study.rules)
    versions = _changed(study, seen) if seen else all_versions(study)
    applied = look_at(study, versions, actor=None) if versions else Applied()
    if not (seen and rules[flag_rules.UNANNOTATED].on):
        return applied
    # What makes an item fire that nobody has judged (a skip, a study that is paused) leaves no row behind.
    bare = look_at(study, None, actor=None, only=flag_rules.UNANNOTATED)
    return Applied(applied.n_opened + bare.n_opened, applied.n_added + bare.n_added)


def _in_sight(study: Study) -> InSight:
    return sweep_marks.in_sight(study, {name: source.highest for name, source in SOURCES.items()})


def _changed(study: Study, seen: dict[str, int]) -> list[int]:
    """Versions that something new was said of."""
    found: set[int] = set()
    in_force = {"", *(rule.key for rule in FlagRules.of(study.rules).in_force())}
    asked = {name: source for name, source in SOURCES.items() if source.rule in in_force}
    with connection.cursor() as cursor:
        for name, source in asked.items():
            cursor.execute(source.changed, {"study": study.pk, "low": seen.get(name, 0)})
            found.update(pk for (pk,) in cursor.fetchall())
    return sorted(found)


def _alone() -> AbstractContextManager[bool]:
    return sweep_marks.alone(_SWEEP_LOCK)
