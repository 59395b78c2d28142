from __future__ import annotations

import threading
from pathlib import Path

import pytest

from annotation.audio.errors import AudioError
from annotation.importing import clips
from annotation.importing.clips import local_audio_files
from annotation.importing.records import RemoteAudio
from tests.annotation.importing.web import serving

WAV = {"Content-Type": "audio/wav"}


@pytest.fixture(autouse=True)
def _in_house_and_quick(settings, monkeypatch):
    settings.OUTBOUND_ALLOW = ["127.0.0.1"]
    monkeypatch.setattr(clips, "FIRST_WAIT_S", 0.001)


def _fetch(address: str, target: Path) -> bytes:
    clips.fetch_file(address, target, cancelled=threading.Event())
    return target.read_bytes()


def _refusal(address: str, tmp_path: Path) -> AudioError:
    with pytest.raises(AudioError) as refused:
        _fetch(address, tmp_path / "a")
    return refused.value


def test_a_sound_is_fetched(tmp_path):
    with serving(lambda asked: (200, WAV, b"sound")) as server:
        assert _fetch(f"{server.address}/a.wav", tmp_path / "a") == b"sound"


def test_many_come_at_once_and_in_order(tmp_path):
    together = threading.Barrier(clips.CONCURRENT_FETCHES, timeout=10)

    def says(asked):
        together.wait()
        return 200, WAV, asked.path.encode()

    with serving(says) as server:
        here = tmp_path / "here.wav"
        wanted = [RemoteAudio(f"{server.address}/{number}") for number in range(2 * clips.CONCURRENT_FETCHES)]
        told: list[tuple[int, int]] = []
        found = dict(
            local_audio_files([here, *wanted], tmp_path, on_progress=lambda *told_: told.append(told_))
        )
    assert list(found) == [here, *wanted]
    assert found[here] == here
    assert [found[sound].read_bytes() for sound in wanted] == [f"/{n}".encode() for n in range(len(wanted))]
    assert told[0] == (0, len(wanted))


def test_a_server_in_trouble_is_asked_again(tmp_path):
    answers = iter([(503, {"Retry-After": "0"}, b""), (500, {}, b""), (200, WAV, b"sound")])
    with serving(lambda asked: next(answers)) as server:
        assert _fetch(server.address, tmp_path / "a") == b"sound"


def test_a_server_that_stays_in_trouble_is_named_with_its_status(tmp_path):
    with serving(lambda asked: (503, {}, b"")) as server:
        error = _refusal(server.address, tmp_path)
        assert len(server.asked) == clips.MAX_TRIES
    assert error.code == "not_fetched"
    assert "503" in error.message
    assert "beside the source" in error.remedy


@pytest.mark.parametrize(("status", "code"), [(404, "missing"), (403, "not_fetched"), (400, "not_fetched")])
def test_a_refusal_is_taken_at_its_word(tmp_path, status, code):
    with serving(lambda asked: (status, {}, b"")) as server:
        error = _refusal(server.address, tmp_path)
        assert len(server.asked) == 1
    assert (error.code, str(status) in error.message) == (code, True)


def _breaking_off(whole: bytes, etags: list[str]):
    """Sends half of the file, and the rest to whoever asks for it in the words of RFC 9110."""

    def says(asked):
        etag = etags.pop(0) if len(etags) > 1 else etags[0]
        headers = {**WAV, "ETag": etag}
        begins = asked.headers.get("Range", "bytes=0-").removeprefix("bytes=").removesuffix("-")
        if begins != "0" and asked.headers["If-Range"] == etag:
            rest = whole[int(begins) :]
            place = f"bytes {begins}-{len(whole) - 1}/{len(whole)}"
            return 206, {**headers, "Content-Range": place}, rest
        if len(says.asked) < 1:
            says.asked.append(asked)
            return 200, {**headers, "Content-Length": str(len(whole))}, whole[: len(whole) // 2]
        return 200, headers, whole

    says.asked = []
    return says


def test_what_broke_off_is_taken_up_where_it_did(tmp_path):
    whole = bytes(range(256)) * 4096
    with serving(_breaking_off(whole, ['"one"'])) as server:
        assert _fetch(server.address, tmp_path / "a") == whole
        assert server.asked[-1].headers["If-Range"] == '"one"'
        assert int(server.asked[-1].headers["Range"][6:-1]) > 0


def test_halves_of_two_files_are_never_joined(tmp_path):
    whole = bytes(range(256)) * 4096
    with serving(_breaking_off(whole, ['"one"', '"two"'])) as server:
        assert _fetch(server.address, tmp_path / "a") == whole


def test_what_is_too_large_is_refused_before_and_while_it_comes(tmp_path, settings):
    settings.REMOTE_AUDIO_MAX_BYTES = 2**20
    with serving(lambda asked: (200, {**WAV, "Content-Length": "9999999"}, b"x")) as server:
        assert _refusal(server.address, tmp_path).code == "too_large"
    with serving(lambda asked: (200, WAV, b"x" * (2**20 + 1))) as server:
        error = _refusal(server.address, tmp_path)
    assert error.code == "too_large"
    assert "1 MB" in error.message


@pytest.mark.parametrize(
    ("kind", "says"), [("text/html; charset=utf-8", "web page"), ("application/json", "json")]
)
def test_what_says_it_is_something_else_is_believed(tmp_path, kind, says):
    with serving(lambda asked: (200, {"Content-Type": kind}, b"<html>")) as server:
        error = _refusal(server.address, tmp_path)
    assert error.code == "not_audio"
    assert says in error.message


@pytest.mark.parametrize("kind", ["audio/flac", "video/mp4", "application/ogg", "binary/octet-stream", ""])
def test_what_may_be_a_sound_is_fetched(tmp_path, kind):
    with serving(lambda asked: (200, {"Content-Type": kind}, b"sound")) as server:
        assert _fetch(server.address, tmp_path / "a") == b"sound"


def test_an_address_inside_is_a_problem_of_its_row(tmp_path, settings):
    settings.OUTBOUND_ALLOW = []
    assert _refusal("http://127.0.0.1/a.wav", tmp_path).code == "address_refused"
    assert _refusal("s3://somebodys/a.wav", tmp_path).code == "address_refused"


def test_what_ends_the_import_ends_the_fetching(tmp_path):
    with serving(lambda asked: (200, WAV, b"sound")) as server:
        wanted = [RemoteAudio(f"{server.address}/{number}") for number in range(300)]

        def cancelled(done, total):
            if done == 2:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            list(local_audio_files(wanted, tmp_path, on_progress=cancelled))
        assert len(server.asked) < 100
