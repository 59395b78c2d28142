"""The sounds that an import needs, some at a time: each is taken in once, and known again by who comes after."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol as Signature

from annotation.importers.packed import Unpacker
from annotation.importers.records import Audio, TaskRecord
from annotation.importers.staged_json import sound_name
from annotation.models import Clip, StagedImport, StagedSound
from annotation.services import clips
from annotation.services.import_batches import batches, in_batches

# What was fetched or unpacked of so many lies on the disk at once, and is done again after a worker was killed.
TOGETHER = 64


class Taker(Signature):
    def __call__(
        self,
        wanted: Iterable[Audio],
        *,
        into: clips.Taken,
        on_progress: clips.OnProgress,
        unpacker: Unpacker | None,
    ) -> None: ...


@dataclass(frozen=True)
class Sounds:
    """How a stage comes by sounds: `take` is `clips.take_in`, or `clips.look_at` where nothing is to be kept."""

    staged: StagedImport
    take: Taker
    on_progress: clips.OnProgress
    unpacker: Unpacker = field(default_factory=Unpacker)

    def of(self, records: Sequence[TaskRecord]) -> clips.Taken:
        """The sounds of these records; those that cannot be used are among its errors."""
        taken = known(self.staged, records)
        wanted = dict.fromkeys(sound for record in records for _, sound in record.audio())
        fresh = [sound for sound in wanted if sound not in taken.hashes]
        for start, some in zip(range(0, len(fresh), TOGETHER), batches(fresh, TOGETHER), strict=True):
            try:
                self.take(
                    some,
                    into=taken,
                    on_progress=partial(self._at, start, len(fresh)),
                    unpacker=self.unpacker,
                )
            finally:
                self.keep(taken, some)
        return taken

    def _at(self, start: int, of: int, done: int, _of_these: int) -> None:
        self.on_progress(start + done, of)

    def keep(self, taken: clips.Taken, sounds: Iterable[Audio]) -> None:
        """Remember which of these became clips, whatever else went wrong: they are removed if the import comes to
        nothing."""
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
                for sound in sounds
                if (clip := taken.clips.get(sound))
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
