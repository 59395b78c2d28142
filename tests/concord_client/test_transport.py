"""What the client does when the server is busy, gone, or says no, and with files on their way to the server."""

from __future__ import annotations

import io
import json
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import httpx2
import pytest

from concord_client import Concord, ConcordError, transport

Handler = Callable[[httpx2.Request], httpx2.Response]


class Server:
    """Answers with what it was told, in order, and remembers what it was asked."""

    def __init__(self, *answers: httpx2.Response | Exception) -> None:
        self.answers, self.asked, self.slept = list(answers), list[httpx2.Request](), list[float]()

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        request.read()
        self.asked.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def client(self, **wanted: object) -> Concord:
        http = httpx2.Client(transport=httpx2.MockTransport(self))
        concord = Concord("http://server/", "concord_x", http=http, **wanted)  # type: ignore[arg-type]
        concord.transport._sleep = self.slept.append
        return concord


def ok(body: object = None, **headers: str) -> httpx2.Response:
    return httpx2.Response(200, json={} if body is None else body, headers=headers)


def busy(status: int = 429, **headers: str) -> httpx2.Response:
    return httpx2.Response(status, headers={name.replace("_", "-"): value for name, value in headers.items()})


def test_it_says_whose_token_it_is_and_asks_below_the_apis_address():
    server = Server(ok({"name": "Ada"}))
    assert server.client().me() == {"name": "Ada"}
    assert str(server.asked[0].url) == "http://server/api/v1/me/"
    assert server.asked[0].headers["Authorization"] == "Bearer concord_x"
    assert "Idempotency-Key" not in server.asked[0].headers  # reading needs none


def test_a_write_that_is_tried_again_has_the_same_key_and_another_write_another():
    server = Server(httpx2.ConnectError("gone"), busy(503), ok(), ok())
    client = server.client()
    client.studies.join("token")
    client.studies.join("token")
    keys = [request.headers["Idempotency-Key"] for request in server.asked]
    assert keys[0] == keys[1] == keys[2] != keys[3]
    assert server.asked[0].content == server.asked[2].content


def test_it_waits_as_long_as_the_server_asks_for_and_never_more_than_a_minute_at_once():
    soon = datetime.now(UTC) + timedelta(seconds=30)
    dates = (
        format_datetime(soon, usegmt=True),
        format_datetime(soon.replace(tzinfo=None)),
    )  # one without a zone
    server = Server(
        busy(Retry_After="7"),
        *(busy(503, Retry_After=date) for date in dates),
        busy(Retry_After="86400"),
        ok(),
    )
    server.client().me()
    assert (server.slept[0], server.slept[3]) == (7, 60.0)
    assert all(25 < seconds <= 30 for seconds in server.slept[1:3])


def test_it_waits_ever_longer_where_the_server_says_nothing():
    server = Server(busy(), busy(), busy(Retry_After="tomorrow"), ok())
    server.client().me()
    low, middle, high = server.slept
    assert 0.25 <= low <= 0.75 < 1.5 < 3.1  # each between half and one and a half of 0.5, 1 and 2
    assert 0.5 <= middle <= 1.5
    assert 1 <= high <= 3


def test_a_write_that_is_still_being_done_is_waited_for():
    server = Server(busy(409, Retry_After="1"), ok())
    server.client().studies.join("token")
    assert (len(server.asked), server.slept) == (2, [1])


def test_it_gives_up_in_the_end():
    server = Server(*[busy(503) for _ in range(3)])
    with pytest.raises(ConcordError) as caught:
        server.client(attempts=3).me()
    assert (caught.value.status, len(server.asked)) == (503, 3)
    gone = Server(*[httpx2.ConnectError("refused") for _ in range(3)])
    with pytest.raises(ConcordError, match="could not be reached: refused"):
        gone.client(attempts=3).me()


@pytest.mark.parametrize("error", [httpx2.UnsupportedProtocol, httpx2.LocalProtocolError])
def test_a_request_that_cannot_be_sent_is_not_tried_again(error: type[httpx2.TransportError]):
    server = Server(error("no https://"))
    with pytest.raises(ConcordError, match="could not be reached: no https://"):
        server.client().me()
    assert server.slept == []


def test_a_no_is_not_asked_again_and_says_what_is_wrong_where():
    fault = {"field": "slug", "message": "is taken"}
    body = {"title": "slug_taken", "status": 409, "detail": "Choose another.", "errors": [fault]}
    problem = httpx2.Response(409, json=body, headers={"Content-Type": "application/problem+json"})
    server = Server(problem)
    with pytest.raises(
        ConcordError, match=r"Choose another\. \(409 slug_taken\)\n  slug: is taken"
    ) as caught:
        server.client().studies.create("s", title="S", preset="orca")
    assert (caught.value.code, caught.value.fields, len(server.asked)) == ("slug_taken", [fault], 1)


def test_a_page_that_is_no_problem_of_ours_is_told_as_it_is():
    server = Server(httpx2.Response(500, text="<html>proxy</html>"))
    with pytest.raises(ConcordError, match="<html>proxy</html>"):
        server.client().me()


def test_lists_are_read_page_by_page_as_they_are_read_on():
    first = ok({"results": [{"id": 1}, {"id": 2}], "next": "/api/v1/studies/s/items/?limit=2&after=2"})
    server = Server(first, ok({"results": [{"id": 3}], "next": None}))
    items = server.client().studies.items("s")
    assert next(items) == {"id": 1}
    assert len(server.asked) == 1
    assert [item["id"] for item in items] == [2, 3]
    assert str(server.asked[1].url) == "http://server/api/v1/studies/s/items/?limit=2&after=2"


def test_a_link_of_the_servers_leads_nowhere_else():
    page = ok({"results": [], "next": "http://elsewhere/api/v1/studies/"})
    server = Server(page, ok({"results": [], "next": None}))
    assert list(server.client().studies.all()) == []
    assert server.asked[1].url.host == "server"


def test_several_values_of_one_parameter_are_sent_and_none_is_left_out():
    server = Server(ok({"results": [], "next": None}))
    list(server.client().review.queue("s", strata=["a=1", "b=2"], rule=None))
    assert server.asked[0].url.query == b"strata=a%3D1&strata=b%3D2"


def test_what_still_holds_is_not_sent_again_where_that_is_asked_for():
    server = Server(ok({"name": "Ada"}, ETag='"1"'), httpx2.Response(304))
    client = server.client(cached=True)
    assert client.me() == client.me() == {"name": "Ada"}
    assert server.asked[1].headers["If-None-Match"] == '"1"'

    server = Server(ok({"name": "Ada"}, ETag='"1"'), ok({"name": "Eve"}))
    client = server.client()
    assert [client.me()["name"], client.me()["name"]] == ["Ada", "Eve"]
    assert "If-None-Match" not in server.asked[1].headers


def test_a_file_is_sent_whole_again_when_it_is_tried_again(tmp_path: Path):
    table = tmp_path / "table.csv"
    table.write_text("item_id\n1\n")
    server = Server(httpx2.WriteError("broke off"), ok({"id": "j"}))
    job = server.client().imports.start("s", table, format="csv", column_map={"a": "prompt"}, dry_run=True)
    assert job == {"id": "j"}
    for request in server.asked:
        assert b"item_id\n1\n" in request.content
        assert b'{"a": "prompt"}' in request.content
        assert b'name="dry_run"\r\n\r\ntrue' in request.content


# Files on their way to the server: never whole in memory, one open at a time, and the same on each attempt.


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
