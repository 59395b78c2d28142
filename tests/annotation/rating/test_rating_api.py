"""A rater's work over HTTP, from the first task to the end of the queue."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from annotation.models import Assignment, Judgment, Study, Task
from annotation.studies import protocols
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    study = factories.StudyFactory(slug="s", overlap=2)
    for n in range(3):
        factories.rating_task(study, f"task-{n}", question=f"What sounds in {n}?")
    return study


@pytest.fixture
def rater(api, study):
    return api(factories.member(study))


def judgment(**fields: Any) -> dict[str, Any]:
    answers = [{"question": "correctness", "value": 4}]
    return {"client_id": str(uuid.uuid4()), "answers": answers, **fields}


def take(rater, holding=()) -> dict[str, Any]:
    return rater.post("studies/s/next/", {"holding": list(holding)}).json()["assignment"]


def test_a_task_arrives_complete_and_in_the_protocols_order(rater):
    body = rater.post("studies/s/next/").json()
    assert body["progress"] == {"done": 0, "tasks": 3}
    assignment = body["assignment"]
    assert [part["field"] for part in assignment["content"]] == ["question", "reference"]
    assert assignment["candidates"] == [{"label": "A", "text": "system-1 says: a bell."}]
    assert assignment["protocol_version"] == 1
    parts = {"content", "candidates", "listening"}
    assert set(assignment) == {"id", "protocol_version", "expires_at"} | parts


def test_a_rater_works_to_the_end_of_the_queue(rater):
    for done in range(3):
        body = rater.post("studies/s/next/").json()
        assert body["progress"]["done"] == done
        response = rater.post(f"assignments/{body['assignment']['id']}/judgment/", judgment())
        assert response.status_code == 201
    end = rater.post("studies/s/next/")
    assert (end.status_code, end.json()) == (200, {"assignment": None, "progress": {"done": 3, "tasks": 3}})


def test_a_vote_leases_the_next_task_with_the_same_request(rater):
    """To the end of the queue in one request per vote; a replay brings the lease that the first one made."""
    shown = [take(rater)]
    for done in (1, 2, 3):
        path, body = f"assignments/{shown[-1]['id']}/judgment/", judgment(next={})
        first, second = rater.post(path, body), rater.post(path, body)
        assert (first.status_code, second.status_code) == (201, 200)
        assert first.json() == second.json()
        assert first.json()["next"]["progress"] == {"done": done, "tasks": 3}
        shown.append(first.json()["next"]["assignment"])
    assert shown.pop() is None
    assert len({assignment["id"] for assignment in shown}) == 3
    assert set(shown[1]) == {"id", "protocol_version", "expires_at", "content", "candidates", "listening"}


def test_a_vote_that_names_what_it_holds_gets_another_task(rater):
    first, second = take(rater), take(rater, [take(rater)["id"]])
    body = judgment(next={"holding": [second["id"]]})
    third = rater.post(f"assignments/{first['id']}/judgment/", body).json()["next"]["assignment"]
    assert len({first["id"], second["id"], third["id"]}) == 3
    held = Assignment.objects.filter(state=Assignment.State.OPEN)
    assert set(held) == {Assignment.objects.get(pk=each["id"]) for each in (second, third)}


def test_a_vote_is_stored_where_no_next_task_is_to_be_had(rater, study):
    """The request for one says why."""
    first, second = take(rater), take(rater, [take(rater)["id"]])
    Study.objects.update(state=Study.State.PAUSED)
    response = rater.post(f"assignments/{first['id']}/judgment/", judgment(next={"holding": [second["id"]]}))
    assert (response.status_code, set(response.json())) == (201, {"client_id"})
    assert rater.post("studies/s/next/").json()["title"] == "study_not_running"
    Study.objects.update(state=Study.State.RUNNING)
    body = judgment(next={"holding": ["x"]})
    response = rater.post(f"assignments/{second['id']}/judgment/", body)
    assert response.json()["errors"] == [{"field": "next.holding[0]", "message": "Must be a valid UUID."}]


def test_a_replay_gets_the_first_result_and_a_second_answer_is_a_conflict(rater):
    path = f"assignments/{take(rater)['id']}/judgment/"
    body = judgment()
    first, second = rater.post(path, body), rater.post(path, body)
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json() == second.json() == {"client_id": body["client_id"]}
    response = rater.post(path, judgment())
    assert (response.status_code, response.json()["title"]) == (409, "already_submitted")
    assert Judgment.objects.count() == 1


def test_an_assignment_can_be_had_again_as_it_was_shown(rater):
    assignment = take(rater)
    assert rater.get(f"assignments/{assignment['id']}/").json() == assignment
    rater.post(f"assignments/{assignment['id']}/judgment/", judgment())
    response = rater.get(f"assignments/{assignment['id']}/")
    assert (response.status_code, response.json()["title"]) == (409, "closed")


def test_tasks_are_fetched_ahead_while_others_are_held(rater):
    first = take(rater)["id"]
    assert take(rater) == take(rater)
    second = take(rater, [first])["id"]
    third = take(rater, [first, second])["id"]
    assert len({first, second, third}) == 3
    response = rater.post("studies/s/next/", {"holding": [first, second, third]})
    assert (response.status_code, response.json()["title"]) == (409, "too_many_open")


def test_a_heartbeat_keeps_the_task(rater):
    assignment = take(rater)
    response = rater.post(f"assignments/{assignment['id']}/heartbeat/")
    assert response.json()["expires_at"] > assignment["expires_at"]


def test_a_skip_says_why_and_the_task_does_not_come_back(rater):
    assignment = take(rater)
    response = rater.post(f"assignments/{assignment['id']}/skip/", {"reason": "audio", "comment": "Silence"})
    assert (response.status_code, response.content) == (204, b"")
    skipped = Assignment.objects.get(pk=assignment["id"])
    assert (skipped.skip_reason, skipped.skip_comment) == ("audio", "Silence")
    assert [rater.post(f"assignments/{take(rater)['id']}/judgment/", judgment()) for _ in range(2)]
    assert take(rater) is None


def test_a_task_given_back_is_free_again_and_a_vote_that_waited_meanwhile_is_taken(rater):
    assignment = take(rater)
    assert rater.post(f"assignments/{assignment['id']}/give-back/").status_code == 204
    assert not Task.objects.filter(n_leases__gt=0).exists()
    response = rater.post(f"assignments/{assignment['id']}/judgment/", judgment())
    assert response.status_code == 201


def test_the_protocol_is_what_the_study_asks_and_an_earlier_one_can_be_asked_for(rater, study):
    body = rater.get("studies/s/protocol/").json()
    assert (body["number"], body["preset"], body["definition"]["key"]) == (1, "orca", "orca")
    protocols.add_protocol_version(study, preset="cmi-pref", actor=None)
    assert rater.get("studies/s/protocol/").json()["preset"] == "cmi-pref"
    assert rater.get("studies/s/protocol/?number=1").json()["preset"] == "orca"
    for number in ("3", "0", "x", "-1", "1.0", "²", "9" * 30):
        assert rater.get(f"studies/s/protocol/?number={number}").status_code == 404


# ── What cannot be taken ─────────────────────────────────────────────────────

FAULTS: list[tuple[str, dict[str, Any]]] = [
    ("client_id", judgment(client_id="1")),
    ("client_id", {"answers": []}),
    ("answers", {"client_id": str(uuid.uuid4())}),
    ("answers", judgment(answers=[])),
    ("answers", judgment(answers={"question": "correctness"})),
    ("answers[0].question", judgment(answers=[{"value": 4}])),
    ("answers[0].question", judgment(answers=[{"question": "loudness", "value": 4}])),
    ("answers[0].value", judgment(answers=[{"question": "correctness", "value": 6}])),
    ("answers[0].value", judgment(answers=[{"question": "correctness", "value": "4"}])),
    ("answers[0].value", judgment(answers=[{"question": "correctness", "value": True}])),
    ("answers[0].value", judgment(answers=[{"question": "correctness", "value": 10**400}])),
    ("answers[0].choice", judgment(answers=[{"question": "correctness", "value": 4, "choice": "C"}])),
    ("answers[1]", judgment(answers=[{"question": "correctness", "value": 4}] * 2)),
    ("codes[0]", judgment(codes=["Z"])),
    ("codes[1]", judgment(codes=["Q", {}])),
    ("comment", judgment(comment="x" * 4001)),
    ("comment", judgment(comment="nul \0")),
    ("telemetry", judgment(telemetry={"log": "x" * 5000})),
    ("telemetry", judgment(telemetry={"log": "nul \0"})),
    ("telemetry", judgment(telemetry=[1])),
    ("score", judgment(score=1)),
]


@pytest.mark.parametrize(
    ("field", "body"), FAULTS, ids=[f"{n}-{field}" for n, (field, _) in enumerate(FAULTS)]
)
def test_an_answer_that_cannot_be_taken_is_refused_with_the_field(rater, field, body):
    path = f"assignments/{take(rater)['id']}/judgment/"
    response = rater.post(path, body)
    assert response.status_code == 400
    assert response["Content-Type"] == "application/problem+json"
    errors = response.json()["errors"]
    assert field in [error["field"] for error in errors]
    assert all(error["message"] for error in errors)
    assert not Judgment.objects.exists()
    assert rater.post(path, judgment()).status_code == 201  # the task is still theirs to answer


@pytest.mark.parametrize(
    "telemetry",
    [r'{"a": "\ud800"}', r'{"\ud83d": 1}', '{"a": 1e999}', '{"a": ' + "[" * 5000 + "]" * 5000 + "}"],
)
def test_an_event_log_that_cannot_be_stored_is_refused(rater, telemetry):
    path = f"/api/v1/assignments/{take(rater)['id']}/judgment/"
    body = '{"client_id": "%s", "answers": [{"question": "correctness", "value": 4}], "telemetry": %s}'
    response = rater.client.post(path, body % (uuid.uuid4(), telemetry), content_type="application/json")
    assert response.status_code == 400
    assert not Judgment.objects.exists()


def test_an_event_log_may_speak_of_null_characters(rater):
    telemetry = {"key": r"\u0000", "face": "😀"}
    path = f"assignments/{take(rater)['id']}/judgment/"
    assert rater.post(path, judgment(telemetry=telemetry)).status_code == 201
    assert Judgment.objects.get().telemetry == telemetry


def test_a_skip_without_a_reason_of_the_protocol_and_a_long_list_of_what_is_held_are_refused(rater):
    assignment = take(rater)
    for body in ({"reason": "bored"}, {"reason": ""}, {}, {"reason": "audio", "why": "x"}):
        response = rater.post(f"assignments/{assignment['id']}/skip/", body)
        assert (response.status_code, len(response.json()["errors"]) >= 1) == (400, True)
    for holding in ("x", ["x"], [str(uuid.uuid4())] * 11, None):
        assert rater.post("studies/s/next/", {"holding": holding}).status_code == 400
    assert Assignment.objects.get().state == Assignment.State.OPEN


def test_researchers_and_admins_do_not_rate(api, study):
    for role in ("researcher", "admin"):
        response = api(factories.member(study, role)).post("studies/s/next/")
        assert response.status_code == 403
