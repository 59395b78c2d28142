"""One sound from elsewhere to a file here: bounded, tried again, taken up where it broke off."""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from annotation import buckets
from annotation.audio.errors import AudioError
from annotation.services import outbound

TRIES = 4
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 30.0
# One try at one file.
PATIENCE_S = 900.0
_CHUNK = 256 * 1024
_BY_HAND = "Or put the file beside the source."
_PASSING = (408, 425, 429)
_SOUNDS = re.compile(r"(audio|video)/|application/(octet-stream|ogg|x-ogg|mp4)|binary/octet-stream")


class _Again(Exception):
    """This try failed in a way that the next may not. `error` is what is said if none does."""

    def __init__(self, error: AudioError, after: float | None = None) -> None:
        super().__init__(error)
        self.error = error
        self.after = after


@dataclass
class _Have:
    """What came so far, and what tells whether the rest is of the same file; empty where nothing does."""

    size: int = 0
    version: str = ""


@dataclass(frozen=True)
class _Rest:
    """What a server sends: from which byte on, how many more if it says so."""

    start: int
    length: int | None
    version: str
    chunks: Callable[[], Iterator[bytes]]


def fetch(address: str, target: Path, *, given_up: threading.Event) -> None:
    """Write what `address` (http, https, s3) holds to `target`. Raises AudioError."""
    have = _Have()
    for attempt in range(1, TRIES + 1):
        try:
            return _try(address, target, have, given_up)
        except _Again as again:
            if attempt == TRIES or given_up.wait(_wait(attempt, again.after)):
                raise again.error from again


def _try(address: str, target: Path, have: _Have, given_up: threading.Event) -> None:
    most = settings.REMOTE_AUDIO_MAX_BYTES
    with _opened(address, have) as rest:
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


def _opened(address: str, have: _Have) -> AbstractContextManager[_Rest]:
    scheme = address.partition(":")[0].lower()
    return _in_bucket(address, have) if scheme == "s3" else _on_web(address, have)


@contextmanager
def _on_web(address: str, have: _Have) -> Iterator[_Rest]:
    going_on = {"Range": f"bytes={have.size}-", "If-Range": have.version} if have.version else {}
    try:
        with outbound.asked(address, headers=going_on, seconds=PATIENCE_S) as answer:
            _check_status(answer, have)
            _check_type(answer.headers.get("content-type", ""))
            if (packing := answer.headers.get("content-encoding", "identity")) != "identity":
                remedy = "Have the server send the file as it is."
                raise AudioError("not_audio", f"It comes packed as {packing[:40]}.", remedy)
            start = have.size if answer.status == 206 else 0
            yield _Rest(start, _length(answer), _version(answer), answer.chunks)
    except outbound.AddressRefused as error:
        raise AudioError("address_refused", error.message, _BY_HAND) from error
    except outbound.NoAnswer as error:
        raise _Again(AudioError("not_fetched", error.message, _BY_HAND)) from error


def _check_status(answer: outbound.Answer, have: _Have) -> None:
    status = answer.status
    if status == 200 or (status == 206 and _begins_at(answer) == have.size > 0):
        return
    if status in (206, 416):  # not the part that was asked for: from the start, then
        have.size, have.version = 0, ""
        raise _Again(
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
    if status in _PASSING or status >= 500:
        raise _Again(error, _retry_after(answer))
    raise error


def _check_type(content_type: str) -> None:
    """What is said to be no sound is not worth fetching; what is said to be one is decoded before it is believed."""
    kind = content_type.partition(";")[0].strip().lower()
    if not kind or _SOUNDS.match(kind):
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


def _version(answer: outbound.Answer) -> str:
    """What If-Range may name: an ETag that stands for bytes, or a date."""
    etag = answer.headers.get("etag", "")
    return etag if etag.startswith('"') else "" if etag else answer.headers.get("last-modified", "")


def _length(answer: outbound.Answer) -> int | None:
    length = answer.headers.get("content-length", "")
    return int(length) if re.fullmatch("[0-9]{1,18}", length) else None


def _begins_at(answer: outbound.Answer) -> int:
    found = re.match(r"bytes ([0-9]{1,18})-", answer.headers.get("content-range", ""))
    return int(found[1]) if found else -1


def _retry_after(answer: outbound.Answer) -> float | None:
    seconds = answer.headers.get("retry-after", "")
    return float(seconds) if re.fullmatch("[0-9]{1,6}", seconds) else None


def _wait(attempt: int, after: float | None) -> float:
    """Seconds until the next try: as long as the server asks for, or twice as long each time, less a random part."""
    if after is not None:
        return min(after, LONGEST_WAIT_S)
    return min(FIRST_WAIT_S * 2.0 ** (attempt - 1), LONGEST_WAIT_S) * random.uniform(0.5, 1.0)


@contextmanager
def _in_bucket(address: str, have: _Have) -> Iterator[_Rest]:
    bucket, _, key = address.partition("://")[2].partition("/")
    if bucket not in settings.S3_SOURCES:
        remedy = f"Ask whoever runs this site to add it to CONCORD_S3_SOURCES. {_BY_HAND}"
        raise AudioError("address_refused", f"Imports may not read from the bucket {bucket}.", remedy)
    from botocore.exceptions import BotoCoreError, ClientError

    going_on = {"Range": f"bytes={have.size}-", "IfMatch": have.version} if have.version else {}
    try:
        found = buckets.client().get_object(Bucket=bucket, Key=key, **going_on)
        with closing(found["Body"]) as body:
            start = have.size if going_on else 0
            yield _Rest(start, found["ContentLength"], found["ETag"], lambda: body.iter_chunks(_CHUNK))
    except ClientError as error:
        raise _of_bucket(error.response, bucket, have) from error
    except BotoCoreError as error:
        said = f"The bucket {bucket} did not answer ({type(error).__name__})."
        raise _Again(AudioError("not_fetched", said, f"Try again later. {_BY_HAND}")) from error


def _of_bucket(response: dict[str, dict[str, str | int]], bucket: str, have: _Have) -> Exception:
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
        return _Again(error)
    return _Again(error) if status >= 500 or status in _PASSING else error
