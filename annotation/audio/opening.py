"""A path to an opened container, or the reason why it is none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

import av
from av.container import InputContainer
from av.error import FFmpegError

from annotation.audio.errors import AudioError

CONVERT = "Export it again as WAV or FLAC."


def open_file(path: Path) -> BufferedReader:
    """The file at its start, known to hold at least one byte. Raises `missing`, `empty`."""
    try:
        file = path.open("rb")
    except FileNotFoundError as error:
        raise AudioError(
            "missing", f"There is no file at {path}.", "Check the path, or upload it."
        ) from error
    except IsADirectoryError as error:
        raise AudioError("missing", f"{path} is a folder, not a file.", "Name the file inside it.") from error
    except PermissionError as error:
        raise AudioError("missing", f"{path} may not be read.", "Give the server read permission.") from error
    if not file.peek(1):
        file.close()
        raise AudioError("empty", "This file has 0 bytes.", "Export or upload it again.")
    return file


@contextmanager
def open_audio(file: BufferedReader) -> Iterator[InputContainer]:
    """A container with at least one audio stream. Raises `undecodable`, `no_audio_stream`."""
    try:
        container = av.open(
            _Nameless(file),
            mode="r",
            # A playlist could otherwise make the server read its own files or fetch addresses.
            options={"protocol_whitelist": "none"},
            # Tags in old code pages are common, and we drop tags anyway.
            metadata_errors="ignore",
        )
    except FFmpegError as error:
        raise not_audio() from error
    with container:
        if not container.streams.audio:
            raise AudioError(
                "no_audio_stream",
                "This file has no audio track.",
                "Export it with its sound, or choose the right file.",
            )
        yield container


class _Nameless:
    """What ffmpeg may know of a file: its bytes. Its name must not steer the guess of its format."""

    def __init__(self, file: BufferedReader) -> None:
        self.read = file.read
        self.seek = file.seek
        self.tell = file.tell


def not_audio() -> AudioError:
    """The refusal of a file in which no sound was found at all."""
    return AudioError(
        "undecodable", "This file is not audio in a known format, or its start is damaged.", CONVERT
    )
