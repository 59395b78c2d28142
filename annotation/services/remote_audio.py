"""Sounds from elsewhere, several at a time, in the order asked for."""

from __future__ import annotations

import hashlib
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path

from annotation.audio.errors import AudioError
from annotation.importers.records import RemoteAudio
from annotation.services.remote_files import fetch

AT_ONCE = 8
# Fetched before they are asked for: one slow file keeps no thread idle.
AHEAD = 4 * AT_ONCE
_TELL_EVERY_S = 1.0


def fetched(
    wanted: Sequence[RemoteAudio], folder: Path, *, on_wait: Callable[[int], None]
) -> Iterator[Path | AudioError]:
    """For each sound its file below `folder`, or why there is none.

    The sounds differ from each other. `on_wait` hears every second how many have come; what it raises ends the
    fetching.
    """
    given_up = threading.Event()
    coming: deque[Future[Path | AudioError]] = deque()
    left = iter(wanted)
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="fetch") as pool:
        try:
            for done in range(len(wanted)):
                while len(coming) < AHEAD and (sound := next(left, None)) is not None:
                    coming.append(pool.submit(_one, sound.address, folder / _name(sound), given_up))
                yield _when_done(coming.popleft(), partial(on_wait, done))
        finally:
            given_up.set()
            pool.shutdown(wait=False, cancel_futures=True)


def _name(sound: RemoteAudio) -> str:
    return f"remote-{hashlib.sha256(sound.address.encode()).hexdigest()}"


def _one(address: str, target: Path, given_up: threading.Event) -> Path | AudioError:
    try:
        fetch(address, target, given_up=given_up)
    except AudioError as error:
        target.unlink(missing_ok=True)
        return error
    return target


def _when_done(coming: Future[Path | AudioError], on_wait: Callable[[], None]) -> Path | AudioError:
    on_wait()
    while not wait([coming], timeout=_TELL_EVERY_S).done:
        on_wait()
    return coming.result()
