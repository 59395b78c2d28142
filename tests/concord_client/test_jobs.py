"""Waiting for background work, and what an error says to whoever only prints it."""

from __future__ import annotations

import httpx2
import pytest

from concord_client import Concord, ConcordError, JobFailed


def client(*states: str) -> Concord:
    left = list(states)

    def answer(request: httpx2.Request) -> httpx2.Response:
        state = left.pop(0) if len(left) > 1 else left[0]
        job = {"id": "j", "kind": "import", "state": state, "done": 3, "total": None, "stage": "reading"}
        return httpx2.Response(200, json={**job, "message": "No such column.", "report": {}})

    return Concord("http://server", "t", http=httpx2.Client(transport=httpx2.MockTransport(answer)))


def test_it_waits_ever_longer_and_tells_how_far_it_is():
    slept, heard = list[float](), list[tuple[int, int | None, str]]()
    job = client("queued", "running", "running", "done").jobs.wait(
        "j", sleep=slept.append, on_progress=lambda done, total, stage: heard.append((done, total, stage))
    )
    assert job["state"] == "done"
    assert slept == sorted(slept)
    assert len(slept) == 3
    assert heard == [(3, None, "reading")] * 4


@pytest.mark.parametrize("state", ["failed", "cancelled"])
def test_what_did_not_work_is_an_error_with_the_reason(state: str):
    with pytest.raises(JobFailed, match=f"{state}: No such column") as caught:
        client("running", state).jobs.wait("j", sleep=lambda seconds: None)
    assert caught.value.job["state"] == state


def test_it_does_not_wait_for_ever():
    with pytest.raises(TimeoutError, match="it goes on"):
        client("running").jobs.wait("j", timeout=0)


JOB = {"id": "j", "kind": "import", "state": "failed", "message": "7 problems found; nothing was imported."}


def test_a_refusal_names_each_field_with_what_to_do():
    fields = [
        {"field": "answers[0].value", "message": "Choose a point.", "remedy": "1 to 5."},
        {"field": "", "message": "Something else."},
    ]
    assert str(ConcordError("Some fields are wrong.", status=400, code="invalid", fields=fields)) == (
        "Some fields are wrong. (400 invalid)\n  answers[0].value: Choose a point. 1 to 5.\n  Something else."
    )


def test_a_failed_import_names_its_first_rows():
    problems = [
        {"row": f"t.csv:{n}", "field": "audio", "problem": "There is no such file.", "remedy": "Add it."}
        for n in range(2, 9)
    ]
    lines = str(JobFailed({**JOB, "report": {"problems": problems}})).splitlines()
    assert lines[0] == "Job j (import) failed: 7 problems found; nothing was imported."
    assert lines[1] == "  t.csv:2, audio: There is no such file. Add it."
    assert (len(lines), lines[-1]) == (7, "  … and 2 more")


def test_a_job_of_another_kind_says_why_it_failed():
    assert str(JobFailed({**JOB, "kind": "export", "message": "No disk.", "report": {}})) == (
        "Job j (export) failed: No disk."
    )
