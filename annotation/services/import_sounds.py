"""The sounds that an import needs, page by page: each is taken in once, and known again by who comes after."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol as Signature

from annotation.importers.records import Audio, TaskRecord
from annotation.importers.staged_json import sound_name
from annotation.models import Clip, StagedImport, StagedSound
from annotation.services import clips
from annotation.services.import_batches import in_batches


class Taker(Signature):
    def __call__(
        self, wanted: Iterable[Audio], *, into: clips.Taken, on_progress: clips.OnProgress
    ) -> None: ...


@dataclass(frozen=True)
class Sounds:
    """How a stage comes by sounds: `take` is `clips.take_in`, or `clips.look_at` where nothing is to be kept."""

    staged: StagedImport
    take: Taker
    on_progress: clips.OnProgress

    def of(self, records: Sequence[TaskRecord]) -> clips.Taken:
        """The sounds of these records; those that cannot be used are among its errors."""
        taken = known(self.staged, records)
        wanted = dict.fromkeys(sound for record in records for _, sound in record.audio())
        fresh = [sound for sound in wanted if sound not in taken.hashes]
        if fresh:
            taken.silent = []  # told on an earlier page
            try:
                self.take(fresh, into=taken, on_progress=self.on_progress)
            finally:
                self.keep(taken)
        return taken

    def keep(self, taken: clips.Taken) -> None:
        """Remember what became clips, whatever else went wrong: they are removed if the import comes to nothing."""
        created = {clip.pk for clip in taken.created}
        StagedSound.objects.bulk_create(
            (
                StagedSound(
                    job=self.staged.job,
                    sound=sound_name(sound),
                    sha256=clip.sha256,
                    clip_id=clip.pk,
                    created=clip.pk in created,
                )
                for sound, clip in taken.clips.items()
            ),
            ignore_conflicts=True,
        )


def known(staged: StagedImport, records: Sequence[TaskRecord]) -> clips.Taken:
    """Those sounds of these records that became clips before."""
    wanted = {sound_name(sound): sound for record in records for _, sound in record.audio()}
    rows = (
        list(in_batches(StagedSound.objects.filter(job=staged.job), "sound", list(wanted))) if wanted else []
    )
    there = {clip.pk: clip for clip in in_batches(Clip.objects.all(), "pk", [row.clip_id for row in rows])}
    taken = clips.Taken()
    for row in rows:
        if row.clip_id is not None and (clip := there.get(row.clip_id)):
            sound = wanted[row.sound]
            taken.clips[sound], taken.hashes[sound] = clip, clip.sha256
            taken.note([sound], clip)
    return taken
