"""Files on their way to the server: never whole in memory, one open at a time, and the same on each attempt."""

from __future__ import annotations

import io
import json
import tracemalloc
from pathlib import Path

import httpx2
import pytest

from concord_client import Concord, transport
from tests.concord_client.test_transport import Server, busy, ok

MIB = 1024 * 1024


class Reading(httpx2.BaseTransport):
    """A server that keeps nothing of what it is sent."""

    came = 0

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        assert isinstance(request.stream, httpx2.SyncByteStream)
        self.came = sum(len(piece) for piece in request.stream)
        assert int(request.headers["Content-Length"]) == self.came
        return httpx2.Response(200, json={})


def a_folder(tmp_path: Path) -> Path:
    for name in ("b/2.wav", "a/1.wav", ".git/config", "a/.hidden"):
        path = tmp_path / "sounds" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"this is {name}")
    return tmp_path / "sounds"


def test_a_folders_files_are_named_by_their_paths_and_hidden_ones_stay(tmp_path: Path):
    server = Server(ok({"id": "u"}))
    assert server.client().uploads.bring(a_folder(tmp_path), study="s") == {"id": "u"}
    body = server.asked[0].content
    assert str(server.asked[0].url) == "http://server/api/v1/uploads/"
    for said in (b'name="study"\r\n\r\ns\r\n', b"\r\n\r\nsounds/a/1.wav\r\n", b"\r\n\r\nsounds/b/2.wav\r\n"):
        assert said in body
    assert body.index(b"this is a/1.wav") < body.index(b"this is b/2.wav")
    assert b".hidden" not in body
    assert b".git" not in body


def test_it_is_sent_again_with_the_same_key_and_files(tmp_path: Path):
    server = Server(httpx2.WriteError("broke off"), busy(429, Retry_After="3"), ok({"id": "u"}))
    server.client().uploads.bring(a_folder(tmp_path))
    assert len({request.headers["Idempotency-Key"] for request in server.asked}) == 1
    assert all(b"this is b/2.wav" in request.content for request in server.asked)
    assert server.slept[1] == 3


def test_a_large_file_is_never_whole_in_memory(tmp_path: Path):
    with (tmp_path / "large.wav").open("wb") as file:
        file.truncate(64 * MIB)
    server = Reading()
    client = Concord("http://server", "t", http=httpx2.Client(transport=server))
    tracemalloc.start()
    client.uploads.bring(tmp_path / "large.wav")
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert server.came > 64 * MIB
    assert peak < 8 * MIB


def test_of_a_folder_one_file_is_open_at_a_time(tmp_path: Path, monkeypatch):
    for n in range(20):
        (tmp_path / f"{n}.wav").write_bytes(b"x")
    opened: list[io.BufferedReader] = []
    most_open = 0
    open_it = Path.open

    def noted(path: Path, *args: str) -> object:
        nonlocal most_open
        opened.append(open_it(path, *args))  # type: ignore[arg-type]
        most_open = max(most_open, sum(not file.closed for file in opened))
        return opened[-1]

    monkeypatch.setattr(Path, "open", noted)
    server = Server(ok())
    server.client().uploads.bring(tmp_path)
    assert (len(opened), most_open) == (20, 1)
    assert all(file.closed for file in opened)


def test_what_is_not_there_is_not_asked_about(tmp_path: Path):
    server = Server()
    with pytest.raises(FileNotFoundError, match="There is no file in"):
        server.client().uploads.bring(tmp_path)
    with pytest.raises(FileNotFoundError):
        server.client().uploads.bring(tmp_path / "gone.csv")
    assert server.asked == []


def test_a_folder_named_by_a_point_has_its_own_name(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(a_folder(tmp_path))
    assert transport.files_below(Path())[0][0] == "sounds/a/1.wav"


def test_an_import_says_all_that_was_asked_for():
    server = Server(ok({"id": "j"}))
    new = {"slug": "bells", "title": "Bells", "preset": "orca"}
    server.client().uploads.start("u", format="csv", new_study=new, column_map={"a": "prompt"}, dry_run=True)
    assert server.asked[0].url.path == "/api/v1/uploads/u/import/"
    assert json.loads(server.asked[0].content) == {
        "format": "csv",
        "column_map": {"a": "prompt"},
        "overlap": None,
        "archive": False,
        "dry_run": True,
        "skip_bad_rows": False,
        "new_study": new,
    }
