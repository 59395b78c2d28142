"""Rules of webhooks, and the code that docs/webhooks.md gives to receivers."""

from __future__ import annotations

import re
import time
from datetime import timedelta
from pathlib import Path

import pytest

from annotation.jobs import jobs
from annotation.webhooks import rules

ROOT = Path(__file__).resolve().parents[3]
DOC = ROOT / "docs" / "webhooks.md"
BODY = '{"event":"judgment.submitted"}'


@pytest.mark.parametrize(
    ("patterns", "event", "heard"),
    [
        (["*"], "study.state_changed", True),
        (["judgment.*"], "judgment.submitted", True),
        (["judgment.*"], "study.changed", False),
        (["import", "study.changed"], "study.changed", True),
        (["study"], "study.changed", False),
    ],
)
def test_a_pattern_hears_what_it_names(patterns, event, heard):
    assert rules.matches_event(patterns, event) is heard


@pytest.mark.parametrize("pattern", ["", "jugdment.*", "judgment.[a]", "Study.*", "study.*.x", "**"])
def test_a_pattern_that_can_hear_nothing_is_refused(pattern):
    assert rules.pattern_problem(pattern)


def test_every_event_that_is_recorded_can_be_named():
    """A new noun in the audit log is one that patterns take."""
    written = "\n".join(
        path.read_text()
        for app in ("annotation", "scoring", "analytics", "labeling_ui")
        for path in (ROOT / app).rglob("*.py")
    )
    nouns = set(re.findall(r'audit\.record\(\s*f?"([a-z_]+)\.', written))
    assert nouns >= {"study", "judgment", "import"}
    assert nouns - {"user"} <= set(rules.EVENT_NOUNS)


def test_every_kind_of_job_can_be_named():
    assert set(jobs.JOB_KINDS) <= set(rules.EVENT_NOUNS)


def test_a_signature_covers_time_and_body_with_each_secret():
    header = rules.signature(["new", "old"], "{}", at=1_700_000_000)
    # printf '1700000000.{}' | openssl dgst -sha256 -hmac new
    assert header == (
        "t=1700000000,v1=29810abc729e7b7322b3ce2c7456a99bca762870c031aa43455fd67b43aab3c0"
        ",v1=2b5e6fc3cac3432cb8a3476c75510114966afb97256d20b9198872431b7ceca6"
    )
    assert header != rules.signature(["new", "old"], "{ }", at=1_700_000_000)
    assert header != rules.signature(["new", "old"], "{}", at=1_700_000_001)


def test_eight_tries_take_about_a_day():
    waits = [rules.retry_delay(n, chance=0.5) for n in range(1, rules.MAX_ATTEMPTS)]
    assert rules.MAX_ATTEMPTS == 8
    assert timedelta(hours=20) < sum(waits, timedelta()) < timedelta(hours=28)
    assert waits == sorted(waits)
    assert rules.retry_delay(rules.MAX_ATTEMPTS, chance=0.5) is None
    assert rules.retry_delay(1, chance=0.0) < rules.retry_delay(1, chance=1.0)


def test_a_failing_address_is_left_alone_longer_each_time():
    holds = [rules.backoff_after(n) for n in (1, 2, 3, 50)]
    assert holds == sorted(holds)
    assert holds[-1] == rules.MAX_BACKOFF


@pytest.fixture(scope="module")
def is_genuine():
    code = re.search(r"```python\n(.*?)```", DOC.read_text(), re.DOTALL)[1]
    names: dict = {}
    exec(compile(code, str(DOC), "exec"), names)
    return names["is_genuine"]


@pytest.mark.parametrize(
    ("secret", "body", "age", "genuine"),
    [
        ("new", BODY, 0, True),
        pytest.param("old", BODY, 0, True, id="either secret while one takes over"),
        ("other", BODY, 0, False),
        ("new", BODY + " ", 0, False),
        ("new", BODY, 3600, False),
    ],
)
def test_receivers_take_what_is_sent_and_nothing_else(is_genuine, secret, body, age, genuine):
    header = rules.signature(["new", "old"], BODY, at=int(time.time()) - age)
    assert bool(is_genuine(secret, header, body.encode())) is genuine


@pytest.mark.parametrize("header", ["", "t=,v1=", "v1=abc", "t=abc,v1=abc", "t=99999999999999999999,v1=x"])
def test_receivers_take_no_nonsense(is_genuine, header):
    assert not is_genuine("secret", header, BODY.encode())
