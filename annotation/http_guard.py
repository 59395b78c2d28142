"""The only door to addresses that users give. Where it leads is looked up once, checked, and gone to: a name that
leads elsewhere a moment later leads nowhere. Every redirect is looked at as the first address was."""

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

# Which addresses on the network somebody's address may lead to: those that everybody can reach, and those
# that whoever runs the site allows. Everything else is somebody's own network, ours above all.


IP = IPv4Address | IPv6Address
MAX_ADDRESS_LENGTH = 2000
_PORTS = {"http": 80, "https": 443}
# Blanks and control characters, and the backslash, which some programs read as a slash and others do not.
_FORBIDDEN_CHARACTERS = re.compile(r"[\x00-\x20\x7f\\]")

# Where machines in a cloud ask for their own credentials. Never allowed, by name or by number.
METADATA_NAMES = frozenset(
    {
        "metadata",
        "metadata.google.internal",
        "metadata.goog",
        "metadata.azure.internal",
        "metadata.tencentyun.com",
        "metadata.oraclecloud.com",
        "instance-data",
        "instance-data.ec2.internal",
    }
)
_METADATA_IPS = frozenset(
    map(
        ip_address,
        # AWS and most others; AWS over IPv6; Alibaba; Oracle; Azure's own channel, a public number; ECS tasks.
        (
            "169.254.169.254",
            "fd00:ec2::254",
            "100.100.100.200",
            "192.0.0.192",
            "168.63.129.16",
            "169.254.170.2",
        ),
    )
)
# What `is_global` leaves open and still leads elsewhere than it says: forms of IPv6 that carry an IPv4 address (mapped,
# compatible, NAT64, 6to4 and its relay, Teredo) and networks of one site.
_IPV4_CARRYING_NETWORKS = tuple(
    map(
        ip_network,
        (
            "::/96",
            "::ffff:0:0/96",
            "::ffff:0:0:0/96",
            "64:ff9b::/96",
            "64:ff9b:1::/48",
            "2002::/16",
            "2001::/32",
            "192.88.99.0/24",
            "fec0::/10",
        ),
    )
)


class InvalidAddress(ValueError):
    """What is wrong with an address, as the end of a sentence that begins with it."""


@dataclass(frozen=True)
class Address:
    """A web address taken apart once: what is checked is what is asked for. `target` is path and query."""

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
    """Raises BadAddress."""
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
    return Address(
        parts.scheme, _host(parts.hostname or ""), _PORTS[parts.scheme] if port is None else port, target
    )


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
    """Hosts and networks that whoever runs the site allows beyond what everybody can reach, on every port."""

    hosts: frozenset[str] = frozenset()
    networks: tuple[IPv4Network | IPv6Network, ...] = ()

    @classmethod
    def of(cls, places: Iterable[str]) -> AllowedHosts:
        """Names, numbers and networks as CONCORD_OUTBOUND_ALLOW lists them."""
        hosts, networks = set(), []
        for place in places:
            try:
                networks.append(ip_network(place.strip("[]"), strict=False))
            except ValueError:
                hosts.add(place.rstrip(".").lower())
        return cls(frozenset(hosts), tuple(networks))

    def holds(self, host: str, ip: IP) -> bool:
        return host in self.hosts or any(ip in network for network in self.networks)


def refusal_reason(host: str, port: int, ips: Iterable[IP], allowed: AllowedHosts) -> str:
    """Why a host at these numbers may not be asked, as the end of a sentence that begins with it; empty if it may.

    One number that is refused refuses them all: a name that leads to several places is a way of trying them.
    """
    if host in METADATA_NAMES:
        return "is where a machine's own credentials are"
    for ip in ips:
        if ip in _METADATA_IPS:
            return "is where a machine's own credentials are"
        if allowed.holds(host, ip):
            continue
        if not _is_public(ip):
            return "leads into a network that is not public"
        if port not in _PORTS.values():
            return f"is asked for at port {port}; only 80 and 443 are open"
    return ""


def _is_public(ip: IP) -> bool:
    if any(ip in network for network in _IPV4_CARRYING_NETWORKS):
        return False
    return ip.is_global and not (ip.is_multicast or ip.is_reserved or ip.is_unspecified or ip.is_link_local)


MAX_REDIRECTS = 5
# Each look at the network waits so long at the most; all of a request, its answer included, `seconds`.
CONNECT_TIMEOUT_S, READ_TIMEOUT_S = 10.0, 20.0
_REDIRECT_STATUSES = (301, 302, 303, 307, 308)
_ALLOWLIST_HINT = "or ask whoever runs this site to add the host to CONCORD_OUTBOUND_ALLOW"


class AddressRefused(InvalidInput):
    """This address is never asked for anything."""

    code = "address_refused"


class NoResponse(DomainError):
    """Nothing came back, or not in time. The next try may fare better."""

    status = 502
    code = "no_answer"


@dataclass(frozen=True)
class Response:
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


def check_address(text: str) -> None:
    """Raises AddressRefused where this address may not be asked as the network is now. It is checked again each time
    it is: what a name leads to may change."""
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
    seconds: float,
    redirects: int = MAX_REDIRECTS,
) -> Iterator[Response]:
    """The answer to one request, however many redirects away.

    Raises AddressRefused, NoAnswer; so does reading the body. `seconds` bounds it all, to the last byte read.
    """
    address, until = _parse_or_refuse(text), time.monotonic() + seconds
    while True:
        with _request_once(address, method, headers or {}, content, until) as answer:
            if answer.status not in _REDIRECT_STATUSES or "location" not in answer.headers or method != "GET":
                yield answer
                return
            if redirects == 0:
                raise NoResponse(f"{text} leads from one address to the next. Use the one it leads to.")
            redirects -= 1
            address = _redirect_target(address, answer.headers["location"])


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
    address: Address, method: str, headers: Mapping[str, str], content: bytes | None, until: float
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
            ssl_context=_ssl_context(), max_connections=1, network_backend=_PinnedNetwork(until)
        ) as pool,
        _network_errors_translated(address),
        pool.stream(
            method, url, headers=list(sent.items()), content=content, extensions={"timeout": timeouts}
        ) as response,
    ):
        said = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
        yield Response(str(address), response.status, said, lambda: _read_body(response, address))


def _read_body(response: httpcore2.Response, address: Address) -> Iterator[bytes]:
    with _network_errors_translated(address):
        yield from response.iter_stream()


@contextmanager
def _network_errors_translated(address: Address) -> Iterator[None]:
    try:
        yield
    except httpcore2.TimeoutException as error:
        raise NoResponse(f"{address.origin} took too long to answer. Try again later.") from error
    except (httpcore2.NetworkError, httpcore2.ProtocolError, ssl.SSLError) as error:
        reason = str(error) or type(error).__name__
        raise NoResponse(
            f"{address.origin} gave no answer ({reason[:200]}). Is the address right?"
        ) from error


@cache
def _ssl_context() -> ssl.SSLContext:
    """Reading the certificates takes longer than most requests."""
    return httpcore2.default_ssl_context()


def _resolve(host: str, port: int) -> list[str]:
    """Where a host is, each place checked. Raises AddressRefused, NoAnswer."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NoResponse(f"{host} is not known. Check the address for a slip of the pen.") from error
    # A link-local number comes with the name of an interface, which is no part of it.
    ips: list[IP] = [ip_address(str(where[0]).partition("%")[0]) for *_, where in found]
    if reason := refusal_reason(host, port, ips, AllowedHosts.of(settings.OUTBOUND_ALLOW)):
        raise AddressRefused(f"{host} {reason}. Use one that everybody can reach, {_ALLOWLIST_HINT}.")
    return list(dict.fromkeys(map(str, ips)))


class _PinnedNetwork(httpcore2.NetworkBackend):
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
        for number in _resolve(host, port):
            try:
                stream = self._plain.connect_tcp(
                    number, port, _remaining_seconds(self._until, timeout), local_address, socket_options
                )
                return _DeadlineStream(stream, self._until)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failed = error
        raise failed


class _DeadlineStream(httpcore2.NetworkStream):
    """A connection that ends at a time: a server that sends a byte now and then holds nobody up."""

    def __init__(self, stream: httpcore2.NetworkStream, until: float) -> None:
        self._stream = stream
        self._until = until

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _remaining_seconds(self._until, timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _remaining_seconds(self._until, timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        return _DeadlineStream(
            self._stream.start_tls(ssl_context, server_hostname, _remaining_seconds(self._until, timeout)),
            self._until,
        )

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _remaining_seconds(until: float, timeout: float | None) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise httpcore2.ReadTimeout("the time for all of it is over")
    return left if timeout is None else min(left, timeout)
