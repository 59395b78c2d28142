"""How long a file says it is, where its format makes that statement worth believing.

A copy that broke off often decodes without an error and merely ends early, so the header is the only witness.
"""

from __future__ import annotations

from io import BufferedReader

from av import AudioStream
from av.container import InputContainer

# These state their length. Raw streams (ADTS AAC, AC-3) do not: ffmpeg guesses from the bit rate of the first
# frames, and a song that starts in silence would be guessed many times too long.
STATES_ITS_LENGTH = frozenset(
    {
        "wav",
        "w64",
        "aiff",
        "caf",
        "au",
        "flac",
        "wv",
        "ogg",
        "mov,mp4,m4a,3gp,3g2,mj2",
        "matroska,webm",
    }
)

# These state when their sound ends, which is its length only if it starts at zero.
STATES_ITS_END = frozenset({"ogg", "matroska,webm"})

# Writers that cannot seek back (pipes, speech services) leave a number near the 31 or 32-bit maximum.
RIFF_UNKNOWN_SIZE = 0x7FFF0000


def stated_seconds(file: BufferedReader, *, container: InputContainer, stream: AudioStream) -> float | None:
    """The length that the header promises, or None where the format promises nothing exact.

    `file` is the open original; its position is left where it was.
    """
    position = file.tell()
    try:
        return _stated_seconds(file, container, stream)
    finally:
        file.seek(position)


def _stated_seconds(file: BufferedReader, container: InputContainer, stream: AudioStream) -> float | None:
    name = container.format.name
    believable = name in STATES_ITS_LENGTH or (name == "mp3" and _mp3_counts_frames(file))
    seconds = decoder_seconds(container, stream)
    if not believable or seconds is None:
        return None
    return seconds * _riff_promise(file) if name == "wav" else seconds


def decoder_seconds(container: InputContainer, stream: AudioStream) -> float | None:
    """The length as ffmpeg has it, which may be an estimate."""
    if stream.time_base is None:
        return None
    states_end = container.format.name in STATES_ITS_END
    late_start = float((stream.start_time or 0) * stream.time_base) if states_end else 0.0
    if stream.duration is not None:
        return float(stream.duration * stream.time_base) - late_start
    # A container's own length covers its longest stream, so it speaks for the audio only when alone.
    if container.duration is not None and len(container.streams) == 1:
        return container.duration / 1_000_000 - late_start
    return None


def _riff_promise(file: BufferedReader) -> float:
    """Promised over present size of a WAV file, at least 1: ffmpeg trims the promise to what is there."""
    file.seek(0)
    head = file.read(8)
    present = file.seek(0, 2)
    promised = 8 + int.from_bytes(head[4:8], "little")
    if head[:4] != b"RIFF" or promised >= RIFF_UNKNOWN_SIZE:
        return 1.0
    return max(1.0, promised / present)


def _mp3_counts_frames(file: BufferedReader) -> bool:
    """Whether the first MP3 frame, after any ID3v2 tag, is an index that counts the frames to come."""
    file.seek(0)
    head = file.read(10)
    if head[:3] == b"ID3":
        seven_bit = head[6] << 21 | head[7] << 14 | head[8] << 7 | head[9]
        file.seek(10 + seven_bit)
    else:
        file.seek(0)
    first = file.read(4096)
    return any(index in first for index in (b"Xing", b"Info", b"VBRI"))
