"""The compiled validator of votes reads what the serializer reads, or leaves it to the serializer."""

from __future__ import annotations

import json
import random
import uuid
from typing import Any

import pytest
from rest_framework.serializers import ValidationError

from annotation.rating import bodies
from annotation.rating.api import NextIn, SubmissionIn
from annotation.rating.judgments import Submission
from tests.annotation.rating.test_rating_api import FAULTS, judgment

WHOLE = judgment(
    answers=[
        {"question": "correctness", "value": 4, "confidence": 0.5, "position": 2, "text": " at the end\n"},
        {"question": "side", "choice": "tie"},
        {"question": "many", "options": ["a", "b"], "option": "c", "ranking": [1, 0]},
        {"question": "times", "events": [{"start": 1, "end": None, "label": "bell ", "note": ""}, {"start": 0.1}]},
    ],
    codes=["A", "B"],
    comment="  It is “a bell”. \n",
    telemetry={"heard": {"a": [[0, 4.800000000000001]]}, "key": "\\", "face": "😀", "none": None},
    next={"holding": [str(uuid.uuid4())]},
)  # fmt: skip
ODD: list[Any] = [
    None, True, False, 0, -1, 3, 26, 2**70, 10**400, 0.5, -0.0, 1e300, "", " ", "x", " x ", "4", "x" * 41, "nul \0",
    "\ud800", [], {}, [None], ["x"], [1], {"x": 1}, [[]], str(uuid.uuid4()), uuid.uuid4().hex, uuid.uuid4().urn,
]  # fmt: skip


def paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(path for key, child in inner for path in paths(child, (*at, key)))]


def changed(path: tuple[Any, ...], odd: Any, *, action: str) -> Any:
    """The whole body with something odd at one place: another value, one left out, or one more."""
    body = json.loads(json.dumps(WHOLE))
    if not path:
        return odd
    place = body
    for key in path[:-1]:
        place = place[key]
    if action == "more" and isinstance(place, dict):
        place["extra"] = odd
    elif action == "less":
        del place[path[-1]]
    else:
        place[path[-1]] = odd
    return body


def read_as_before(body: bytes) -> tuple[Submission, Any] | None:
    try:
        values = SubmissionIn.parsed(json.loads(body))
    except (ValidationError, ValueError):
        return None
    following = values.pop("next", None)
    return Submission(**values), following and following["holding"]


@pytest.mark.parametrize("action", ["other", "less", "more"])
def test_a_body_is_read_as_the_serializer_reads_it_or_left_to_it(action):
    for path in paths(WHOLE):
        for odd in ODD if action != "less" else ODD[:1]:
            body = json.dumps(changed(path, odd, action=action)).encode()
            read = bodies.read_vote(body)
            assert read is None or read == read_as_before(body), body


@pytest.mark.parametrize("body", [WHOLE, judgment(), judgment(next={}), judgment(telemetry={})])
def test_the_ordinary_body_is_read_here(body):
    text = json.dumps(body).encode()
    read = bodies.read_vote(text)
    assert read is not None
    assert read == read_as_before(text)
    assert read[0].sha256 == read_as_before(text)[0].sha256


def test_some_of_everything_is_changed_at_once():
    chance = random.Random(7)
    everywhere = paths(WHOLE)
    for _ in range(300):
        body = json.dumps(changed(chance.choice(everywhere), chance.choice(ODD), action="other")).encode()
        cut = body[: chance.randrange(len(body))] + chance.choice([b"", b"}", b"\xff", b" NaN}", b"[" * 2000])
        assert bodies.read_vote(cut) is None or bodies.read_vote(cut) == read_as_before(cut)


def test_what_the_serializer_refuses_is_never_read_here():
    for _field, body in FAULTS:
        text = json.dumps(body).encode()
        assert (bodies.read_vote(text) is None) >= (read_as_before(text) is None)


@pytest.mark.parametrize(
    "holding", [[], [str(uuid.uuid4())] * 10, [str(uuid.uuid4())] * 11, "x", ["x"], None, [1]]
)
def test_what_is_held_is_read_as_the_serializer_reads_it(holding):
    body = {"holding": holding}
    try:
        expected = NextIn.parsed(body)["holding"]
    except ValidationError:
        expected = None
    read = bodies.read_next(json.dumps(body).encode())
    assert read is None or read == expected
