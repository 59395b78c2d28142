"""Protocol versions: made from presets or definitions, immutable, cached in each process."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.db import transaction

from annotation.errors import InvalidInput
from annotation.models import ProtocolVersion, Question, Study, User
from annotation.protocols import Protocol, ProtocolError, definition_of_preset, parse
from annotation.studies import audit


@dataclass(frozen=True)
class LoadedProtocol:
    """A protocol version ready for use: what it asks, and the row each question's answers point to."""

    version_id: int
    number: int
    spec: Protocol
    question_ids: Mapping[str, int]


def load_protocol(version_id: int | None) -> LoadedProtocol:
    """Read and parse a version once per process: versions are immutable, so this can never be stale."""
    if version_id is None:
        raise InvalidInput("This study has no protocol yet.", code="no_protocol")
    return _load_protocol(version_id)


@lru_cache(maxsize=256)
def _load_protocol(version_id: int) -> LoadedProtocol:
    version = ProtocolVersion.objects.get(pk=version_id)
    ids = dict(Question.objects.filter(protocol_version=version).values_list("key", "id"))
    return LoadedProtocol(version.pk, version.number, parse(version.definition), ids)


@transaction.atomic
def add_protocol_version(
    study: Study, *, preset: str = "", definition: Mapping[str, Any] | None = None, actor: User | None
) -> ProtocolVersion:
    """Give a study its next protocol version, from a preset's name or a whole definition."""
    try:
        content = dict(definition) if definition is not None else definition_of_preset(preset)
        protocol = parse(content)
    except ProtocolError as error:
        raise InvalidInput(f"The protocol cannot be used: {error}", code="bad_protocol") from error
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
    audit.record(
        "protocol.version_added",
        actor=actor,
        study=study,
        subject=f"protocol {version.number}",
        preset=version.preset,
    )
    return version
