"""Large files: what broke off goes on, and what came is what was made."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from concord_client import Concord, ConcordError, DownloadError, files

CONTENT = bytes(range(256)) * 1000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class BrokenOff(httpx2.SyncByteStream):
    def __init__(self, content: bytes) -> None:
        self._content = content

    def __iter__(self) -> Iterator[bytes]:
        yield self._content
        raise httpx2.ReadError("broke off")


class FileServer:
    """Serves one file by ranges; each time it breaks off after `at_once` bytes, where there are more."""

    def __init__(self, content: bytes = CONTENT, *, at_once: int = 10**9, etag: str = '"1"') -> None:
        self.content, self.at_once, self.etag = content, at_once, etag
        self.ranges: list[str] = []
        self.busy = 0

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        wanted = request.headers.get("Range", "")
        self.ranges.append(wanted)
        if self.busy:
            self.busy -= 1
            return httpx2.Response(503)
        if request.headers.get("If-Range", self.etag) != self.etag:
            wanted = ""
        start = int(wanted[6:-1]) if wanted else 0
        size = len(self.content)
        if start >= size:
            return httpx2.Response(416, headers={"Content-Range": f"bytes */{size}"})
        rest = self.content[start : start + self.at_once]
        headers = {"ETag": self.etag, "Content-Length": str(size - start)}
        if wanted:
            headers["Content-Range"] = f"bytes {start}-{size - 1}/{size}"
        whole = start + len(rest) == size
        return httpx2.Response(
            206 if wanted else 200,
            headers=headers,
            **({"content": rest} if whole else {"stream": BrokenOff(rest)}),
        )

    def fetch(self, to: Path, sha256: str | None = SHA256) -> Path:
        http = httpx2.Client(transport=httpx2.MockTransport(self))
        client = Concord("http://server", "t", http=http, attempts=3)
        client.transport._sleep = lambda seconds: None
        return files.download_file(client.transport, "exports/x/file/", to, sha256=sha256)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_file_comes_whole_and_nothing_else_is_left(tmp_path: Path):
    assert FileServer().fetch(tmp_path / "a.zip").read_bytes() == CONTENT
    assert names(tmp_path) == {"a.zip"}


def test_what_breaks_off_goes_on_where_it_stopped_as_often_as_something_comes(tmp_path: Path):
    server = FileServer(at_once=50_000)
    assert server.fetch(tmp_path / "a.zip").read_bytes() == CONTENT
    assert server.ranges == ["", *(f"bytes={start}-" for start in range(50_000, len(CONTENT), 50_000))]


@pytest.mark.parametrize(
    ("part", "etag", "ranges"),
    [
        pytest.param(CONTENT[:1000], "", ["bytes=1000-"], id="a later call goes on"),
        pytest.param(CONTENT, "", ["bytes=256000-"], id="what is all there is only checked"),
        pytest.param(b"of another file", '"0"', ["bytes=15-"], id="another file comes from its start"),
        pytest.param(CONTENT + b"more", "", ["bytes=256004-", ""], id="more than there is begins anew"),
    ],
)
def test_what_an_earlier_call_left_is_gone_on_with_where_it_is_of_this_file(
    tmp_path: Path, part: bytes, etag: str, ranges: list[str]
):
    (tmp_path / "a.zip.part").write_bytes(part)
    if etag:
        (tmp_path / "a.zip.part.etag").write_text(etag)
    server = FileServer()
    assert server.fetch(tmp_path / "a.zip").read_bytes() == CONTENT
    assert server.ranges == ranges


def test_what_came_and_is_something_else_is_refused_and_removed(tmp_path: Path):
    with pytest.raises(DownloadError, match=r"a\.zip is not the file that was made"):
        FileServer(b"x" + CONTENT[1:]).fetch(tmp_path / "a.zip")
    assert names(tmp_path) == set()


def test_a_file_that_the_server_names_by_its_hash_is_held_against_it(tmp_path: Path):
    assert FileServer(etag=f'"{SHA256}"').fetch(tmp_path / "a.zip", sha256=None).read_bytes() == CONTENT
    with pytest.raises(DownloadError):
        FileServer(CONTENT[::-1], etag=f'"{SHA256}"').fetch(tmp_path / "b.zip", sha256=None)


def test_the_token_does_not_go_to_the_bucket_that_files_are_kept_in(tmp_path: Path):
    asked: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        if request.url.path == "/api/v1/studies/s/releases/1/":
            return httpx2.Response(200, json={"file_sha256": SHA256})
        if request.url.host == "server":
            return httpx2.Response(302, headers={"Location": "https://bucket/key?signed"})
        return httpx2.Response(200, content=CONTENT)

    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    client = Concord("http://server", "concord_x", http=http)
    assert client.releases.download("s", 1, tmp_path / "a.zip").read_bytes() == CONTENT
    assert ["Authorization" in request.headers for request in asked] == [True, True, False]


def test_a_release_is_held_against_what_was_noted_when_it_was_made(tmp_path: Path):
    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.path.endswith("/file/"):
            return httpx2.Response(200, content=CONTENT[::-1], headers={"ETag": '"an-md5"'})
        return httpx2.Response(200, json={"file_sha256": SHA256})

    client = Concord("http://server", "t", http=httpx2.Client(transport=httpx2.MockTransport(answer)))
    with pytest.raises(DownloadError, match=r"a\.zip is not the file that was made"):
        client.releases.download("s", 1, tmp_path / "a.zip")


def test_a_busy_server_is_asked_again_but_not_for_ever(tmp_path: Path):
    server = FileServer()
    server.busy = 2
    assert server.fetch(tmp_path / "a.zip").read_bytes() == CONTENT
    server.busy = 3
    with pytest.raises(ConcordError, match="broke off too often"):
        server.fetch(tmp_path / "b.zip")
