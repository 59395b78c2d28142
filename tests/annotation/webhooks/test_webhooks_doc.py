"""The code that docs/webhooks.md gives to receivers."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from annotation.webhooks.rules import signature

DOC = Path(__file__).resolve().parents[3] / "docs" / "webhooks.md"
BODY = '{"event":"judgment.submitted"}'


@pytest.fixture(scope="module")
def is_genuine():
    code = re.search(r"```python\n(.*?)```", DOC.read_text(), re.DOTALL)[1]
    names: dict = {}
    exec(compile(code, str(DOC), "exec"), names)
    return names["is_genuine"]


def test_it_takes_what_is_sent(is_genuine):
    header = signature(["secret"], BODY, at=int(time.time()))
    assert is_genuine("secret", header, BODY.encode())


def test_it_takes_either_secret_while_one_takes_over(is_genuine):
    header = signature(["new", "old"], BODY, at=int(time.time()))
    assert is_genuine("new", header, BODY.encode())
    assert is_genuine("old", header, BODY.encode())


@pytest.mark.parametrize(
    ("secret", "body", "age"), [("other", BODY, 0), ("secret", BODY + " ", 0), ("secret", BODY, 3600)]
)
def test_it_takes_nothing_else(is_genuine, secret, body, age):
    header = signature(["secret"], BODY, at=int(time.time()) - age)
    assert not is_genuine(secret, header, body.encode())


@pytest.mark.parametrize("header", ["", "t=,v1=", "v1=abc", "t=abc,v1=abc", "t=99999999999999999999,v1=x"])
def test_it_takes_no_nonsense(is_genuine, header):
    assert not is_genuine("secret", header, BODY.encode())
