"""The protocol editor's pages: written as a draft, previewed, published; files and attachments."""

from __future__ import annotations

import copy
import json
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotation.models import ProtocolDraft, Study
from annotation.studies import protocol_drafts
from labeling_ui.questions.definition_form import blank_definition
from tests import factories
from tests.labeling_ui.questions.test_definition_form import sent

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return factories.StudyFactory(preset="cmi-pref")


@pytest.fixture
def client(client, study):
    client.force_login(factories.member(study, "researcher"))
    return client


def page(name: str, study: Study, *rest: object) -> str:
    return reverse(name, args=[study.slug, *rest])


def form(study: Study, **more: str):
    data = sent(protocol_drafts.draft_of(study).definition)
    data.update({"revision": str(protocol_drafts.draft_of(study).revision), **more})
    return data


def test_a_question_is_added_typed_published_and_asked(client, study):
    client.post(page("questions", study), form(study, do="question:choices"))
    data = form(study)
    data["questions.3.title.en"] = "What is wrong?"
    answer = client.post(page("save_questions", study), data).json()
    assert (answer["faults"], answer["shows"]) == ([], True)
    assert "What is wrong?" in client.get(page("publish_questions", study)).text
    client.post(page("publish_questions", study))
    study.refresh_from_db()
    assert (study.protocol_version.number, ProtocolDraft.objects.count()) == (2, 0)
    assert study.protocol_version.questions.last().key == "what_is_wrong"


def test_a_fault_stands_at_its_field_and_is_not_published(client, study):
    data = form(study)
    data["questions.0.title.en"] = ""
    (fault, *_rest) = client.post(page("save_questions", study), data).json()["faults"]
    assert fault[0] == "questions.0.title"
    shown = client.get(page("questions", study)).text
    assert 'data-place="questions.0.title"><p class="problem">' in shown
    client.post(page("publish_questions", study))
    assert study.protocol_versions.count() == 1


@pytest.mark.parametrize(
    ("deed", "tag"),
    [
        ("question:choices", "input"),
        ("remove:questions.0", "h3"),
        ("copy:questions.0", "h3"),
        ("down:questions.0", "button"),
        ("up:questions.1", "button"),
        ("scale:questions.0.confidence:7", "button"),
        ("confidence:questions.0:off", "button"),
        ("add:questions.0.confidence.points", "li"),
        ("remove:questions.0.confidence.points.1", "button"),
        ("add:codes", "li"),
        ("add:skip_reasons", "li"),
        ("remove:skip_reasons.0", "button"),
    ],
)
def test_the_focus_goes_to_what_a_button_has_made(client, study, deed, tag):
    """Of a row, the script takes the first field."""
    part = client.post(page("questions", study), form(study, do=deed), headers={"X-Part": "body"}).text
    (focus,) = re.findall(r'data-focus="([^"]+)"', part)
    (element,) = re.findall(rf'<(\w+)[^>]* id="{focus}"[^>]*>', part)
    assert element == tag
    if tag == "h3":
        assert f'id="{focus}" tabindex="-1"' in part


def test_a_button_about_a_row_that_is_gone_changes_nothing(client, study):
    client.post(page("save_questions", study), form(study))
    before = protocol_drafts.draft_of(study).definition
    for deed in ("add:questions.9.options", "scale:questions.9:5", "remove:questions.9", "add:x.y"):
        answer = client.post(page("questions", study), form(study, do=deed), headers={"X-Part": "body"})
        assert answer.status_code == 200
    assert protocol_drafts.draft_of(study).definition == before


def test_guidelines_of_questions_that_are_gone_are_pointed_out(client, study):
    sentence = "explain questions that you do not ask"
    definition = copy.deepcopy(study.protocol_version.definition)
    assert sentence not in client.get(reverse("questions", args=[study.slug])).text
    definition["questions"] = [{"key": "own", "kind": "text", "title": "What do you hear?"}]
    protocol_drafts.save_draft(study, definition, actor=None)
    assert sentence in client.get(reverse("questions", args=[study.slug])).text


def test_two_windows_do_not_overwrite_each_other(client, study):
    old = form(study)
    client.post(page("save_questions", study), form(study))
    refused = client.post(page("save_questions", study), old)
    assert (refused.status_code, "another window" in refused.json()["problem"]) == (409, True)


@pytest.mark.parametrize("layout", ["rating", "comparison"])
def test_the_preview_asks_by_the_draft_with_an_example_where_there_is_no_task(client, study, layout):
    definition = blank_definition(layout)
    protocol_drafts.save_draft(study, definition, actor=None)
    shown = client.get(page("draft_preview", study) + "?frame=1")
    assert "frame-ancestors 'self'" in shown["Content-Security-Policy"]
    assert "How good is the clip?" in shown.text or "Which clip do you prefer?" in shown.text
    post = {"content_type": "application/json"}
    task = client.post(page("draft_preview_next", study), "{}", **post).json()["assignment"]
    assert len(task["candidates"]) == (1 if layout == "rating" else 2)
    clip = client.get(task["candidates"][0]["clip"]["url"])
    assert b"".join(clip.streaming_content if clip.streaming else [clip.content])[:4] == b"fLaC"
    seen = {"holding": [task["id"]]}
    assert (
        client.post(page("draft_preview_next", study), json.dumps(seen), **post).json()["assignment"] is None
    )


def test_what_a_file_brings_that_a_protocol_has_not_is_said_in_the_readers_language(client, study):
    config = '<View><Audio name="a" value="$a"/><Rating name="good" toName="a"/><Video name="v"/></View>'
    client.post(page("bring_questions", study), {"text": config})
    answer = client.get(page("questions", study), headers={"accept-language": "zh-hans"}).text
    assert "这里没有这种问题" in answer
    bad = client.post(page("bring_questions", study), {"text": "[x"}, headers={"accept-language": "zh-hans"})
    assert "不是 TOML" in bad.text


def test_a_file_becomes_the_draft_and_says_what_is_lost(client, study):
    config = '<View><Audio name="a" value="$a"/><Rating name="good" toName="a"/><Video name="v"/></View>'
    client.post(page("bring_questions", study), {"text": config})
    shown = client.get(page("questions", study)).text
    assert ("&lt;Video" in shown, "Good" in shown) == (True, True)
    toml = client.get(page("question_file", study) + "?format=toml")
    assert toml.text.startswith('key = "label-studio"')
    client.post(page("bring_questions", study), {"text": toml.text})
    assert protocol_drafts.draft_of(study).definition["key"] == "label-studio"
    assert "no TOML" in client.post(page("bring_questions", study), {"text": "[x"}).text


def test_pictures_are_what_their_bytes_say_and_open_to_members_alone(client, study):
    picture = b"\x89PNG\r\n\x1a\n" + bytes(20)
    add = page("add_attachment", study)
    client.post(add, {"file": SimpleUploadedFile("Wave form.exe", picture)})
    client.post(add, {"file": SimpleUploadedFile("x.png", b"<svg onload=alert(1)>")})
    (stored,) = study.attachments.all()
    assert (stored.name, stored.content_type) == ("Wave-form.png", "image/png")
    shown = client.get(page("attachment", study, stored.name))
    assert (shown["Content-Type"], shown["X-Content-Type-Options"]) == ("image/png", "nosniff")
    assert shown["Content-Security-Policy"] == "default-src 'none'; sandbox"
    client.force_login(factories.UserFactory())
    assert client.get(page("attachment", study, stored.name)).status_code == 404


@pytest.mark.parametrize(
    "odd",
    [
        {"questions": "x", "codes": [1], "listening": []},
        {
            "questions": [
                {"kind": "rating", "points": ["x"], "confidence": 1},
                {"kind": "choice", "ask_if": [1]},
            ]
        },
        {"content": 1, "candidates": {}, "layout": "panel", "glossary": [None]},
    ],
)
def test_a_draft_of_whatever_shape_can_be_opened_and_put_right(client, study, odd):
    protocol_drafts.save_draft(study, odd, actor=None)
    for name in ("questions", "publish_questions"):
        assert client.get(page(name, study)).status_code == 200
    assert client.get(page("question_file", study)).status_code == 200


def test_numbers_that_are_none_and_characters_that_no_text_has_are_not_stored(client, study):
    data = form(study)
    data["questions.0.title.en"] = "a\x00b"
    assert client.post(page("save_questions", study), data).status_code == 400
    data = form(study, do="question:slider")
    client.post(page("questions", study), data)
    data = form(study)
    for name in [name for name in data if name.endswith(".maximum")]:
        data[name] = "1e999"
    assert client.post(page("save_questions", study), data).json()["faults"]
