"""What an error says to whoever only prints it."""

from __future__ import annotations

from concord_client import ConcordError, JobFailed

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
