"""Which addresses on the network somebody's address may lead to: those that everybody can reach, and those that
whoever runs the site allows. Everything else is somebody's own network, ours above all."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import quote, urlsplit

IP = IPv4Address | IPv6Address
LONGEST = 2000
_PORTS = {"http": 80, "https": 443}
# Blanks and control characters, and the backslash, which some programs read as a slash and others do not.
_UNWRITABLE = re.compile(r"[\x00-\x20\x7f\\]")

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
_METADATA = frozenset(
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
_CARRIERS = tuple(
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


class BadAddress(ValueError):
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


def parse(text: str) -> Address:
    """Raises BadAddress."""
    if len(text) > LONGEST:
        raise BadAddress(f"is longer than {LONGEST} characters")
    if _UNWRITABLE.search(text):
        raise BadAddress("holds a blank, a backslash or a control character")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise BadAddress("is not written as an address is") from error
    if parts.scheme not in _PORTS:
        raise BadAddress("begins with neither https:// nor http://")
    if "@" in parts.netloc:
        raise BadAddress("holds a user name or a password")
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
            raise BadAddress("names no host") from error
    try:
        host = name.rstrip(".").encode("idna").decode("ascii").lower()
    except UnicodeError as error:
        raise BadAddress("names no host") from error
    if not re.fullmatch(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?", host):
        raise BadAddress("names no host")
    return host


@dataclass(frozen=True)
class Allowed:
    """Hosts and networks that whoever runs the site allows beyond what everybody can reach, on every port."""

    hosts: frozenset[str] = frozenset()
    networks: tuple[IPv4Network | IPv6Network, ...] = ()

    @classmethod
    def of(cls, places: Iterable[str]) -> Allowed:
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


def why_not(host: str, port: int, ips: Iterable[IP], allowed: Allowed) -> str:
    """Why a host at these numbers may not be asked, as the end of a sentence that begins with it; empty if it may.

    One number that is refused refuses them all: a name that leads to several places is a way of trying them.
    """
    if host in METADATA_NAMES:
        return "is where a machine's own credentials are"
    for ip in ips:
        if ip in _METADATA:
            return "is where a machine's own credentials are"
        if allowed.holds(host, ip):
            continue
        if not _is_public(ip):
            return "leads into a network that is not public"
        if port not in _PORTS.values():
            return f"is asked for at port {port}; only 80 and 443 are open"
    return ""


def _is_public(ip: IP) -> bool:
    if any(ip in network for network in _CARRIERS):
        return False
    return ip.is_global and not (ip.is_multicast or ip.is_reserved or ip.is_unspecified or ip.is_link_local)
