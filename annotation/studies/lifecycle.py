"""The end of a study: archived, or deleted after a grace period in which it can be restored.

Deletion is the one deliberate way past the append-only tables: it declares itself to the database, for its own
transaction. The study's row and its audit log stay, so that the site can show that it existed, who deleted it and when.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import timedelta

from django.apps import apps
from django.core.files.storage import default_storage
from django.db import DatabaseError, connection, models, transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone
from django.utils.module_loading import import_string

from annotation import hooks
from annotation.advisory_locks import lock_files
from annotation.errors import Conflict, InvalidInput
from annotation.models import (
    AuditEvent,
    Candidate,
    Clip,
    ItemVersion,
    Job,
    StagedSound,
    Study,
    StudyAttachment,
    User,
)
from annotation.studies import audit
from annotation.studies.stored_settings import lock_study

GRACE = timedelta(days=14)
# For one transaction: the triggers of the append-only tables let rows be deleted (migration `study_life`).
_ALLOW = "SET LOCAL concord.deletes_study = 'yes'"
JOBS_UNDER_WAY = (
    "A job of this study is under way. Wait until it has ended, or cancel it; then archive the study."
)
_CLIPS_AT_ONCE = 1000
# Of a deleted study's `rules`: the files that are still to be deleted, and the address that it had.
_LEFT = "left_to_delete"
logger = logging.getLogger(__name__)


@transaction.atomic
def archive_study(study: Study, *, actor: User | None) -> Study:
    """Close it, take it out of the lists, and let nothing in it change. It stays readable. Raises Conflict while a job
    of it is under way, which would go on changing it."""
    study = lock_study(study)
    if study.archived_at is None:
        if study.jobs.filter(state__in=Job.UNFINISHED).exists():
            raise Conflict(JOBS_UNDER_WAY, code="jobs_under_way")
        before = study.state
        study.archived_at, study.state = timezone.now(), Study.State.CLOSED
        study.save(update_fields=["archived_at", "state"])
        audit.record("study.archived", actor=actor, study=study, state=before)
    return study


@transaction.atomic
def unarchive_study(study: Study, *, actor: User | None) -> Study:
    """It is in the lists again, closed."""
    study = lock_study(study)
    if study.archived_at is not None:
        study.archived_at = None
        study.save(update_fields=["archived_at"])
        audit.record("study.unarchived", actor=actor, study=study)
    return study


@transaction.atomic
def request_deletion(study: Study, *, typed_title: str, actor: User | None) -> Study:
    """Have all of the study deleted after the grace period. Raises InvalidInput unless its title was typed."""
    study = lock_study(study)
    if " ".join(typed_title.split()) != " ".join(study.title.split()):
        raise InvalidInput.of_field(
            "typed_title", "This is not the title of the study. Type it as it stands above."
        )
    if study.deletion_due_at is None:
        study.deletion_due_at, study.state = timezone.now() + GRACE, Study.State.CLOSED
        study.save(update_fields=["deletion_due_at", "state"])
        audit.record(
            "study.deletion_requested", actor=actor, study=study, due=study.deletion_due_at.isoformat()
        )
    return study


@transaction.atomic
def cancel_deletion(study: Study, *, actor: User | None) -> Study:
    """Restore a study whose deletion is due: it is as it was, closed."""
    study = lock_study(study)
    if study.deletion_due_at is not None:
        study.deletion_due_at = None
        study.save(update_fields=["deletion_due_at"])
        audit.record("study.restored", actor=actor, study=study)
    return study


# ── Deletion ──────────────────────────────────────────────────────────────────


def delete_due_studies() -> int:
    """Delete the studies whose grace period is over, and the files of those whose worker died before it had done so.
    For beat; a second sweep at once does nothing twice, and a study that cannot be deleted keeps no other one."""
    due = Q(deletion_due_at__lte=timezone.now(), deleted_at=None)
    ids = list(Study.objects.filter(due).order_by("pk").values_list("pk", flat=True))
    for pk in ids:
        try:
            delete_study(pk)
        except DatabaseError:
            logger.exception("Study %s could not be deleted; the next sweep tries again.", pk)
    for pk in (
        Study.objects.filter(rules__has_key=_LEFT).exclude(deleted_at=None).values_list("pk", flat=True)
    ):
        _delete_remaining_files(pk)
    return len(ids)


def delete_study(study_id: int) -> None:
    """Delete all that a study holds, then its files. Until these are gone its row names them, so that a crash between
    the two leaves nothing that no sweep would find."""
    with transaction.atomic():
        study = Study.objects.select_for_update().get(pk=study_id)
        if study.deletion_due_at is None or study.deleted_at is not None:
            return  # restored meanwhile, or deleted by another worker
        if study.jobs.filter(state=Job.State.RUNNING, lease_expires_at__gt=timezone.now()).exists():
            return  # something is being written: the next sweep comes back
        names = set(_files_of(study))
        clips = _clips_of(study)
        n_judgments = study.n_unnamed_judgments + sum(study.raters.values_list("n_judgments", flat=True))
        # Before the rows: some of them are described in the audit log.
        audit.record(
            "study.deleted", actor=None, study=study, subject=study.slug, title=study.title,
            items=study.n_items, tasks=study.n_tasks, judgments=n_judgments,
        )  # fmt: skip
        with connection.cursor() as cursor:
            cursor.execute(_ALLOW)
        Study.objects.filter(pk=study.pk).update(protocol_version=None)
        for model, path in models_of_study():
            rows = model._base_manager.filter(**{path: study.pk})
            rows._raw_delete(rows.db)
        _delete_accounts_of_participants()
        for hook in hooks.WITH_DELETION:
            import_string(hook)(study)
        names |= set(_delete_unused_clips(clips))
        Study.objects.filter(pk=study.pk).update(
            slug=f"deleted-{study.pk}", title="", description="", deleted_at=timezone.now(),
            rules={_LEFT: {"slug": study.slug, "files": sorted(names)}},
            deletion_due_at=None, n_items=0, n_tasks=0, n_unnamed_judgments=0, n_unnamed_tasks_filled=0,
        )  # fmt: skip
    _delete_remaining_files(study_id)


def _delete_accounts_of_participants() -> None:
    """Accounts that a panel's participants had for their session alone go with the last of their rows. One that the
    audit log names stays, as nobody's: it has no address, no password and no study."""
    left = User.objects.filter(session_only=True, raters=None, memberships=None)
    left.exclude(Exists(AuditEvent.objects.filter(actor=OuterRef("pk")))).delete()
    left.filter(is_active=True).update(is_active=False)


def _delete_remaining_files(study_id: int) -> None:
    """The files of a deleted study, except those whose content another study has imported since."""
    study = Study.objects.get(pk=study_id)
    left = study.rules.get(_LEFT)
    if left is None:
        return
    for name in left["files"]:
        try:
            with transaction.atomic():
                # Whoever imports the same content waits here, or has it in use already.
                lock_files(name)
                if not _is_in_use(name):
                    default_storage.delete(name)
        except OSError:
            logger.exception("A file of a deleted study could not be deleted: %s", name)
    # The hooks know a study's folders by the address that it had.
    study.slug = left["slug"]
    for hook in hooks.AFTER_DELETION:
        import_string(hook)(study)
    Study.objects.filter(pk=study_id).update(rules={})


def _is_in_use(name: str) -> bool:
    clips = Clip.objects.filter(Q(original=name) | Q(canonical=name))
    return clips.exists() or StudyAttachment.objects.filter(file=name).exists()


def models_of_study() -> list[tuple[type[models.Model], str]]:
    """Every table that holds rows of studies, with the lookup that leads to the study: the furthest from it first,
    since the others lead there. The audit log is none of them.

    A lookup leads through relations that every row has, where there are such: rows without one would be left behind.
    """
    # Tables that follow others name the study by its number alone.
    lookups = {model: "study_id" for model in _own_models() if _names_study(model)}
    left: list[tuple[int, int, type[models.Model], str]] = [(0, 0, Study, "")]
    while left:
        nearest = min(left, key=lambda each: each[:2])
        left.remove(nearest)
        n_optional, n_steps, model, path = nearest
        if model in lookups:
            continue
        if model is not Study:
            lookups[model] = path
        for relation in _relations(model):
            holder = relation.model
            stays = holder in (Study, AuditEvent, Clip) or relation.remote_field.on_delete is models.SET_NULL
            if not stays and holder not in lookups:
                way = f"{relation.name}__{path}" if path else relation.name
                left.append((n_optional + relation.null, n_steps + 1, holder, way))
    return sorted(lookups.items(), key=lambda pair: -pair[1].count("__"))


def _relations(model: type[models.Model]) -> Iterator[models.ForeignKey]:  # type: ignore[type-arg]
    for other in _own_models():
        for field in other._meta.concrete_fields:
            if isinstance(field, models.ForeignKey) and field.related_model is model:
                yield field


def _own_models() -> Iterator[type[models.Model]]:
    own = ("annotation", "scoring", "analytics")
    yield from (model for model in apps.get_models(include_auto_created=True) if model._meta.app_label in own)


def _names_study(model: type[models.Model]) -> bool:
    return any(field.name == "study_id" for field in model._meta.concrete_fields)


def _files_of(study: Study) -> Iterator[str]:
    for name in hooks.FILES_OF_STUDY:
        yield from import_string(name)(study)
    for stored in study.attachments.values_list("file", flat=True):
        if not StudyAttachment.objects.filter(file=stored).exclude(study=study).exists():
            yield stored


def _clips_of(study: Study) -> set[int]:
    versions = ItemVersion.objects.filter(item__study=study)
    clip_ids = {
        pk
        for rows in (
            versions.values_list("clip", flat=True),
            versions.values_list("reference_clip", flat=True),
            Candidate.objects.filter(item_version__item__study=study).values_list("clip", flat=True),
        )
        for pk in rows.order_by().distinct()
        if pk is not None
    }
    return clip_ids


def _delete_unused_clips(ids: set[int]) -> Iterator[str]:
    """Clips are addressed by their content and shared: those that another study plays stay, and those that an import is
    about to use, which is then to discard them if it comes to nothing. Yields the files of those that go."""
    ordered = sorted(ids)
    for start in range(0, len(ordered), _CLIPS_AT_ONCE):
        some = ordered[start : start + _CLIPS_AT_ONCE]
        # Who stages or refers to one of them has done so before this, or finds it gone after it.
        list(Clip.objects.filter(pk__in=some).order_by("pk").select_for_update().values_list("pk"))
        staged = StagedSound.objects.filter(clip_id__in=some)
        used = {
            pk
            for rows in (
                ItemVersion.objects.filter(clip__in=some).values_list("clip", flat=True),
                ItemVersion.objects.filter(reference_clip__in=some).values_list("reference_clip", flat=True),
                Candidate.objects.filter(clip__in=some).values_list("clip", flat=True),
                staged.values_list("clip_id", flat=True),
            )
            for pk in rows
            if pk is not None
        }
        staged.update(created=True)
        unused = Clip.objects.filter(pk__in=set(some) - used)
        for original, canonical in unused.values_list("original", "canonical"):
            yield from (original, canonical)
        unused._raw_delete(unused.db)
