from __future__ import annotations

import socket
import threading

import httpcore2
import pytest

from annotation import http_guard
from tests.annotation.importing.web import serving


@pytest.fixture(autouse=True)
def _in_house(settings):
    settings.OUTBOUND_ALLOW = ["127.0.0.1"]


def _fetched(address: str, **how) -> http_guard.Response:
    with http_guard.request(address, seconds=how.pop("seconds", 5), **how) as answer:
        answer.beginning(1)
    return answer


def test_it_fetches_what_is_allowed():
    with (
        serving(lambda asked: (200, {"Content-Type": "audio/wav"}, b"sound")) as server,
        http_guard.request(f"{server.address}/a.wav?x=1", seconds=5) as answer,
    ):
        assert answer.status == 200
        assert answer.headers["content-type"] == "audio/wav"
        assert answer.beginning(3) == b"sou"
    assert server.asked[0].path == "/a.wav?x=1"
    assert server.asked[0].headers["Host"] == server.address.removeprefix("http://")


def test_what_is_not_allowed_is_not_even_connected_to(settings):
    settings.OUTBOUND_ALLOW = []
    with serving(lambda asked: (200, {}, b"")) as server:
        port = server.address.rpartition(":")[2]
        for host in ("127.0.0.1", "localhost", "127.1", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"):
            with pytest.raises(http_guard.AddressRefused, match="CONCORD_OUTBOUND_ALLOW"):
                _fetched(f"http://{host}:{port}/")
    assert server.asked == []


def test_a_refusal_does_not_tell_what_a_name_leads_to(monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [_found("10.3.2.1")])
    with pytest.raises(http_guard.AddressRefused) as refused:
        http_guard.check_address("https://inside.example/")
    assert "10.3.2.1" not in refused.value.message


def test_the_number_that_was_checked_is_the_one_connected_to(monkeypatch):
    """A name that leads to a public place while it is checked, and home right after."""
    answers = iter(["93.184.216.34", "127.0.0.1", "127.0.0.1"])
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [_found(next(answers))])
    gone_to = []

    def connect(self, host, *_, **__):
        gone_to.append(host)
        raise httpcore2.ConnectError("nobody there")

    monkeypatch.setattr(httpcore2.SyncBackend, "connect_tcp", connect)
    with pytest.raises(http_guard.NoResponse):
        _fetched("http://rebinding.example/")
    assert gone_to == ["93.184.216.34"]


def test_a_redirect_is_looked_at_as_the_first_address_was():
    places = {
        "/in": "http://10.0.0.1/",
        "/file": "file:///etc/passwd",
        "/meta": "http://169.254.169.254/",
        "/half": "http://[evil/x",
    }
    with serving(lambda asked: (302, {"Location": places[asked.path]}, b"")) as server:
        for path in places:
            with pytest.raises(http_guard.AddressRefused):
                _fetched(server.address + path)


def test_redirects_are_followed_so_far_and_no_further():
    with serving(lambda asked: (302, {"Location": f"{asked.path}x"}, b"")) as server:
        with pytest.raises(http_guard.NoResponse, match="from one address to the next"):
            _fetched(f"{server.address}/x")
        assert len(server.asked) == http_guard.MAX_REDIRECTS + 1
    with serving(lambda asked: (302, {"Location": "/b"}, b"") if asked.path == "/a" else (200, {}, b"")) as s:
        assert _fetched(f"{s.address}/a").address.endswith("/b")


def test_proxies_of_the_environment_are_not_used(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with serving(lambda asked: (200, {}, b"")) as server:
        assert _fetched(server.address).status == 200


def test_a_server_that_sends_a_byte_now_and_then_holds_nobody_up():
    listening = socket.create_server(("127.0.0.1", 0))
    done = threading.Event()

    def dribble() -> None:
        connection, _ = listening.accept()
        with connection:
            while not done.wait(0.05):
                try:
                    connection.send(b"H")
                except OSError:
                    return

    thread = threading.Thread(target=dribble)
    thread.start()
    with pytest.raises(http_guard.NoResponse, match="too long"):
        _fetched(f"http://127.0.0.1:{listening.getsockname()[1]}/", seconds=0.3)
    done.set()
    thread.join()
    listening.close()


def test_endless_headers_are_no_answer():
    with (
        serving(lambda asked: (200, {"X-Long": "a" * 200_000}, b"")) as server,
        pytest.raises(http_guard.NoResponse),
    ):
        _fetched(server.address)


def test_a_host_that_nobody_knows_is_no_answer(monkeypatch):
    def unknown(*_, **__):
        raise socket.gaierror("no such host")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(http_guard.NoResponse, match="not known"):
        _fetched("http://nowhere.example/")
    with pytest.raises(http_guard.AddressRefused, match="not known"):
        http_guard.check_address("http://nowhere.example/")


def _found(number: str) -> tuple:
    return (socket.AF_INET, socket.SOCK_STREAM, 6, "", (number, 80))
