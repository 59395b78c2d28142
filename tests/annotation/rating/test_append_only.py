"""What was said, corrected, excluded or logged cannot be changed, not even by a programmer's mistake."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, connection, transaction

from analytics.models import Release
from annotation.models import (
    Answer,
    AuditEvent,
    Candidate,
    CaseEvent,
    Consent,
    ConsentVersion,
    Correction,
    Exclusion,
    ItemVersion,
    Judgment,
    ProtocolVersion,
    Question,
    Rater,
    RaterWithdrawal,
    ReviewCase,
)
from annotation.rating import exclusions
from tests.annotation.kept_world import world_of
from tests.annotation.world import World

pytestmark = pytest.mark.django_db

# A column that must not change, for each table that is append-only.
FROZEN = {
    Judgment: "comment",
    Answer: "text",
    Exclusion: "reason",
    ItemVersion: "prompt",
    Candidate: "text",
    ProtocolVersion: "preset",
    Question: "title",
    Correction: "after",
    AuditEvent: "action",
    CaseEvent: "kind",
    RaterWithdrawal: "note",
    Release: "sha256",
    ConsentVersion: "reconsent",
    Consent: "language",
}
MARKS = [(Judgment, "effective"), (Judgment, "excluded"), (Answer, "counted"), (ItemVersion, "retracted")]
EACH = pytest.mark.parametrize("model", FROZEN, ids=[model.__name__ for model in FROZEN])


@pytest.fixture
def world() -> World:
    world = world_of("here")
    exclusions.exclude_or_restore(
        Judgment.objects.all(), study=world.study, action="exclude", reason="x", actor=world.admin
    )
    version = ItemVersion.objects.first()
    case = ReviewCase.objects.create(study=world.study, item=version.item, item_version=version)
    CaseEvent.objects.create(case=case, kind=CaseEvent.Kind.OPENED)
    RaterWithdrawal.objects.create(rater=Rater.objects.first(), mode=RaterWithdrawal.Mode.REMOVED)
    Correction.objects.create(
        study=world.study, version_before=version, version_after=version, field="prompt", reason="x",
        author=world.admin,
    )  # fmt: skip
    consent = ConsentVersion.objects.create(study=world.study, number=1, texts={"en": "x"})
    Consent.objects.create(rater=Rater.objects.first(), version=consent, accepted=True, language="en")
    Release.objects.create(study=world.study, number=1, manifest={}, sha256="0" * 64)
    return world


@EACH
def test_a_row_cannot_be_changed(world, model):
    assert model.objects.exists()
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        model.objects.update(**{FROZEN[model]: "changed"})


@EACH
def test_a_row_cannot_be_deleted(world, model):
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        model.objects.all()._raw_delete("default")


@EACH
def test_a_row_cannot_be_deleted_by_sql_either(world, model):
    with (
        pytest.raises(IntegrityError, match="append-only"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(f"DELETE FROM {model._meta.db_table}")


@pytest.mark.parametrize(("model", "mark"), MARKS)
def test_the_bookkeeping_marks_may_move_alone(world, model, mark):
    assert model.objects.update(**{mark: False}) > 0
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        model.objects.update(**{mark: True, FROZEN[model]: "changed"})


def test_every_append_only_table_has_its_trigger():
    with connection.cursor() as cursor:
        cursor.execute("SELECT tgrelid::regclass::text FROM pg_trigger WHERE tgname = 'append_only'")
        guarded = {row[0] for row in cursor.fetchall()}
    assert guarded == {model._meta.db_table for model in FROZEN}
