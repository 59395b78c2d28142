from __future__ import annotations

import tomllib

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotation.models import AuditEvent
from scoring.prompts import parse, shipped
from scoring.runs import scoring_runs

pytestmark = pytest.mark.django_db

MINE = b'source = "mine"\n[questions.ask]\nrelate = "How well does {text} fit? Score: from 0 to 10"\n'
MY_CASCADE = b'[questions.ask]\ncaption = "What is heard?"\n'


def give(client, content: bytes = MINE, *, family: str = "prompting"):
    file = SimpleUploadedFile("mine.toml", content)
    return client.post(reverse("prompt_file", args=["s", family]), {f"{family}-file": file}, follow=True)


def taken(client, family: str = "prompting"):
    answer = client.get(reverse("prompt_file", args=["s", family]))
    return parse(tomllib.loads(answer.text))


def test_without_its_own_a_study_uses_the_prompts_that_come_along(signed_in, study):
    assert taken(signed_in) == shipped("prompting")
    assert "as shipped" in signed_in.get(reverse("model_prompts", args=["s"])).text


def test_a_studys_own_prompts_are_used_by_runs_asked_for_from_then_on(signed_in, study):
    shown = give(signed_in).text
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
    assert says in give(signed_in, content).text
    assert taken(signed_in).source == "mine"


def test_no_file_is_said_so(signed_in, study):
    answer = signed_in.post(reverse("prompt_file", args=["s", "prompting"]))
    assert "This field is required" in answer.text


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_family_that_there_is_not_has_no_file(signed_in, study, method):
    data = {"nosuch-file": SimpleUploadedFile("mine.toml", MINE)} if method == "post" else {}
    assert getattr(signed_in, method)(reverse("prompt_file", args=["s", "nosuch"]), data).status_code == 404
