"""The draft of a study's next protocol version: saved as it is written, faults and all; published once it is right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction

from annotation.errors import Conflict, NotFound
from annotation.models import ProtocolDraft, ProtocolVersion, Study, User
from annotation.protocols import ProtocolError, files
from annotation.studies import audit
from annotation.studies.protocols import load_protocol, publish_protocol, unusable
from annotation.studies.stored_settings import lock_study


def draft_of(study: Study) -> ProtocolDraft:
    """The study's draft; where it has none, an unsaved one of the version in force."""
    draft = ProtocolDraft.objects.select_related("updated_by").filter(study=study).first()
    if draft is not None:
        return draft
    version = ProtocolVersion.objects.get(pk=load_protocol(study.protocol_version_id).version_id)
    return ProtocolDraft(
        study=study, definition=version.definition, base_number=version.number, languages=[], revision=0
    )


@transaction.atomic
def save_draft(
    study: Study,
    definition: Mapping[str, Any],
    *,
    actor: User | None,
    languages: Sequence[str] | None = None,
    revision: int | None = None,
) -> ProtocolDraft:
    """Store a draft. `revision`: the one it was written over; Conflict where another was saved since. Raises
    InvalidInput for what cannot be stored at all."""
    try:
        files.check_storable(definition)
    except ProtocolError as error:
        raise unusable(error) from error
    lock_study(study)
    draft = draft_of(study)
    if revision is not None and revision != draft.revision:
        raise Conflict(
            "These questions were changed in another window meanwhile. Reload the page to go on from there.",
            code="draft_changed",
        )
    if languages is not None:
        draft.languages = list(dict.fromkeys(languages))
    draft.definition, draft.updated_by = dict(definition), actor
    draft.revision += 1
    draft.save()
    return draft


@transaction.atomic
def discard_draft(study: Study, *, actor: User | None) -> None:
    deleted, _ = ProtocolDraft.objects.filter(study=study).delete()
    if deleted:
        audit.record("protocol.draft_discarded", actor=actor, study=study)


@transaction.atomic
def publish_draft(study: Study, *, actor: User | None) -> ProtocolVersion:
    """Make the draft the study's next version. Raises what `publish_protocol` raises, and keeps the draft then."""
    lock_study(study)
    draft = ProtocolDraft.objects.filter(study=study).first()
    if draft is None:
        raise NotFound("There is no draft to publish.")
    version = publish_protocol(study, draft.definition, actor=actor, base=draft.base_number)
    draft.delete()
    return version
