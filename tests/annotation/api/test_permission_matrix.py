"""Who may call what. Every route of the API has its row here; a route without one fails the first test.

Each call is made by everybody, on a study of their own and on objects of another. Whoever may not hears 403 or 404, and
nothing of the study; an object of somebody else's looks like one that is not there.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.urls import URLPattern, get_resolver, reverse

from annotation.models import ReviewCase
from annotation.services import blind, cases, decisions
from annotation.services.judgments import Submission
from tests import factories
from tests.annotation.api.conftest import Api
from tests.annotation.world import World, link
from tests.scoring import doubles

pytestmark = pytest.mark.django_db

ACTORS = ("anonymous", "stranger", "outsider", "annotator", "expert", "researcher", "admin")
# Those who have nothing to do with the other study.
INSIDERS = ("anonymous", "stranger", "annotator", "expert", "researcher", "admin")
OK, DENIED, ABSENT = "ok", 403, 404

# What each actor hears, in the order above. The outsider is a researcher of another study.
Verdicts = tuple[Any, ...]
SIGNED_IN: Verdicts = (DENIED, OK, OK, OK, OK, OK, OK)
NOBODY: Verdicts = (DENIED,) * 7
MEMBERS: Verdicts = (DENIED, ABSENT, ABSENT, OK, OK, OK, OK)
RATERS: Verdicts = (DENIED, ABSENT, ABSENT, OK, OK, DENIED, DENIED)
MANAGERS: Verdicts = (DENIED, ABSENT, ABSENT, DENIED, DENIED, OK, OK)
ADMINS: Verdicts = (DENIED, ABSENT, ABSENT, DENIED, DENIED, DENIED, OK)
THE_RATER: Verdicts = (DENIED, ABSENT, ABSENT, OK, ABSENT, ABSENT, ABSENT)
# A job has no study in its address: to those who do not run its study it is not there.
JOB_MANAGERS: Verdicts = (DENIED, ABSENT, ABSENT, ABSENT, ABSENT, OK, OK)
# Those who run a study know of its cases; annotators must not.
EXPERTS: Verdicts = (DENIED, ABSENT, ABSENT, ABSENT, OK, DENIED, DENIED)


@dataclass(frozen=True)
class Row:
    """A call that succeeds for whoever may make it, with what it then answers."""

    route: str
    method: str
    verdicts: Verdicts
    status: int = 200
    body: Callable[[World], Any] = lambda world: None
    multipart: bool = False
    # About an assignment that has been answered, not one that is open.
    on_submitted: bool = False


def vote(world: World) -> dict[str, Any]:
    answers = [
        {"question": "alignment", "choice": "A", "confidence": 3},
        {"question": "musicality", "choice": "A", "confidence": 3},
        {"question": "evidence", "text": "x"},
    ]
    return {"client_id": str(uuid.uuid4()), "answers": answers}


def correction(world: World) -> dict[str, Any]:
    version = case_of(world, "judged").item_version_id
    return {"version_id": version, "texts": {"prompt": "x"}, "reason": "wording"}


def table(world: World) -> dict[str, Any]:
    return {"file": SimpleUploadedFile("table.csv", b"item_id\n"), "format": "csv"}


ROWS = [
    Row("api_me", "get", SIGNED_IN),
    Row("api_schema", "get", SIGNED_IN),
    Row("api_studies", "get", SIGNED_IN),
    Row("api_studies", "post", NOBODY, body=lambda w: {"slug": "x", "title": "x", "preset": "orca"}),
    Row("api_study", "get", MEMBERS),
    Row("api_study", "patch", MANAGERS, body=lambda w: {"title": "x"}),
    Row("api_protocol", "get", MEMBERS),
    Row("api_next", "post", RATERS, body=lambda w: {}),
    Row("api_raters", "get", MANAGERS),
    Row("api_rater", "patch", MANAGERS, body=lambda w: {"state": "paused", "reason": "x"}),
    Row("api_members", "get", MANAGERS),
    Row("api_member", "patch", ADMINS, body=lambda w: {"role": "annotator"}),
    Row("api_member", "delete", ADMINS, 204),
    Row("api_invitations", "get", MANAGERS),
    Row("api_invitations", "post", MANAGERS, 201, body=lambda w: {"role": "annotator"}),
    Row("api_invitation", "delete", MANAGERS, 204),
    Row("api_items", "get", MANAGERS),
    Row("api_judgments", "get", MANAGERS),
    Row(
        "api_exclusions",
        "post",
        MANAGERS,
        body=lambda w: {"action": "exclude", "client_ids": [str(w.judgment.client_id)], "reason": "x"},
    ),
    Row("api_audit", "get", MANAGERS),
    Row("api_assignment", "get", THE_RATER),
    Row("api_heartbeat", "post", THE_RATER),
    Row("api_judgment", "get", THE_RATER, on_submitted=True),
    Row("api_judgment", "post", THE_RATER, 201, body=vote),
    Row("api_revisions", "post", THE_RATER, 201, body=vote, on_submitted=True),
    Row("api_skip", "post", THE_RATER, 204, body=lambda w: {"reason": "audio"}),
    Row("api_give_back", "post", THE_RATER, 204),
    Row("api_clip", "get", THE_RATER),
    Row("api_spectrogram", "get", THE_RATER),
    Row("api_checks", "get", RATERS),
    Row("api_checks", "post", RATERS, 201, body=lambda w: {"kind": "level"}),
    Row("api_check_sound", "get", THE_RATER),
    Row("api_check_answer", "post", THE_RATER, body=lambda w: {"trial": 0, "choice": 0}),
    Row("api_blind", "get", EXPERTS),
    Row("api_blind", "post", EXPERTS, 201, body=vote),
    Row("api_keep_case", "post", EXPERTS),
    Row("api_correction", "post", EXPERTS, body=correction),
    Row("api_fine", "post", EXPERTS, body=lambda w: {}),
    Row("api_withdrawal", "post", EXPERTS, body=lambda w: {"comment": "x"}),
    Row("api_returns", "post", EXPERTS, body=lambda w: {"to": "pool", "comment": "x"}),
    Row("api_undo", "post", EXPERTS),
    Row("api_imports", "post", MANAGERS, 202, body=table, multipart=True),
    Row("api_agreement", "get", MANAGERS),
    Row("api_report", "get", MANAGERS),
    Row("api_report", "post", MANAGERS, 202, body=lambda w: {}),
    Row("api_exports", "post", MANAGERS, 202, body=lambda w: {"format": "jsonl"}),
    Row("api_export_file", "get", JOB_MANAGERS),
    Row("api_job", "get", JOB_MANAGERS),
    Row("api_cancel_job", "post", JOB_MANAGERS),
    Row("api_scorers", "get", SIGNED_IN),
    Row("api_scoring_runs", "get", MANAGERS),
    Row("api_scoring_runs", "post", MANAGERS, 202, body=lambda w: {"scorer": "word-count"}),
    Row("api_scoring_run", "get", JOB_MANAGERS),
    Row("api_cancel_scoring_run", "post", JOB_MANAGERS),
    Row("api_retry_scoring_run", "post", JOB_MANAGERS),
    Row("api_scoring_faults", "get", JOB_MANAGERS),
    Row("api_scores", "get", MANAGERS),
]


# At which stage the case of a call is; the others are about one that is judged.
STAGES = {"api_blind": "claimed", "api_keep_case": "claimed", "api_undo": "decided"}


def make_cases(world: World) -> None:
    """One at each stage, in the hands of the study's expert."""
    for task, stage in zip(world.study.tasks.order_by("pk"), ("claimed", "judged", "decided"), strict=True):
        cases.open_or_add(task.item_version, rule="audit", evidence={"share": "SECRET"}, task=task)
        case = ReviewCase.objects.get(task=task)
        cases.claim(world.expert, case.pk)
        blind.begin(world.expert, case.pk)
        if stage != "claimed":
            blind.judge(world.expert, case.pk, Submission(**vote(world)))
        if stage == "decided":
            decisions.fine(world.expert, case.pk)


def case_of(world: World, stage: str) -> ReviewCase:
    cases_of_study = ReviewCase.objects.filter(study=world.study).order_by("pk")
    return dict(zip(("claimed", "judged", "decided"), cases_of_study, strict=True))[stage]


def objects(world: World) -> dict[str, Any]:
    """What the parameters of the routes stand for in a study."""
    return {
        "slug": world.study.slug,
        "pseudonym": world.rater.pseudonym,
        "member_id": world.membership.pk,
        "invitation_id": world.invitation.pk,
        "assignment_id": world.open.pk,
        "submitted_id": world.submitted.pk,
        "name": "a",
        "job_id": world.job.pk,
        "export_id": world.exported.pk,
        "check_id": world.check.pk,
        "trial": 0,
        "run_id": world.run.pk,
        **{stage: case_of(world, stage).pk for stage in ("claimed", "judged", "decided")},
    }


NOWHERE = {
    "slug": "nowhere",
    "pseudonym": "R-NOBODY",
    "member_id": 0,
    "invitation_id": 0,
    "assignment_id": uuid.UUID(int=0),
    "name": "a",
    "job_id": uuid.UUID(int=0),
    "check_id": uuid.UUID(int=0),
    "trial": 0,
    "run_id": 0,
    "case_id": 0,
}


def routes(patterns: Any = None, prefix: str = "") -> Iterator[tuple[str, URLPattern]]:
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        path = prefix + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield path, pattern
        else:
            yield from routes(pattern.url_patterns, path)


API = {pattern.name: pattern for path, pattern in routes() if path.startswith("api/")}


def parameters(row: Row) -> list[str]:
    return list(API[row.route].pattern.converters)


def path_of(row: Row, values: dict[str, Any]) -> str:
    if row.route == "api_export_file":
        values = {**values, "job_id": values.get("export_id", values["job_id"])}
    if row.route == "api_clip":
        return link(values["assignment_id"], values["name"])
    if "case_id" in parameters(row):
        values = {**values, "case_id": values.get(STAGES.get(row.route, "judged"), 0)}
    if row.on_submitted:
        values = {**values, "assignment_id": values.get("submitted_id", values["assignment_id"])}
    return reverse(row.route, kwargs={name: values[name] for name in parameters(row)})


ABOUT_AN_OBJECT = [row for row in ROWS if parameters(row)]
BELOW_A_STUDY = [row for row in ABOUT_AN_OBJECT if "slug" in parameters(row) and len(parameters(row)) > 1]


@pytest.fixture(autouse=True)
def _a_scorer(monkeypatch) -> None:
    doubles.register(monkeypatch)


@pytest.fixture(autouse=True)
def _cases(world: World, elsewhere: World) -> None:
    make_cases(world)
    make_cases(elsewhere)


@pytest.fixture
def people(api, world: World, elsewhere: World) -> dict[str, Api]:
    accounts = {
        "anonymous": None,
        "stranger": factories.UserFactory(),
        "outsider": elsewhere.researcher,
        "annotator": world.annotator,
        "expert": world.expert,
        "researcher": world.researcher,
        "admin": world.admin,
    }
    return {actor: api(accounts[actor]) for actor in ACTORS}


@contextmanager
def undone() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def call(api: Api, row: Row, path: str, world: World) -> Any:
    with undone():
        if row.multipart:
            return api.client.post(path, row.body(world))
        return api.call(row.method, path, row.body(world))


def fault(response: Any, allowed: set[int]) -> str:
    """What is wrong with a refusal; empty when it is one of those allowed and says nothing of the study."""
    body = response.content.decode()
    if response.status_code not in allowed:
        return f"{response.status_code} instead of {allowed}"
    if response["Content-Type"] != "application/problem+json":
        return f"{response['Content-Type']} instead of problem+json"
    return next((f"tells {word!r}" for word in ("SECRET", "example", "R-") if word in body), "")


def test_every_route_and_method_has_its_row():
    served = {
        (name, method)
        for name, pattern in API.items()
        for method in ("get", "post", "put", "patch", "delete")
        if hasattr(pattern.callback.view_class, method)
    }
    assert served == {(row.route, row.method) for row in ROWS}


def test_everybody_hears_what_the_row_says(people, world):
    faults, own = [], objects(world)
    for row in ROWS:
        path = path_of(row, own)
        for actor, verdict in zip(ACTORS, row.verdicts, strict=True):
            response = call(people[actor], row, path, world)
            if verdict != OK:
                wrong = fault(response, {verdict})
            else:
                wrong = (
                    "" if response.status_code == row.status else f"{response.status_code}, not {row.status}"
                )
            faults += [(row.route, row.method, actor, wrong)] if wrong else []
    assert faults == []


def test_another_studys_objects_are_not_there(people, world, elsewhere):
    faults, theirs = [], objects(elsewhere)
    for row in ABOUT_AN_OBJECT:
        for actor in INSIDERS:
            response = call(people[actor], row, path_of(row, theirs), elsewhere)
            wrong = fault(response, {403 if actor == "anonymous" else 404})
            faults += [(row.route, row.method, actor, wrong)] if wrong else []
    assert faults == []


def test_another_studys_objects_are_not_there_under_the_own_studys_name_either(people, world, elsewhere):
    faults, theirs = [], {**objects(elsewhere), "slug": world.study.slug}
    for row in BELOW_A_STUDY:
        path = path_of(row, theirs)
        for actor in INSIDERS:
            wrong = fault(call(people[actor], row, path, elsewhere), {403, 404})
            faults += [(row.route, row.method, actor, wrong)] if wrong else []
    assert faults == []


def test_what_is_somebody_elses_looks_like_what_is_not_there(people, world, elsewhere):
    theirs = objects(elsewhere)
    for row in ABOUT_AN_OBJECT:
        for actor in ("stranger", "annotator", "admin"):
            foreign, nothing = (
                call(people[actor], row, path_of(row, values), elsewhere) for values in (theirs, NOWHERE)
            )
            assert (row.route, foreign.status_code) == (row.route, nothing.status_code)
            assert (foreign.content, dict(foreign.items())) == (nothing.content, dict(nothing.items()))


def test_a_body_does_not_lead_to_another_studys_judgments(people, world, elsewhere):
    body = {"action": "exclude", "reason": "x"}
    for chosen in ({"client_ids": [str(elsewhere.judgment.client_id)]}, {"rater": elsewhere.rater.pseudonym}):
        response = people["admin"].post("studies/here/exclusions/", {**body, **chosen})
        assert response.status_code == 400
    elsewhere.judgment.refresh_from_db()
    assert not elsewhere.judgment.excluded


def test_holding_somebody_elses_assignment_gives_nothing_away(people, world, elsewhere):
    response = people["expert"].post("studies/here/next/", {"holding": [str(elsewhere.open.pk)]})
    assert response.status_code == 200
    assert str(elsewhere.open.pk) not in response.content.decode()
