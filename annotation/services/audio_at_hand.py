"""Sounds that a source names, as files on this machine: those beside it, those packed in it, those elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from uuid import uuid4

from annotation.audio.errors import AudioError
from annotation.importers.packed import Unpacker
from annotation.importers.records import Audio, PackedAudio, RemoteAudio
from annotation.services.remote_audio import fetched


def at_hand(
    wanted: Iterable[Audio],
    folder: Path,
    *,
    unpacker: Unpacker | None = None,
    on_progress: Callable[[int, int], None],
) -> Iterator[tuple[Audio, Path | AudioError]]:
    """Each sound with a file that holds it, in the order asked for; none is asked for twice. What is not a file yet is
    written to `folder`, which the caller empties. A sound that cannot be had is an AudioError with a remedy. Who asks
    for packed sounds again and again gives one `unpacker`, which reads on where it stands.

    `on_progress` hears every second how many of the sounds elsewhere have come; what it raises ends the fetching.
    """
    sounds, unpacker = list(wanted), unpacker or Unpacker()
    elsewhere = [sound for sound in sounds if isinstance(sound, RemoteAudio)]
    files = fetched(elsewhere, folder, on_wait=lambda done: on_progress(done, len(elsewhere)))
    for audio in sounds:
        if isinstance(audio, Path):
            yield audio, audio
        elif isinstance(audio, PackedAudio):
            yield audio, _unpacked(audio, unpacker, folder)
        else:
            yield audio, next(files)


def _unpacked(audio: PackedAudio, unpacker: Unpacker, folder: Path) -> Path | AudioError:
    try:
        sound = unpacker.read(audio)
    except AudioError as error:
        return error
    path = folder / uuid4().hex
    path.write_bytes(sound)
    return path
