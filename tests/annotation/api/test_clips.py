"""Playing the parts of an assignment: whole, in ranges, and only one's own."""

from __future__ import annotations

import pytest

from annotation.models import Assignment
from tests import factories
from tests.annotation.world import SOUND, store

pytestmark = pytest.mark.django_db

SIZE = len(SOUND)


@pytest.fixture
def play(api, world):
    def get(name: str = "a", **headers: str):
        return api(world.annotator).get(f"assignments/{world.open.pk}/clips/{name}/", **headers)

    return get


def content(response) -> bytes:
    return b"".join(response.streaming_content)


@pytest.mark.parametrize("name", ["a", "b", "reference"])
def test_every_part_can_be_played(play, name):
    response = play(name)
    assert (response.status_code, response["Content-Type"], content(response)) == (200, "audio/flac", SOUND)
    assert (response["Accept-Ranges"], response["Content-Length"]) == ("bytes", str(SIZE))


def test_a_is_what_was_shown_first(api, world):
    """Each clip gets a file of its own; which one plays as A depends on the order drawn."""
    task = world.open.task
    for slot in task.slots.select_related("candidate__clip"):
        clip = slot.candidate.clip
        clip.canonical = f"slot-{slot.slot}.flac"
        clip.save()
        store(clip)
        with open(clip.canonical.path, "wb") as file:
            file.write(b"slot %d" % slot.slot)
    for presentation in ([0, 1], [1, 0]):
        Assignment.objects.filter(pk=world.open.pk).update(presentation=presentation)
        heard = [
            content(api(world.annotator).get(f"assignments/{world.open.pk}/clips/{name}/")) for name in "ab"
        ]
        assert heard == [b"slot %d" % slot for slot in presentation]


@pytest.mark.parametrize(
    ("asked", "start", "stop"),
    [
        ("bytes=0-0", 0, 1),
        ("bytes=10-19", 10, 20),
        ("bytes=10-", 10, SIZE),
        ("bytes=0-999999", 0, SIZE),
        ("bytes=-5", SIZE - 5, SIZE),
        ("bytes=-999999", 0, SIZE),
        (f"bytes={SIZE - 1}-", SIZE - 1, SIZE),
    ],
)
def test_a_range_is_sent_as_asked(play, asked, start, stop):
    response = play(Range=asked)
    assert (response.status_code, content(response)) == (206, SOUND[start:stop])
    assert response["Content-Range"] == f"bytes {start}-{stop - 1}/{SIZE}"
    assert response["Content-Length"] == str(stop - start)


@pytest.mark.parametrize("asked", [f"bytes={SIZE}-", "bytes=999999-1000000", "bytes=-0"])
def test_a_range_beyond_the_end_cannot_be_had(play, asked):
    response = play(Range=asked)
    assert (response.status_code, response["Content-Range"]) == (416, f"bytes */{SIZE}")
    assert response.content == b""


@pytest.mark.parametrize(
    "asked",
    [
        "bytes=",
        "bytes=-",
        "bytes=9-3",
        "bytes=a-b",
        "bytes=0-1,5-6",
        "lines=0-1",
        "bytes=" + "9" * 5000 + "-",
    ],
)
def test_a_range_that_is_none_is_ignored(play, asked):
    response = play(Range=asked)
    assert (response.status_code, content(response)) == (200, SOUND)
    assert "Content-Range" not in response


@pytest.mark.parametrize("name", ["c", "z", "recording", "ab", "0", "A"])
def test_a_part_that_is_not_shown_is_not_there(play, name):
    assert play(name).status_code == 404


def test_a_part_without_sound_is_not_there(api):
    study = factories.StudyFactory()
    factories.rating_task(study, "only")
    user = factories.member(study)
    body = api(user).post(f"studies/{study.slug}/next/").json()["assignment"]
    for name in ("a", "recording"):
        assert api(user).get(f"assignments/{body['id']}/clips/{name}/").status_code == 404


def test_what_one_has_judged_can_be_heard_again(api, world):
    assert api(world.annotator).get(f"assignments/{world.submitted.pk}/clips/a/").status_code == 200


@pytest.mark.parametrize(
    "state", [Assignment.State.SKIPPED, Assignment.State.RETURNED, Assignment.State.EXPIRED]
)
def test_a_closed_assignment_plays_nothing(play, world, state):
    Assignment.objects.filter(pk=world.open.pk).update(state=state)
    response = play()
    assert (response.status_code, response["Content-Type"]) == (404, "application/problem+json")


@pytest.mark.parametrize("who", ["expert", "researcher", "admin"])
def test_somebody_elses_assignment_plays_nothing(api, world, who):
    response = api(getattr(world, who)).get(f"assignments/{world.open.pk}/clips/a/")
    assert response.status_code == 404
