"""One sound from elsewhere to a file here: bounded, tried again, taken up where it broke off."""

from __future__ import annotations

import hashlib
import random
import re
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import uuid4

from django.conf import settings

from annotation import http_guard, s3
from annotation.audio.errors import AudioError
from annotation.importing.formats.parquet_files import PackedAudioReader
from annotation.importing.records import Audio, PackedAudio, RemoteAudio

MAX_TRIES = 4
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 30.0
# One try at one file.
RETRY_DEADLINE_S = 900.0
_CHUNK = 256 * 1024
_BY_HAND = "Or put the file beside the source."
_TRANSIENT_STATUSES = (408, 425, 429)
_AUDIO_TYPES = re.compile(r"(audio|video)/|application/(octet-stream|ogg|x-ogg|mp4)|binary/octet-stream")


class _TransientError(Exception):
    """This try failed in a way that the next may not. `error` is what is said if none does."""

    def __init__(self, error: AudioError, after: float | None = None) -> None:
        super().__init__(error)
        self.error = error
        self.after = after


@dataclass
class _PartialFile:
    """What came so far, and what tells whether the rest is of the same file; empty where nothing does."""

    size: int = 0
    version: str = ""


@dataclass(frozen=True)
class _Remainder:
    """What a server sends: from which byte on, how many more if it says so."""

    start: int
    length: int | None
    version: str
    chunks: Callable[[], Iterator[bytes]]


def fetch_file(address: str, target: Path, *, given_up: threading.Event) -> None:
    """Write what `address` (http, https, s3) holds to `target`. Raises AudioError."""
    have = _PartialFile()
    for attempt in range(1, MAX_TRIES + 1):
        try:
            return _try(address, target, have, given_up)
        except _TransientError as again:
            if attempt == MAX_TRIES or given_up.wait(_backoff_s(attempt, again.after)):
                raise again.error from again


def _try(address: str, target: Path, have: _PartialFile, given_up: threading.Event) -> None:
    most = settings.REMOTE_AUDIO_MAX_BYTES
    with _open_remote(address, have) as rest:
        _check_size(rest.start + (rest.length or 0), most)
        have.size, have.version = rest.start, rest.version
        with target.open("r+b" if rest.start else "wb") as file:
            file.seek(rest.start)
            file.truncate()
            for chunk in rest.chunks():
                have.size += len(chunk)
                _check_size(have.size, most)
                file.write(chunk)
                if given_up.is_set():
                    raise AudioError("not_fetched", "It was no longer wanted.", "Import it again.")


def _open_remote(address: str, have: _PartialFile) -> AbstractContextManager[_Remainder]:
    scheme = address.partition(":")[0].lower()
    return _open_bucket(address, have) if scheme == "s3" else _open_http(address, have)


@contextmanager
def _open_http(address: str, have: _PartialFile) -> Iterator[_Remainder]:
    going_on = {"Range": f"bytes={have.size}-", "If-Range": have.version} if have.version else {}
    try:
        with http_guard.request(address, headers=going_on, seconds=RETRY_DEADLINE_S) as answer:
            _check_status(answer, have)
            _check_type(answer.headers.get("content-type", ""))
            if (packing := answer.headers.get("content-encoding", "identity")) != "identity":
                remedy = "Have the server send the file as it is."
                raise AudioError("not_audio", f"It comes packed as {packing[:40]}.", remedy)
            start = have.size if answer.status == 206 else 0
            yield _Remainder(start, _length(answer), _version(answer), answer.chunks)
    except http_guard.AddressRefused as error:
        raise AudioError("address_refused", error.message, _BY_HAND) from error
    except http_guard.NoResponse as error:
        raise _TransientError(AudioError("not_fetched", error.message, _BY_HAND)) from error


def _check_status(answer: http_guard.Response, have: _PartialFile) -> None:
    status = answer.status
    if status == 200 or (status == 206 and _begins_at(answer) == have.size > 0):
        return
    if status in (206, 416):  # not the part that was asked for: from the start, then
        have.size, have.version = 0, ""
        raise _TransientError(
            AudioError("not_fetched", "The server sends other parts than it is asked for.", _BY_HAND)
        )
    if status in (404, 410):
        remedy = f"Mend the address. {_BY_HAND}"
        raise AudioError("missing", f"There is no such file (the server answers {status}).", remedy)
    if status in (401, 403):
        said = f"The server does not give it out (it answers {status})."
        remedy = f"Make it readable without signing in, or use a signed address. {_BY_HAND}"
        raise AudioError("not_fetched", said, remedy)
    error = AudioError("not_fetched", f"The server answers {status}.", f"Try again later. {_BY_HAND}")
    if status in _TRANSIENT_STATUSES or status >= 500:
        raise _TransientError(error, _retry_after(answer))
    raise error


def _check_type(content_type: str) -> None:
    """What is said to be no sound is not worth fetching; what is said to be one is decoded before it is believed."""
    kind = content_type.partition(";")[0].strip().lower()
    if not kind or _AUDIO_TYPES.match(kind):
        return
    if kind in ("text/html", "application/xhtml+xml"):
        remedy = "Use the address of the file itself, not of the page that offers it."
        raise AudioError("not_audio", "It is a web page, not a sound file.", remedy)
    remedy = "Use the address of a sound file, or have the server send it as audio."
    raise AudioError("not_audio", f"It is {kind[:60]}, not a sound file.", remedy)


def _check_size(size: int, most: int) -> None:
    if size > most:
        remedy = "Cut or compress it, or ask whoever runs this site to raise CONCORD_REMOTE_AUDIO_MAX_MB."
        raise AudioError("too_large", f"It is larger than {most // 2**20} MB.", remedy)


def _version(answer: http_guard.Response) -> str:
    """What If-Range may name: an ETag that stands for bytes, or a date."""
    etag = answer.headers.get("etag", "")
    return etag if etag.startswith('"') else "" if etag else answer.headers.get("last-modified", "")


def _length(answer: http_guard.Response) -> int | None:
    length = answer.headers.get("content-length", "")
    return int(length) if re.fullmatch("[0-9]{1,18}", length) else None


def _begins_at(answer: http_guard.Response) -> int:
    found = re.match(r"bytes ([0-9]{1,18})-", answer.headers.get("content-range", ""))
    return int(found[1]) if found else -1


def _retry_after(answer: http_guard.Response) -> float | None:
    seconds = answer.headers.get("retry-after", "")
    return float(seconds) if re.fullmatch("[0-9]{1,6}", seconds) else None


def _backoff_s(attempt: int, after: float | None) -> float:
    """Seconds until the next try: as long as the server asks for, or twice as long each time, less a random part."""
    if after is not None:
        return min(after, LONGEST_WAIT_S)
    return min(FIRST_WAIT_S * 2.0 ** (attempt - 1), LONGEST_WAIT_S) * random.uniform(0.5, 1.0)


@contextmanager
def _open_bucket(address: str, have: _PartialFile) -> Iterator[_Remainder]:
    bucket, _, key = address.partition("://")[2].partition("/")
    if bucket not in settings.S3_SOURCES:
        remedy = f"Ask whoever runs this site to add it to CONCORD_S3_SOURCES. {_BY_HAND}"
        raise AudioError("address_refused", f"Imports may not read from the bucket {bucket}.", remedy)
    from botocore.exceptions import BotoCoreError, ClientError

    going_on = {"Range": f"bytes={have.size}-", "IfMatch": have.version} if have.version else {}
    try:
        found = s3.client().get_object(Bucket=bucket, Key=key, **going_on)
        with closing(found["Body"]) as body:
            start = have.size if going_on else 0
            yield _Remainder(start, found["ContentLength"], found["ETag"], lambda: body.iter_chunks(_CHUNK))
    except ClientError as error:
        raise _bucket_remainder(error.response, bucket, have) from error
    except BotoCoreError as error:
        said = f"The bucket {bucket} did not answer ({type(error).__name__})."
        raise _TransientError(AudioError("not_fetched", said, f"Try again later. {_BY_HAND}")) from error


def _bucket_remainder(
    response: dict[str, dict[str, str | int]], bucket: str, have: _PartialFile
) -> Exception:
    code = response.get("Error", {}).get("Code", "")
    status = int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    if status == 404:
        return AudioError(
            "missing", f"There is no such object in {bucket} ({code}).", f"Mend the key. {_BY_HAND}"
        )
    if status == 403:
        remedy = "Ask whoever runs this site to let its key read there."
        return AudioError("not_fetched", f"The bucket {bucket} does not give it out ({code}).", remedy)
    error = AudioError("not_fetched", f"The bucket {bucket} answers {code or status}.", _BY_HAND)
    if status in (412, 416):  # it was replaced in the meantime
        have.size, have.version = 0, ""
        return _TransientError(error)
    return _TransientError(error) if status >= 500 or status in _TRANSIENT_STATUSES else error


# Sounds from elsewhere, several at a time, in the order asked for.


CONCURRENT_FETCHES = 8
# Fetched before they are asked for: one slow file keeps no thread idle.
MAX_QUEUED_FETCHES = 4 * CONCURRENT_FETCHES
_PROGRESS_EVERY_S = 1.0


def fetch_all(
    wanted: Sequence[RemoteAudio], folder: Path, *, on_wait: Callable[[int], None]
) -> Iterator[Path | AudioError]:
    """For each sound its file below `folder`, or why there is none.

    The sounds differ from each other. `on_wait` hears every second how many have come; what it raises ends the
    fetching.
    """
    given_up = threading.Event()
    coming: deque[Future[Path | AudioError]] = deque()
    left = iter(wanted)
    with ThreadPoolExecutor(CONCURRENT_FETCHES, thread_name_prefix="fetch") as pool:
        try:
            for done in range(len(wanted)):
                while len(coming) < MAX_QUEUED_FETCHES and (sound := next(left, None)) is not None:
                    coming.append(
                        pool.submit(_fetch_one, sound.address, folder / _file_name(sound), given_up)
                    )
                yield _wait_for(coming.popleft(), partial(on_wait, done))
        finally:
            given_up.set()
            pool.shutdown(wait=False, cancel_futures=True)


def _file_name(sound: RemoteAudio) -> str:
    return f"remote-{hashlib.sha256(sound.address.encode()).hexdigest()}"


def _fetch_one(address: str, target: Path, given_up: threading.Event) -> Path | AudioError:
    try:
        fetch_file(address, target, given_up=given_up)
    except AudioError as error:
        target.unlink(missing_ok=True)
        return error
    return target


def _wait_for(coming: Future[Path | AudioError], on_wait: Callable[[], None]) -> Path | AudioError:
    on_wait()
    while not wait([coming], timeout=_PROGRESS_EVERY_S).done:
        on_wait()
    return coming.result()


# Sounds that a source names, as files on this machine: those beside it, those packed in it, those
# elsewhere.


def local_audio_files(
    wanted: Iterable[Audio],
    folder: Path,
    *,
    unpacker: PackedAudioReader | None = None,
    on_progress: Callable[[int, int], None],
) -> Iterator[tuple[Audio, Path | AudioError]]:
    """Each sound with a file that holds it, in the order asked for; none is asked for twice. What is not a file yet is
    written to `folder`, which the caller empties. A sound that cannot be had is an AudioError with a remedy. Who asks
    for packed sounds again and again gives one `unpacker`, which reads on where it stands.

    `on_progress` hears every second how many of the sounds elsewhere have come; what it raises ends the fetching.
    """
    sounds, unpacker = list(wanted), unpacker or PackedAudioReader()
    elsewhere = [sound for sound in sounds if isinstance(sound, RemoteAudio)]
    files = fetch_all(elsewhere, folder, on_wait=lambda done: on_progress(done, len(elsewhere)))
    for audio in sounds:
        if isinstance(audio, Path):
            yield audio, audio
        elif isinstance(audio, PackedAudio):
            yield audio, _unpacked(audio, unpacker, folder)
        else:
            yield audio, next(files)


def _unpacked(audio: PackedAudio, unpacker: PackedAudioReader, folder: Path) -> Path | AudioError:
    try:
        sound = unpacker.read(audio)
    except AudioError as error:
        return error
    path = folder / uuid4().hex
    path.write_bytes(sound)
    return path
