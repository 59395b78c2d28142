"""The raters' page for whoever runs a study: the same briefing, the same refusals, and nothing kept."""

from __future__ import annotations

import uuid
from dataclasses import asdict

import pytest

from annotation.models import Assignment, AuditEvent, Judgment, Rater, Task
from annotation.rating import previews
from tests import factories
from tests.annotation.importing.answers import comparison

pytestmark = pytest.mark.django_db


@pytest.fixture
def next_preview(api, world):
    def ask(seen=(), user=None):
        path = f"studies/{world.study.slug}/preview/next/"
        return api(user or world.researcher).post(path, {"holding": [str(one) for one in seen]})

    return ask


def sent(submission) -> dict[str, object]:
    given = asdict(submission)
    return {**given, "client_id": str(submission.client_id), "telemetry": {"switches": 0}}


def counts(world) -> list[int]:
    events = AuditEvent.objects.filter(study=world.study)
    return [events.count(), *(model.objects.count() for model in (Judgment, Assignment, Rater))]


def walked(next_preview) -> list[str]:
    seen: list[str] = []
    while assignment := next_preview(seen).json()["assignment"]:
        seen.append(assignment["id"])
    return seen


def test_a_preview_is_what_a_rater_gets_but_for_its_links(api, world, next_preview):
    shown = {}
    for one in walked(next_preview):
        briefing = api(world.researcher).get(f"studies/{world.study.slug}/preview/{one}/").json()
        shown[uuid.UUID(one).int] = briefing
    preview = shown[world.open.task_id]
    rated = api(world.annotator).get(f"assignments/{world.open.pk}/").json()
    assert preview.keys() == rated.keys()
    assert preview["listening"] == rated["listening"]
    assert [part["field"] for part in preview["content"]] == [part["field"] for part in rated["content"]]
    ours, theirs = ({**part["candidates"][0]["clip"]} for part in (preview, rated))
    assert ours.keys() == theirs.keys()


def test_it_walks_every_task_once_and_ends_after_the_first_few(world, next_preview, monkeypatch):
    tasks = Task.objects.filter(study=world.study).values_list("pk", flat=True)
    assert sorted(uuid.UUID(one).int for one in walked(next_preview)) == sorted(tasks)
    monkeypatch.setattr(previews, "MAX_PREVIEWS", 2)
    assert len(walked(next_preview)) == 2


def test_its_clips_and_spectrograms_play(api, world, next_preview):
    clip = next_preview().json()["assignment"]["candidates"][0]["clip"]
    sound = api(world.researcher).get(clip["url"], Range="bytes=0-3")
    assert (sound.status_code, b"".join(sound.streaming_content)) == (206, b"fLaC")
    assert api(world.researcher).get(clip["spectrogram"]).status_code == 200


def test_an_answer_is_checked_as_a_raters_and_nothing_is_kept(api, world, next_preview):
    kept = counts(world)
    path = f"studies/{world.study.slug}/preview/{next_preview().json()['assignment']['id']}/"
    body = sent(comparison())
    refused = api(world.researcher).post(f"{path}judgment/", {**body, "answers": []})
    assert refused.status_code == 400
    stored = api(world.researcher).post(f"{path}judgment/", body)
    assert (stored.status_code, stored.json()) == (200, {"client_id": body["client_id"]})
    assert api(world.researcher).get(f"{path}judgment/").status_code == 409
    for way in ("heartbeat", "give-back"):
        assert api(world.researcher).post(f"{path}{way}/", {}).status_code in (200, 204)
    assert counts(world) == kept


def test_raters_have_no_previews_and_one_of_another_study_is_not_there(api, world, next_preview):
    for user, status in ((world.annotator, 403), (world.expert, 403), (factories.UserFactory(), 404)):
        assert next_preview(user=user).status_code == status
    other = factories.comparison_task(factories.StudyFactory(preset="cmi-pref"), "other")
    for number in (other.pk, 2**64):
        path = f"studies/{world.study.slug}/preview/{uuid.UUID(int=number)}/"
        assert api(world.researcher).get(path).status_code == 404
