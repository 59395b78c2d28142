"""The only door to addresses that users give. Where it leads is looked up once, checked, and gone to: a name that
leads elsewhere a moment later leads nowhere. Every redirect is looked at as the first address was."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from ipaddress import ip_address
from typing import Any
from urllib.parse import urljoin

import httpcore2
from django.conf import settings

from annotation.errors import DomainError, InvalidInput
from annotation.rules.addresses import IP, Address, Allowed, BadAddress, parse, why_not

REDIRECTS = 5
# Each look at the network waits so long at the most; all of a request, its answer included, `seconds`.
CONNECT_S, SILENCE_S = 10.0, 20.0
_SEES_OTHER = (301, 302, 303, 307, 308)
_ALLOW = "or ask whoever runs this site to add the host to CONCORD_OUTBOUND_ALLOW"


class AddressRefused(InvalidInput):
    """This address is never asked for anything."""

    code = "address_refused"


class NoAnswer(DomainError):
    """Nothing came back, or not in time. The next try may fare better."""

    status = 502
    code = "no_answer"


@dataclass(frozen=True)
class Answer:
    """What a server said. `headers` by lower-case name; the body is read as it is asked for."""

    address: str
    status: int
    headers: Mapping[str, str]
    chunks: Callable[[], Iterator[bytes]]

    def beginning(self, most: int) -> bytes:
        """The first bytes of the body, `most` at the most."""
        found = b""
        for chunk in self.chunks():
            found += chunk
            if len(found) >= most:
                break
        return found[:most]


def check(text: str) -> None:
    """Raises AddressRefused where this address may not be asked as the network is now. It is checked again each time
    it is: what a name leads to may change."""
    address = _parsed(text)
    try:
        _numbers(address.host, address.port)
    except NoAnswer as error:
        raise AddressRefused(error.message) from error


@contextmanager
def asked(
    text: str,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    content: bytes | None = None,
    seconds: float,
    redirects: int = REDIRECTS,
) -> Iterator[Answer]:
    """The answer to one request, however many redirects away.

    Raises AddressRefused, NoAnswer; so does reading the body. `seconds` bounds it all, to the last byte read.
    """
    address, until = _parsed(text), time.monotonic() + seconds
    while True:
        with _once(address, method, headers or {}, content, until) as answer:
            if answer.status not in _SEES_OTHER or "location" not in answer.headers or method != "GET":
                yield answer
                return
            if redirects == 0:
                raise NoAnswer(f"{text} leads from one address to the next. Use the one it leads to.")
            redirects -= 1
            address = _next(address, answer.headers["location"])


def _next(address: Address, location: str) -> Address:
    try:
        there = _parsed(urljoin(str(address), location))
    except ValueError as error:
        raise AddressRefused(f"{address} leads on to what is no address.") from error
    if address.scheme == "https" and there.scheme == "http":
        raise AddressRefused(f"{address} leads on to one without encryption. Use an https address.")
    return there


def _parsed(text: str) -> Address:
    try:
        return parse(text)
    except BadAddress as error:
        raise AddressRefused(f"{text[:200]!r} {error}. Use an address such as https://host/path.") from error


@contextmanager
def _once(
    address: Address, method: str, headers: Mapping[str, str], content: bytes | None, until: float
) -> Iterator[Answer]:
    # Whatever comes packed could unpack to any size.
    sent = {"Host": address.origin, "User-Agent": "Concord", "Accept-Encoding": "identity", **headers}
    url = httpcore2.URL(
        scheme=address.scheme, host=address.host, port=address.port, target=address.target.encode("ascii")
    )
    timeouts = {"connect": CONNECT_S, "read": SILENCE_S, "write": SILENCE_S}
    # No proxies: one would look names up by itself, and check nothing. Headers are cut off at 100 kB (h11).
    with (
        httpcore2.ConnectionPool(
            ssl_context=_ssl_context(), max_connections=1, network_backend=_Network(until)
        ) as pool,
        _in_words(address),
        pool.stream(
            method, url, headers=list(sent.items()), content=content, extensions={"timeout": timeouts}
        ) as response,
    ):
        said = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
        yield Answer(str(address), response.status, said, lambda: _body(response, address))


def _body(response: httpcore2.Response, address: Address) -> Iterator[bytes]:
    with _in_words(address):
        yield from response.iter_stream()


@contextmanager
def _in_words(address: Address) -> Iterator[None]:
    try:
        yield
    except httpcore2.TimeoutException as error:
        raise NoAnswer(f"{address.origin} took too long to answer. Try again later.") from error
    except (httpcore2.NetworkError, httpcore2.ProtocolError, ssl.SSLError) as error:
        reason = str(error) or type(error).__name__
        raise NoAnswer(f"{address.origin} gave no answer ({reason[:200]}). Is the address right?") from error


@cache
def _ssl_context() -> ssl.SSLContext:
    """Reading the certificates takes longer than most requests."""
    return httpcore2.default_ssl_context()


def _numbers(host: str, port: int) -> list[str]:
    """Where a host is, each place checked. Raises AddressRefused, NoAnswer."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NoAnswer(f"{host} is not known. Check the address for a slip of the pen.") from error
    # A link-local number comes with the name of an interface, which is no part of it.
    ips: list[IP] = [ip_address(str(where[0]).partition("%")[0]) for *_, where in found]
    if reason := why_not(host, port, ips, Allowed.of(settings.OUTBOUND_ALLOW)):
        raise AddressRefused(f"{host} {reason}. Use one that everybody can reach, {_ALLOW}.")
    return list(dict.fromkeys(map(str, ips)))


class _Network(httpcore2.NetworkBackend):
    """Connects to the very number that was checked; TLS still asks for the certificate of the name."""

    def __init__(self, until: float) -> None:
        self._plain = httpcore2.SyncBackend()
        self._until = until

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        failed: Exception = httpcore2.ConnectError(f"{host} has no number")
        for number in _numbers(host, port):
            try:
                stream = self._plain.connect_tcp(
                    number, port, _left(self._until, timeout), local_address, socket_options
                )
                return _Bounded(stream, self._until)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failed = error
        raise failed


class _Bounded(httpcore2.NetworkStream):
    """A connection that ends at a time: a server that sends a byte now and then holds nobody up."""

    def __init__(self, stream: httpcore2.NetworkStream, until: float) -> None:
        self._stream = stream
        self._until = until

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(self._until, timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _left(self._until, timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        return _Bounded(
            self._stream.start_tls(ssl_context, server_hostname, _left(self._until, timeout)), self._until
        )

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _left(until: float, timeout: float | None) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise httpcore2.ReadTimeout("the time for all of it is over")
    return left if timeout is None else min(left, timeout)
