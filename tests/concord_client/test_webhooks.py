"""Whether a delivery is the server's own: what the server signs is checked as receivers check it."""

from __future__ import annotations

import pytest

from annotation.webhooks import rules
from concord_client import SignatureError, verify

BODY = '{"event": "study.state_changed", "title": "Glocken – Übung"}'
NOW = 1_800_000_000
SIGNED = rules.signature(["secret"], BODY, at=NOW)


def is_accepted(signature: str, *, secret: str, now: int = NOW) -> bool:
    try:
        verify(BODY.encode(), signature, secret=secret, now=now)
    except SignatureError:
        return False
    return True


def test_what_the_server_signed_is_its_own():
    assert is_accepted(SIGNED, secret="secret", now=NOW + 299)


@pytest.mark.parametrize("secret", ["old", "new"])
def test_while_secrets_change_either_will_do(secret: str):
    assert is_accepted(rules.signature(["new", "old"], BODY, at=NOW), secret=secret)


@pytest.mark.parametrize(
    ("body", "signature", "now"),
    [
        (BODY + " ", SIGNED, NOW),
        (BODY, SIGNED.replace("v1=", "v0="), NOW),
        (BODY, SIGNED.replace(f"t={NOW}", f"t={NOW + 1}"), NOW),
        (BODY, "", NOW),
        (BODY, "t=²,v1=x", NOW),
        (BODY, SIGNED, NOW + 301),
        (BODY, SIGNED, NOW - 301),
    ],
)
def test_anything_else_is_not(body: str, signature: str, now: int):
    with pytest.raises(SignatureError):
        verify(body.encode(), signature, secret="secret", now=now)


def test_another_secret_is_not_ours():
    with pytest.raises(SignatureError, match="not signed with this secret"):
        verify(BODY.encode(), SIGNED, secret="another", now=NOW)
