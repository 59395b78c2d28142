"""SSRF guard: the only door to addresses that users give.

A host is resolved once, every IP is checked, and the connection goes to the checked IP, so DNS rebinding changes
nothing. Every redirect is checked like the first address. Private networks, cloud metadata addresses and other ports
are refused unless the operator allows the host (CONCORD_OUTBOUND_ALLOW).
"""

from __future__ import annotations

import re
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

import httpcore2
from django.conf import settings

from annotation.errors import DomainError, InvalidInput

IP = IPv4Address | IPv6Address
MAX_ADDRESS_LENGTH = 2000
_PORTS = {"http": 80, "https": 443}
# Blanks and control characters, and the backslash, which some programs read as a slash and others do not.
_FORBIDDEN_CHARACTERS = re.compile(r"[\x00-\x20\x7f\\]")

# Cloud metadata services, which hand out a machine's credentials. Never allowed, by name or by IP.
METADATA_NAMES = frozenset({
    "metadata", "metadata.google.internal", "metadata.goog", "metadata.azure.internal", "metadata.tencentyun.com",
    "metadata.oraclecloud.com", "instance-data", "instance-data.ec2.internal",
})  # fmt: skip
# AWS and most others; AWS over IPv6; Alibaba; Oracle; Azure's own channel, a public number; ECS tasks.
_METADATA_IPS = frozenset(map(ip_address, (
    "169.254.169.254", "fd00:ec2::254", "100.100.100.200", "192.0.0.192", "168.63.129.16", "169.254.170.2",
)))  # fmt: skip
# Networks that `is_global` lets pass, but that lead elsewhere: IPv6 that carries an IPv4 address (mapped, compatible,
# NAT64, 6to4 and its relay, Teredo), and site-local networks.
_IPV4_CARRYING_NETWORKS = tuple(map(ip_network, (
    "::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32",
    "192.88.99.0/24", "fec0::/10",
)))  # fmt: skip


class InvalidAddress(ValueError):
    """What is wrong with an address, as the end of a sentence that begins with it."""


@dataclass(frozen=True)
class Address:
    """A web address parsed once: what is checked is what is requested. `target` is path and query."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def origin(self) -> str:
        """As a Host header writes it: without the port that goes without saying."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.origin}{self.target}"


def parse_address(text: str) -> Address:
    """Raises InvalidAddress."""
    if len(text) > MAX_ADDRESS_LENGTH:
        raise InvalidAddress(f"is longer than {MAX_ADDRESS_LENGTH} characters")
    if _FORBIDDEN_CHARACTERS.search(text):
        raise InvalidAddress("holds a blank, a backslash or a control character")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise InvalidAddress("is not written as an address is") from error
    if parts.scheme not in _PORTS:
        raise InvalidAddress("begins with neither https:// nor http://")
    if "@" in parts.netloc:
        raise InvalidAddress("holds a user name or a password")
    target = quote(parts.path or "/", safe="/%:@!$&'()*+,;=-._~")
    if parts.query:
        target += "?" + quote(parts.query, safe="/%:@!$&'()*+,;=-._~?")
    port = _PORTS[parts.scheme] if port is None else port
    return Address(parts.scheme, _host(parts.hostname or ""), port, target)


def _host(name: str) -> str:
    """A host's name as resolvers take it."""
    if ":" in name:
        try:
            return str(IPv6Address(name))
        except ValueError as error:
            raise InvalidAddress("names no host") from error
    try:
        host = name.rstrip(".").encode("idna").decode("ascii").lower()
    except UnicodeError as error:
        raise InvalidAddress("names no host") from error
    if not re.fullmatch(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?", host):
        raise InvalidAddress("names no host")
    return host


@dataclass(frozen=True)
class AllowedHosts:
    """Hosts and networks that the operator allows beside public ones, on every port."""

    hosts: frozenset[str] = frozenset()
    networks: tuple[IPv4Network | IPv6Network, ...] = ()

    @classmethod
    def parse(cls, places: Iterable[str]) -> AllowedHosts:
        """Names, IPs and networks as CONCORD_OUTBOUND_ALLOW lists them."""
        hosts, networks = set(), []
        for place in places:
            try:
                networks.append(ip_network(place.strip("[]"), strict=False))
            except ValueError:
                hosts.add(place.rstrip(".").lower())
        return cls(frozenset(hosts), tuple(networks))

    def contains(self, host: str, ip: IP) -> bool:
        return host in self.hosts or any(ip in network for network in self.networks)


def refusal_reason(host: str, port: int, ips: Iterable[IP], allowed: AllowedHosts) -> str:
    """Why a host with these IPs may not be connected to, as the end of a sentence that begins with it; empty if it may.

    One IP that is refused refuses the host: several IPs of one name would be a way round the check.
    """
    if host in METADATA_NAMES:
        return "is where a machine's own credentials are"
    for ip in ips:
        if ip in _METADATA_IPS:
            return "is where a machine's own credentials are"
        if allowed.contains(host, ip):
            continue
        is_special = ip.is_multicast or ip.is_reserved or ip.is_unspecified or ip.is_link_local
        if not ip.is_global or is_special or any(ip in network for network in _IPV4_CARRYING_NETWORKS):
            return "leads into a network that is not public"
        if port not in _PORTS.values():
            return f"is asked for at port {port}; only 80 and 443 are open"
    return ""


MAX_REDIRECTS = 5
# Timeouts of one connect and one read. `timeout_s` bounds the whole request with its body.
CONNECT_TIMEOUT_S, READ_TIMEOUT_S = 10.0, 20.0
_REDIRECT_STATUSES = (301, 302, 303, 307, 308)
_ALLOWLIST_HINT = "or ask whoever runs this site to add the host to CONCORD_OUTBOUND_ALLOW"


class AddressRefused(InvalidInput):
    """The SSRF guard refuses this address."""

    code = "address_refused"


class NoResponse(DomainError):
    """No response, or not in time. A retry may succeed."""

    status = 502
    code = "no_answer"


@dataclass(frozen=True)
class Response:
    """A response. `headers` by lower-case name; the body is streamed."""

    address: str
    status: int
    headers: Mapping[str, str]
    chunks: Callable[[], Iterator[bytes]]

    def read_up_to(self, limit: int) -> bytes:
        """The first bytes of the body, at most `limit`."""
        body = b""
        for chunk in self.chunks():
            body += chunk
            if len(body) >= limit:
                break
        return body[:limit]


def check_address(text: str) -> None:
    """Raises AddressRefused where the guard refuses this address now. Each request checks it again: DNS may change."""
    address = _parse_or_refuse(text)
    try:
        _resolve(address.host, address.port)
    except NoResponse as error:
        raise AddressRefused(error.message) from error


@contextmanager
def request(
    text: str,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    content: bytes | None = None,
    timeout_s: float,
    redirects: int = MAX_REDIRECTS,
) -> Iterator[Response]:
    """The response to one request, after its redirects.

    Raises AddressRefused and NoResponse; so does reading the body. `timeout_s` bounds it all, to the last byte read.
    """
    address, deadline = _parse_or_refuse(text), time.monotonic() + timeout_s
    while True:
        with _request_once(address, method, headers or {}, content, deadline) as response:
            redirected = response.status in _REDIRECT_STATUSES and "location" in response.headers
            if not redirected or method != "GET":
                yield response
                return
            if redirects == 0:
                raise NoResponse(f"{text} leads from one address to the next. Use the one it leads to.")
            redirects -= 1
            address = _redirect_target(address, response.headers["location"])


def _redirect_target(address: Address, location: str) -> Address:
    try:
        there = _parse_or_refuse(urljoin(str(address), location))
    except ValueError as error:
        raise AddressRefused(f"{address} leads on to what is no address.") from error
    if address.scheme == "https" and there.scheme == "http":
        raise AddressRefused(f"{address} leads on to one without encryption. Use an https address.")
    return there


def _parse_or_refuse(text: str) -> Address:
    try:
        return parse_address(text)
    except InvalidAddress as error:
        raise AddressRefused(f"{text[:200]!r} {error}. Use an address such as https://host/path.") from error


@contextmanager
def _request_once(
    address: Address, method: str, headers: Mapping[str, str], content: bytes | None, deadline: float
) -> Iterator[Response]:
    # Whatever comes packed could unpack to any size.
    sent = {"Host": address.origin, "User-Agent": "Concord", "Accept-Encoding": "identity", **headers}
    url = httpcore2.URL(
        scheme=address.scheme, host=address.host, port=address.port, target=address.target.encode("ascii")
    )
    timeouts = {"connect": CONNECT_TIMEOUT_S, "read": READ_TIMEOUT_S, "write": READ_TIMEOUT_S}
    # No proxies: one would look names up by itself, and check nothing. Headers are cut off at 100 kB (h11).
    with (
        httpcore2.ConnectionPool(
            ssl_context=_ssl_context(), max_connections=1, network_backend=_PinnedNetwork(deadline)
        ) as pool,
        _network_errors_translated(address),
        pool.stream(
            method, url, headers=list(sent.items()), content=content, extensions={"timeout": timeouts}
        ) as response,
    ):
        received = (
            (name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in response.headers
        )

        def chunks() -> Iterator[bytes]:
            with _network_errors_translated(address):
                yield from response.iter_stream()

        yield Response(str(address), response.status, dict(received), chunks)


@contextmanager
def _network_errors_translated(address: Address) -> Iterator[None]:
    try:
        yield
    except httpcore2.TimeoutException as error:
        raise NoResponse(f"{address.origin} took too long to answer. Try again later.") from error
    except (httpcore2.NetworkError, httpcore2.ProtocolError, ssl.SSLError) as error:
        reason = str(error) or type(error).__name__
        message = f"{address.origin} gave no answer ({reason[:200]}). Is the address right?"
        raise NoResponse(message) from error


@cache
def _ssl_context() -> ssl.SSLContext:
    """Reading the certificates takes longer than most requests."""
    return httpcore2.default_ssl_context()


def _resolve(host: str, port: int) -> list[str]:
    """The IPs of a host, each checked. Raises AddressRefused, NoResponse."""
    try:
        infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NoResponse(f"{host} is not known. Check the address for a slip of the pen.") from error
    # A link-local number comes with the name of an interface, which is no part of it.
    ips: list[IP] = [ip_address(str(where[0]).partition("%")[0]) for *_, where in infos]
    if reason := refusal_reason(host, port, ips, AllowedHosts.parse(settings.OUTBOUND_ALLOW)):
        raise AddressRefused(f"{host} {reason}. Use one that everybody can reach, {_ALLOWLIST_HINT}.")
    return list(dict.fromkeys(map(str, ips)))


class _PinnedNetwork(httpcore2.NetworkBackend):
    """Connects to the checked IP, against DNS rebinding; TLS still verifies the certificate of the name."""

    def __init__(self, deadline: float) -> None:
        self._plain = httpcore2.SyncBackend()
        self._deadline = deadline

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        failed: Exception = httpcore2.ConnectError(f"{host} has no number")
        for ip in _resolve(host, port):
            try:
                left = _remaining_seconds(self._deadline, timeout)
                stream = self._plain.connect_tcp(ip, port, left, local_address, socket_options)
                return _DeadlineStream(stream, self._deadline)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failed = error
        raise failed


class _DeadlineStream(httpcore2.NetworkStream):
    """A connection with a deadline: a server that sends a byte now and then cannot hold a worker."""

    def __init__(self, stream: httpcore2.NetworkStream, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _remaining_seconds(self._deadline, timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _remaining_seconds(self._deadline, timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        left = _remaining_seconds(self._deadline, timeout)
        return _DeadlineStream(self._stream.start_tls(ssl_context, server_hostname, left), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _remaining_seconds(deadline: float, timeout: float | None) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise httpcore2.ReadTimeout("the time for all of it is over")
    return left if timeout is None else min(left, timeout)
