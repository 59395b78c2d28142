from __future__ import annotations

import tomllib

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotation.models import AuditEvent
from scoring.prompts import parse, shipped
from scoring.runs import scoring_runs
from tests.factories import StudyFactory, member

pytestmark = pytest.mark.django_db

MINE = b'source = "mine"\n[questions.ask]\nrelate = "How well does {text} fit? Score: from 0 to 10"\n'
MY_CASCADE = b'[questions.ask]\ncaption = "What is heard?"\n'


@pytest.fixture
def signed_in(client, researcher):
    client.force_login(researcher)
    return client


def give(client, content: bytes = MINE, *, family: str = "prompting"):
    file = SimpleUploadedFile("mine.toml", content)
    return client.post(reverse("prompt_file", args=["s", family]), {f"{family}-file": file}, follow=True)


def taken(client, family: str = "prompting"):
    answer = client.get(reverse("prompt_file", args=["s", family]))
    return parse(tomllib.loads(answer.content.decode()))


def test_without_its_own_a_study_uses_the_prompts_that_come_along(signed_in, study):
    assert taken(signed_in) == shipped("prompting")
    assert "as shipped" in signed_in.get(reverse("model_prompts", args=["s"])).content.decode()


def test_a_studys_own_prompts_are_used_by_runs_asked_for_from_then_on(signed_in, study):
    shown = give(signed_in).content.decode()
    assert "this study’s own" in shown
    assert taken(signed_in).questions == {"ask": {"relate": "How well does {text} fit? Score: from 0 to 10"}}
    study.refresh_from_db()
    run = scoring_runs.request(study, "prompting-pairs", {"backbone": "hub/model"}, actor=None)
    assert run.options["prompts"]["source"] == "mine"
    assert AuditEvent.objects.filter(action="study.changed", data={"prompts": ["prompting"]}).exists()


def test_removing_them_goes_back_to_those_that_come_along(signed_in, study):
    give(signed_in)
    give(signed_in, MY_CASCADE, family="cascade")
    signed_in.post(reverse("remove_prompts", args=["s", "prompting"]))
    assert taken(signed_in) == shipped("prompting")
    study.refresh_from_db()
    assert list(study.rules["prompts"]) == ["cascade"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"[questions", "This is no TOML"),
        (b"[questions.task]\nrelate = 3", "questions.task.relate: must be a text"),
    ],
)
def test_a_bad_file_is_refused_with_the_place_and_changes_nothing(signed_in, study, content, says):
    give(signed_in)
    assert says in give(signed_in, content).content.decode()
    assert taken(signed_in).source == "mine"


def test_no_file_is_said_so(signed_in, study):
    answer = signed_in.post(reverse("prompt_file", args=["s", "prompting"]))
    assert "This field is required" in answer.content.decode()


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_family_that_there_is_not_has_no_file(signed_in, study, method):
    data = {"nosuch-file": SimpleUploadedFile("mine.toml", MINE)} if method == "post" else {}
    assert getattr(signed_in, method)(reverse("prompt_file", args=["s", "nosuch"]), data).status_code == 404


@pytest.mark.parametrize(
    ("name", "method"), [("prompt_file", "get"), ("prompt_file", "post"), ("remove_prompts", "post")]
)
def test_prompts_are_for_those_who_run_the_study(client, study, name, method):
    path = reverse(name, args=["s", "prompting"])
    client.force_login(member(study))
    assert getattr(client, method)(path).status_code == 403
    client.force_login(member(StudyFactory(), "admin"))
    assert getattr(client, method)(path).status_code == 404
    study.refresh_from_db()
    assert "prompts" not in study.rules
