"""Where a request comes from, as far as that can be believed."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest


def address_of(request: HttpRequest) -> str:
    """The caller's address: who connected, or whom the proxy in front names. IPv6 by its network: one household or
    server has 2^64 of them."""
    found = str(request.META.get("REMOTE_ADDR", ""))
    if settings.BEHIND_PROXY:
        # The last is what our own proxy saw; those before it are what the caller says.
        found = request.headers.get("X-Forwarded-For", found).rpartition(",")[2].strip()
    try:
        address = ip_address(found)
    except ValueError:
        return "unknown"
    return str(ip_network((address, 64), strict=False)) if isinstance(address, IPv6Address) else str(address)
