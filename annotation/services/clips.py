"""Taking audio in. A clip is addressed by the hash of the file handed in: the same file is one clip."""

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

from annotation.audio.errors import AudioError
from annotation.audio.ingest import AudioFacts, ClipFacts, content_sha256, inspect, measure_and_canonicalise
from annotation.audio.limits import Limits
from annotation.models import Clip
from annotation.services.import_batches import in_batches

OnProgress = Callable[[int, int], None]


@dataclass
class Taken:
    """What became of a set of files. `created` are the clips that were not there before.

    n_samples, channels, loudness: of each file that is sound, at 48 kHz; the loudness in LUFS, None where it is
    undefined.
    """

    clips: dict[Path, Clip] = field(default_factory=dict)
    hashes: dict[Path, str] = field(default_factory=dict)
    errors: dict[Path, AudioError] = field(default_factory=dict)
    silent: list[Path] = field(default_factory=list)
    n_samples: dict[Path, int] = field(default_factory=dict)
    channels: dict[Path, int] = field(default_factory=dict)
    loudness: dict[Path, float | None] = field(default_factory=dict)
    created: list[Clip] = field(default_factory=list)

    def note(self, same: list[Path], heard: Clip | AudioFacts) -> None:
        """What was measured of files that are one sound."""
        self.silent += same if heard.silent else []
        self.n_samples.update(dict.fromkeys(same, heard.n_samples))
        self.channels.update(dict.fromkeys(same, heard.channels))
        self.loudness.update(dict.fromkeys(same, heard.loudness_lufs))


def take_in(paths: Iterable[Path], *, into: Taken, on_progress: OnProgress) -> None:
    """Ingest files, both cores at work. A file that cannot be used is an entry in `into.errors`, not an exception; what
    `on_progress` raises leaves in `into.created` what there is to discard."""
    taken = into
    todo = _by_hash(paths, taken)
    known = {clip.sha256: clip for clip in in_batches(Clip.objects.all(), "sha256", list(todo))}
    done = 0
    with (
        tempfile.TemporaryDirectory(prefix="concord-ingest-") as folder,
        _all_cores() as pool,
    ):
        fresh = {sha: same[0] for sha, same in todo.items() if sha not in known}
        facts = {
            sha: pool.submit(_canonicalise, path, Path(folder) / f"{sha}.flac") for sha, path in fresh.items()
        }
        for sha, same in todo.items():
            outcome = known.get(sha) or facts[sha].result()
            if isinstance(outcome, AudioError):
                taken.errors.update(dict.fromkeys(same, outcome))
            else:
                clip = (
                    outcome
                    if isinstance(outcome, Clip)
                    else _store(same[0], sha, outcome, Path(folder), taken)
                )
                taken.clips.update(dict.fromkeys(same, clip))
                taken.note(same, clip)
            done += 1
            on_progress(done, len(todo))


def look_at(paths: Iterable[Path], *, into: Taken, on_progress: OnProgress) -> None:
    """The same checks as `take_in`, with nothing written anywhere."""
    taken = into
    todo = _by_hash(paths, taken)
    with _all_cores() as pool:
        outcomes = pool.map(_inspect, [same[0] for same in todo.values()])
        for done, (same, facts) in enumerate(zip(todo.values(), outcomes, strict=True), 1):
            if isinstance(facts, AudioError):
                taken.errors.update(dict.fromkeys(same, facts))
            else:
                taken.note(same, facts)
            on_progress(done, len(todo))


@contextmanager
def _all_cores() -> Iterator[ThreadPoolExecutor]:
    """A pool that drops what has not begun when its user fails or is cancelled."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def discard(clips: Iterable[Clip]) -> None:
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


def _by_hash(paths: Iterable[Path], taken: Taken) -> Mapping[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for path in dict.fromkeys(paths):
        try:
            sha = content_sha256(path)
        except AudioError as error:
            taken.errors[path] = error
        else:
            taken.hashes[path] = sha
            found.setdefault(sha, []).append(path)
    return found


def _limits() -> Limits:
    return Limits(max_seconds=settings.CLIP_MAX_SECONDS)


def _canonicalise(path: Path, target: Path) -> ClipFacts | AudioError:
    try:
        return measure_and_canonicalise(path, target, limits=_limits())
    except AudioError as error:
        return error


def _inspect(path: Path) -> AudioFacts | AudioError:
    try:
        return inspect(path, limits=_limits())
    except AudioError as error:
        return error


def _store(path: Path, sha: str, facts: ClipFacts, folder: Path, taken: Taken) -> Clip:
    original, canonical = f"clips/original/{sha[:2]}/{sha}", f"clips/canonical/{sha[:2]}/{sha}.flac"
    _save(path, original)
    _save(folder / f"{sha}.flac", canonical)
    (folder / f"{sha}.flac").unlink()
    clip, created = Clip.objects.get_or_create(
        sha256=sha, defaults={**asdict(facts), "original": original, "canonical": canonical}
    )
    if created:
        taken.created.append(clip)
    return clip


def _save(path: Path, name: str) -> None:
    """The name says the content, so a file that is there is the same file, unless a killed worker left a part of it."""
    if default_storage.exists(name):
        if default_storage.size(name) == path.stat().st_size:
            return
        default_storage.delete(name)
    with path.open("rb") as file:
        default_storage.save(name, File(file))
