"""Releases of a study: made in the background, kept in the storage, never altered."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Max

from analytics.models import Release
from analytics.releases.wishes import Wishes
from analytics.services import exports
from analytics.services.archive import pack, store, unpack
from analytics.services.heartbeat import Heartbeat
from annotation import audit
from annotation.errors import Conflict
from annotation.models import Job, Judgment, RaterWithdrawal, Study, User
from annotation.services import jobs
from annotation.services.jobs import Running

KIND = "release"


@transaction.atomic
def start(study: Study, wishes: Wishes, *, actor: User | None) -> Job:
    """Queue a release. One at a time is made of a study: Conflict `release_under_way` while another is."""
    wishes.check()
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if Job.objects.filter(study=study, kind=KIND, state__in=Job.UNFINISHED).exists():
        raise Conflict(
            "A release of this study is being made; wait for it, or cancel it.", code="release_under_way"
        )
    return jobs.enqueue(KIND, study=study, params=asdict(wishes), actor=actor)


def run(running: Running) -> dict[str, Any]:
    """The job's work; the release exists once it is all done. Started over, it cuts anew."""
    from analytics.releases import cut, folder, horizon  # pyarrow is no business of processes that only ask

    job = running.job
    assert job.study is not None
    wishes = replace(Wishes(**job.params), language=tuple(job.params["language"]))
    running.progress(0, stage="waiting")
    drawn, study = horizon.draw(job.study, on_wait=lambda: running.progress(0))
    made = cut.of(study, drawn, number=_next_number(study), wishes=wishes)
    with tempfile.TemporaryDirectory() as scratch:
        out, archive = Path(scratch) / f"{study.slug}-{made.number}", Path(scratch) / "archive"
        with Heartbeat(running, total=exports.expected_rows(study)) as progress:
            counted = _Counter(progress)
            manifest = folder.write(made, study, out=out, on_rows=counted)
            pack(out, archive)
            differences = _differences(study, out, Path(scratch))
        return _keep(running, study, manifest, archive, differences)


class _Counter:
    """Adds up the rows written, for a heartbeat that wants their sum."""

    def __init__(self, progress: Heartbeat) -> None:
        self._progress, self._n = progress, 0

    def __call__(self, n: int) -> None:
        self._n += n
        self._progress(self._n)


def is_superseded(release: Release) -> bool:
    """Whether a rater who is in it has asked since to be taken out."""
    return withdrawn_since(release) > 0


def withdrawn_since(release: Release) -> int:
    """How many raters have asked to be taken out since it was cut."""
    honoured = release.manifest["cut"]["horizon"]["rater_withdrawals"]
    return RaterWithdrawal.objects.filter(rater__study=release.study_id, pk__gt=honoured).count()


def kept(release: Release) -> str:
    """The archive, as storage names it. Raises Conflict `no_file` once it was deleted."""
    if not release.file or not default_storage.exists(release.file):
        raise Conflict(
            "The file of this release was deleted; `manage.py release rebuild` makes it again from the manifest.",
            code="no_file",
        )
    return release.file


def file_name(release: Release) -> str:
    return f"{release.study.slug}-{release.number}.zip"


@transaction.atomic
def delete_file(release: Release, *, actor: User) -> None:
    """Delete the archive. The record stays: what was released, and its hash. Deleting twice is deleting once."""
    locked = Release.objects.select_for_update().get(pk=release.pk)
    if not locked.file:
        return
    name, locked.file = locked.file, ""
    locked.save(update_fields=["file"])
    audit.record(
        "release.file_deleted", actor=actor, study=locked.study, subject=f"release {locked.number}",
        sha256=locked.sha256,
    )  # fmt: skip
    transaction.on_commit(lambda: default_storage.delete(name))


def preview(study: Study) -> Mapping[str, Any]:
    """What a release made now would tell and leave out, by the numbers of the study."""
    said = Judgment.objects.filter(study=study).exclude(rater__withdrawal__mode=RaterWithdrawal.Mode.REMOVED)
    withdrawn = RaterWithdrawal.objects.filter(rater__study=study)
    return {
        "judgments": said.count(),
        "excluded": said.filter(excluded=True).count(),
        "surplus": said.filter(surplus=True).count(),
        "removed": withdrawn.filter(mode=RaterWithdrawal.Mode.REMOVED).count(),
        "anonymised": withdrawn.filter(mode=RaterWithdrawal.Mode.ANONYMISED).count(),
    }


def _next_number(study: Study) -> int:
    return 1 + (study.releases.aggregate(last=Max("number"))["last"] or 0)


def _differences(study: Study, out: Path, scratch: Path) -> dict[str, Any]:
    """What is other than in the release before; empty for the first. `unknown` where the one before has no file."""
    from analytics.releases import differences

    before = study.releases.order_by("-number").first()
    if before is None:
        return {}
    if not before.file or not default_storage.exists(before.file):
        return {"since": before.number, "unknown": "no_file"}
    with default_storage.open(before.file) as archive:
        unpack(archive, scratch / "before", wanted=differences.reads)
    told = differences.summary(next((scratch / "before").iterdir()), out)
    return {"since": before.number, **told}


def _keep(
    running: Running,
    study: Study,
    manifest: dict[str, Any],
    archive: Path,
    differences: dict[str, Any],
) -> dict[str, Any]:
    job, name = running.job, f"releases/{running.job.pk}.zip"
    stored = store(archive, name)
    try:
        with transaction.atomic():
            release = Release.objects.create(
                study=study,
                number=manifest["cut"]["number"],
                manifest=manifest,
                sha256=manifest["sha256"],
                differences=differences,
                file=name,
                file_bytes=stored["bytes"],
                file_sha256=stored["sha256"],
                created_by=job.created_by,
            )
            audit.record(
                "release.made", actor=job.created_by, study=study, subject=f"release {release.number}",
                sha256=release.sha256,
            )  # fmt: skip
            running.confirm()
    except BaseException:
        default_storage.delete(name)
        raise
    counts = {name: config["rows"] for name, config in manifest["configs"].items()}
    return {"release": release.number, "sha256": release.sha256, "rows": counts}
