"""Protocol versions: made from presets or definitions, immutable, cached in each process."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from django.db import transaction
from django.db.models import Q

from annotation.errors import Conflict, FieldProblem, InvalidInput, NotFound
from annotation.models import (
    Assignment,
    GoldKey,
    Judgment,
    ProtocolDraft,
    ProtocolVersion,
    Question,
    Study,
    Task,
    User,
)
from annotation.protocols import Protocol, ProtocolError, changes, definition_of_preset, parse
from annotation.protocols.changes import Change
from annotation.studies import audit
from annotation.studies.stored_settings import lock_study

# Versions count from 1.
DRAFT_NUMBER = 0


@dataclass(frozen=True)
class LoadedProtocol:
    """A protocol version ready for use: what it asks, and the row each question's answers point to."""

    version_id: int
    number: int
    spec: Protocol
    question_ids: Mapping[str, int]


def load_protocol(version_id: int | None) -> LoadedProtocol:
    """Read and parse a version once per process: versions are immutable, so this can never be stale. A draft is read
    each time: see `draft_version_id`."""
    if version_id is None:
        raise InvalidInput("This study has no protocol yet.", code="no_protocol")
    return _load_protocol(version_id) if version_id > 0 else _load_draft(-version_id)


def draft_version_id(study: Study) -> int:
    """What stands for the study's draft where a protocol version is named by its id, so that whatever shows a version
    to raters can show a draft to who writes it. Nothing is ever stored under it."""
    return -study.pk


def _load_draft(study_id: int) -> LoadedProtocol:
    draft = ProtocolDraft.objects.filter(study_id=study_id).first()
    if draft is None:
        return load_protocol(Study.objects.values_list("protocol_version_id", flat=True).get(pk=study_id))
    return LoadedProtocol(-study_id, DRAFT_NUMBER, parse_definition(draft.definition), {})


@lru_cache(maxsize=256)
def _load_protocol(version_id: int) -> LoadedProtocol:
    version = ProtocolVersion.objects.get(pk=version_id)
    ids = dict(Question.objects.filter(protocol_version=version).values_list("key", "id"))
    return LoadedProtocol(version.pk, version.number, parse(version.definition), ids)


def version_of(study: Study, number: str = "") -> LoadedProtocol:
    """A version by its number; the one in force without. Raises NotFound."""
    if not number:
        return load_protocol(study.protocol_version_id)
    versions = (
        study.protocol_versions.filter(number=number) if number.isdecimal() and len(number) < 6 else None
    )
    pk = versions.values_list("pk", flat=True).first() if versions is not None else None
    if pk is None:
        raise NotFound
    return load_protocol(pk)


@transaction.atomic
def add_protocol_version(
    study: Study, *, preset: str = "", definition: Mapping[str, Any] | None = None, actor: User | None
) -> ProtocolVersion:
    """Give a study its next protocol version, from a preset's name or a whole definition."""
    try:
        content = dict(definition) if definition is not None else definition_of_preset(preset)
    except ProtocolError as error:
        raise unusable(error) from error
    protocol = parse_definition(content)
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    version = ProtocolVersion.objects.create(
        study=study,
        number=study.protocol_versions.count() + 1,
        preset=preset or protocol.key,
        definition=content,
        definition_sha256=hashlib.sha256(text.encode()).hexdigest(),
        created_by=actor,
    )
    Question.objects.bulk_create(
        Question(
            protocol_version=version,
            key=question.key,
            position=position,
            kind=question.kind,
            level=question.level,
            title=str(question.title)[:200],
            points=list(question.values),
            options=list(question.option_keys),
        )
        for position, question in enumerate(protocol.questions)
    )
    study.protocol_version = version
    study.save(update_fields=["protocol_version"])
    # Where raters read the guidelines first, they read those of this version.
    study.raters.filter(cleared_until__isnull=False).update(cleared_until=None)
    audit.record(
        "protocol.version_added",
        actor=actor,
        study=study,
        subject=f"protocol {version.number}",
        preset=version.preset,
    )
    return version


def parse_definition(definition: Mapping[str, Any]) -> Protocol:
    """Raises InvalidInput with the place of the first fault."""
    try:
        return parse(definition)
    except ProtocolError as error:
        raise unusable(error) from error


def unusable(error: ProtocolError) -> InvalidInput:
    problems = [FieldProblem(error.where, error.problem)]
    return InvalidInput(f"The protocol cannot be used: {error}", problems=problems, code="bad_protocol")


def comparable_versions(study: Study) -> list[int]:
    """The versions (ids) whose answers fit the questions of the one in force: other wordings, the same scales."""
    now = load_protocol(study.protocol_version_id).spec
    return [
        pk
        for pk in study.protocol_versions.order_by("number").values_list("pk", flat=True)
        if (spec := load_protocol(pk).spec).layout == now.layout
        and all(
            changes.is_same_scale(question, present)
            for question in spec.questions
            if (present := now.question(question.key))
        )
    ]


# ── Change while a study runs ─────────────────────────────────────────────────


def protocol_changes(study: Study, new: Protocol, *, since: Protocol | None = None) -> list[Change]:
    """What another protocol would change in the study, against the one in force or `since`, with the reasons for which
    its data do not allow some of it."""
    old = since or load_protocol(study.protocol_version_id).spec
    answered = has_answers(study)
    differences = changes.compare(old, new, tasks=study.tasks.exists(), judgments=answered)
    if answered:
        differences = [_checked_return(study, change, new) for change in differences]
    expecting = _expecting_else(study, old, new)
    return [
        replace(change, reason=change.reason or changes.GOLD_STANDS)
        if change.key in expecting and change.part == "question" and _bounds_answers(change)
        else change
        for change in differences
    ]


def _bounds_answers(change: Change) -> bool:
    whole = change.field == "" and change.kind == changes.Kind.REMOVED
    return whole or change.field.partition(" ")[0] in changes.ANSWER_FIELDS


def _expecting_else(study: Study, old: Protocol, new: Protocol) -> set[str]:
    """The keys of questions of which checks expect an answer that is possible now, and would not be any more or would
    be another one."""
    checks = GoldKey.objects.filter(task__study=study).exclude(task__kind=Task.Kind.REGULAR)
    expected = checks.exclude(task__state=Task.State.WITHDRAWN).order_by()
    return {
        key
        for key, choice, value in expected.values_list("question_key", "choice", "value").distinct()
        if changes.allows_expected(old.question(key), choice=choice, value=value)
        and not changes.keeps_expected(old.question(key), new.question(key), choice=choice, value=value)
    }


def _drop_unfit_keys(study: Study, old: Protocol, new: Protocol) -> None:
    """Of tasks that are no checks any more: nobody is to be measured by them when they become some again."""
    keys = GoldKey.objects.filter(task__study=study).exclude(
        ~Q(task__kind=Task.Kind.REGULAR), ~Q(task__state=Task.State.WITHDRAWN)
    )
    unfit = [
        key.pk
        for key in keys.iterator()
        if not changes.keeps_expected(
            old.question(key.question_key),
            new.question(key.question_key),
            choice=key.choice,
            value=key.value,
        )
    ]
    GoldKey.objects.filter(pk__in=unfit).delete()


def _checked_return(study: Study, change: Change, new: Protocol) -> Change:
    """A question that comes back under its key stands beside its earlier answers."""
    question = new.question(change.key)
    if question is None or (change.part, change.field, change.kind) != ("question", "", changes.Kind.ADDED):
        return change
    versions = study.protocol_versions.filter(questions__key=change.key).values_list("pk", flat=True)
    before = (load_protocol(pk).spec.question(change.key) for pk in versions)
    if all(spec is None or changes.is_same_scale(spec, question) for spec in before):
        return change
    return replace(change, since=changes.Since.JUDGMENTS, reason=changes.SCALE_DIFFERS)


def has_answers(study: Study) -> bool:
    """Whether anybody has answered, or is about to: who holds a task answers it by the version it was handed out under,
    whatever is published meanwhile."""
    open_assignments = Assignment.objects.filter(task__study=study, state=Assignment.State.OPEN)
    return Judgment.objects.filter(study=study).exists() or open_assignments.exists()


@transaction.atomic
def publish_protocol(
    study: Study, definition: Mapping[str, Any], *, actor: User | None, base: int | None = None
) -> ProtocolVersion:
    """The study's next protocol version, in force from now on: for tasks that are handed out from now on.

    Judgments keep the version that they were made under. `base`: the number of the version that the author started
    from; Conflict where another one is in force by now. Raises InvalidInput with every change that the study's data do
    not allow, and changes nothing then.
    """
    study = lock_study(study)
    current = load_protocol(study.protocol_version_id)
    if base is not None and base != current.number:
        raise Conflict(
            f"Version {current.number} of the protocol was published meanwhile. Look at it, then publish again.",
            code="protocol_changed",
        )
    new = parse_definition(definition)
    differences = protocol_changes(study, new)
    if refused := changes.refused(differences):
        problems = [FieldProblem(change.where, change.reason, COPY_REMEDY) for change in refused]
        raise InvalidInput(
            "Some of these changes are not possible in a study that has data. Nothing was changed.",
            problems=problems,
            code="protocol_fixed",
        )
    if not differences:
        raise InvalidInput("Nothing has changed: this is the protocol in force.", code="protocol_unchanged")
    _drop_unfit_keys(study, current.spec, new)
    return add_protocol_version(study, preset=new.key, definition=definition, actor=actor)


COPY_REMEDY = "Make a copy of the study and change it there."
