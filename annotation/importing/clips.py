"""Audio ingestion into clips. A clip is addressed by the hash of the file handed in: the same file is one clip."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from django.conf import settings
from django.core.files import File
from django.core.files.storage import default_storage
from django.db import IntegrityError, transaction

from annotation.audio.errors import AudioError, Limits
from annotation.audio.ingest import AudioFacts, ClipFacts, content_sha256, inspect, measure_and_canonicalise
from annotation.bulk_queries import rows_in_batches
from annotation.importing.formats.parquet_files import PackedAudioReader
from annotation.importing.records import Audio
from annotation.importing.remote_files import local_audio_files
from annotation.models import Clip

OnProgress = Callable[[int, int], None]


@dataclass
class IngestedAudio:
    """The outcome of an ingestion. `created` are the clips that were not there before.

    n_samples, channels, loudness: of each that is sound, at 48 kHz; the loudness in LUFS, None where it is undefined.
    """

    clips: dict[Audio, Clip] = field(default_factory=dict)
    hashes: dict[Audio, str] = field(default_factory=dict)
    errors: dict[Audio, AudioError] = field(default_factory=dict)
    silent: list[Audio] = field(default_factory=list)
    n_samples: dict[Audio, int] = field(default_factory=dict)
    channels: dict[Audio, int] = field(default_factory=dict)
    loudness: dict[Audio, float | None] = field(default_factory=dict)
    created: list[Clip] = field(default_factory=list)

    def note(self, same: list[Audio], heard: Clip | AudioFacts) -> None:
        """What was measured of sounds that are the same."""
        self.silent += same if heard.silent else []
        self.n_samples.update(dict.fromkeys(same, heard.n_samples))
        self.channels.update(dict.fromkeys(same, heard.channels))
        self.loudness.update(dict.fromkeys(same, heard.loudness_lufs))


@dataclass
class _SameContent:
    """One content: the file that holds it, and every sound that turned out to be it."""

    file: Path
    sounds: list[Audio]


def ingest_clips(
    wanted: Iterable[Audio],
    *,
    into: IngestedAudio,
    on_progress: OnProgress,
    unpacker: PackedAudioReader | None = None,
    store: bool = True,
) -> None:
    """Ingest sounds, both cores at work. One that cannot be used is an entry in `into.errors`, not an exception; what
    `on_progress` raises leaves in `into.created` what there is to discard. All that are no files yet lie on the disk at
    once: whoever wants many asks for some at a time. Without `store` they are checked in the same way, and nothing is
    written anywhere."""
    with tempfile.TemporaryDirectory(prefix="concord-ingest-") as name, _all_cores() as pool:
        folder = Path(name)
        files = local_audio_files(dict.fromkeys(wanted), folder, unpacker=unpacker, on_progress=on_progress)
        contents = _by_hash(files, folder, into)
        known = rows_in_batches(Clip.objects.all(), "sha256", list(contents)) if store else ()
        existing = {clip.sha256: clip for clip in known}
        measured = {
            sha: pool.submit(_measure, content.file, folder / f"{sha}.flac" if store else None)
            for sha, content in contents.items()
            if sha not in existing
        }
        for done, (sha, content) in enumerate(contents.items(), 1):
            outcome = existing.get(sha) or measured[sha].result()
            if isinstance(outcome, ClipFacts):
                outcome = _store(content.file, sha, outcome, folder, into)
            if isinstance(outcome, AudioError):
                into.errors.update(dict.fromkeys(content.sounds, outcome))
            else:
                if isinstance(outcome, Clip):
                    into.clips.update(dict.fromkeys(content.sounds, outcome))
                into.note(content.sounds, outcome)
            _remove(content.file, folder)
            on_progress(done, len(contents))


@contextmanager
def _all_cores() -> Iterator[ThreadPoolExecutor]:
    """A pool that drops what has not begun when its user fails or is cancelled."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def discard_clips(clips: Iterable[Clip]) -> None:
    """Remove clips that an import made before it failed; one that something refers to by now is kept."""
    for clip in clips:
        try:
            with transaction.atomic():
                clip.delete()
                # Foreign keys are checked at the end of a transaction: ask now, before the files go.
                with transaction.get_connection().cursor() as cursor:
                    cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        except IntegrityError:
            continue
        for file in (clip.original, clip.canonical):
            default_storage.delete(str(file.name))


def _by_hash(
    files: Iterable[tuple[Audio, Path | AudioError]], folder: Path, audio_clips: IngestedAudio
) -> Mapping[str, _SameContent]:
    contents: dict[str, _SameContent] = {}
    for audio, file in files:
        try:
            if isinstance(file, AudioError):
                raise file
            sha = content_sha256(file)
        except AudioError as error:
            audio_clips.errors[audio] = error
        else:
            audio_clips.hashes[audio] = sha
            content = contents.setdefault(sha, _SameContent(file, []))
            content.sounds.append(audio)
            if content.file != file:
                _remove(file, folder)
    return contents


def _remove(file: Path, folder: Path) -> None:
    """What was fetched or unpacked into `folder` goes once it is done with. Any other file is the source's own."""
    if file.parent == folder:
        file.unlink(missing_ok=True)


def _measure(path: Path, target: Path | None) -> AudioFacts | AudioError:
    """With a `target` the canonical file is written there."""
    limits = Limits(max_seconds=settings.CLIP_MAX_SECONDS)
    try:
        return (
            inspect(path, limits=limits)
            if target is None
            else measure_and_canonicalise(path, target, limits=limits)
        )
    except AudioError as error:
        return error


def _store(path: Path, sha: str, facts: ClipFacts, folder: Path, audio: IngestedAudio) -> Clip:
    original, canonical = f"clips/original/{sha[:2]}/{sha}", f"clips/canonical/{sha[:2]}/{sha}.flac"
    _save(path, original)
    _save(folder / f"{sha}.flac", canonical)
    (folder / f"{sha}.flac").unlink()
    clip, created = Clip.objects.get_or_create(
        sha256=sha, defaults={**asdict(facts), "original": original, "canonical": canonical}
    )
    if created:
        audio.created.append(clip)
    return clip


def _save(path: Path, name: str) -> None:
    """The name says the content, so a file that is there is the same file, unless a killed worker left a part of it."""
    if default_storage.exists(name):
        if default_storage.size(name) == path.stat().st_size:
            return
        default_storage.delete(name)
    with path.open("rb") as file:
        default_storage.save(name, File(file))
