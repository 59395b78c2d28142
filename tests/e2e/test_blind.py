"""What a rater's browser holds before the vote, searched for everything that must not be there, on every preset.

Page, answers of the API, addresses, headers, the clips' own bytes and what the page stores: all of it passes through
the test. tests/annotation/rating/test_blinding.py asks the API the same, route by route.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db import connection

from annotation.models import (
    Assignment,
    Candidate,
    Clip,
    GoldKey,
    Item,
    ItemVersion,
    Rater,
    Study,
    System,
    Task,
    TaskCandidate,
)
from annotation.protocols import preset_keys
from annotation.rating.rules import ordering
from scoring.models import Score, Scorer
from tests import presets
from tests.e2e import studies
from tests.factories import member

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

NUMBERED = (Item, ItemVersion, System, Candidate, Task, TaskCandidate, Clip, GoldKey, Score, Rater, Study)
STORED = """async () => {
  const databases = await indexedDB.databases();
  const dumps = await Promise.all(databases.map(({ name }) => new Promise((resolve) => {
    const opening = indexedDB.open(name);
    opening.onsuccess = () => {
      const stores = [...opening.result.objectStoreNames];
      Promise.all(stores.map((store) => new Promise((done) => {
        const asking = opening.result.transaction(store).objectStore(store).getAll();
        asking.onsuccess = () => done(asking.result);
      }))).then((rows) => resolve([name, stores, rows]));
    };
  })));
  return JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, dumps]);
}"""


@dataclass
class Received:
    """Everything that came from the server, but for the files that are the same for everybody."""

    texts: list[str] = field(default_factory=list)
    sound: list[bytes] = field(default_factory=list)
    clips: dict[str, set[str]] = field(default_factory=dict)
    briefings: list[dict[str, Any]] = field(default_factory=list)

    def head(self, response) -> None:
        """What comes with a page; the page itself is read from the browser."""
        if "/static/" not in response.url:
            self.texts.append(f"{response.url}\n{response.headers}")

    def take(self, route) -> None:
        """An answer of the API, with its bytes."""
        response = route.fetch()
        body = response.body()
        headers = "\n".join(f"{name}: {value}" for name, value in response.headers.items())
        self.texts.append(f"{route.request.url}\n{headers}\n{body.decode(errors='replace')}")
        if "/clips/" in route.request.url:
            self.sound.append(body)
            path = route.request.url.partition("?")[0]
            whole = response.headers.get("content-range", "").rpartition("/")[2]
            self.clips.setdefault(path, set()).add(whole)
        if route.request.url.endswith("/next/"):
            self.briefings.append(response.json()["assignment"])
        route.fulfill(response=response)

    @property
    def tasks(self) -> list[dict[str, Any]]:
        return [briefing for briefing in self.briefings if briefing]


@pytest.fixture
def received(context, page) -> Received:
    everything = Received()
    context.route("**/api/**", everything.take)
    page.on("response", everything.head)
    return everything


def plant(study: Study) -> None:
    """Give everything that must stay hidden a value that is found nowhere else, and ask about one item twice."""
    for number, system in enumerate(study.systems.all()):
        System.objects.filter(pk=system.pk).update(name=f"sys-quagga-{number}", description="axolotl")
    for number, item in enumerate(study.items.all()):
        Item.objects.filter(pk=item.pk).update(
            external_id=f"ext-narwhal-{number}", strata={"difficulty": "walrus"}
        )
    for number, task in enumerate(study.tasks.all()):
        Task.objects.filter(pk=task.pk).update(external_id=f"task-okapi-{number}")
        GoldKey.objects.create(task=task, question_key="any", choice=1, explanation={"en": "goldfinch"})
    scorer = Scorer.objects.create(key="scorer-ibex", digest="ibex")
    for candidate in Candidate.objects.filter(item_version__item__study=study):
        Score.objects.create(scorer=scorer, candidate=candidate, value=0.73912)
    first = study.tasks.first()
    again = Task.objects.create(
        study=study,
        item_version=first.item_version,
        external_id="task-okapi-again",
        overlap=first.overlap,
        kind=Task.Kind.REPEAT,
        shuffle_key=ordering.shuffle_key(study.seed, "again"),
    )
    for slot in first.slots.all():
        TaskCandidate.objects.create(task=again, slot=slot.slot, candidate=slot.candidate)


def secrets() -> Iterator[str]:
    yield from ("narwhal", "okapi", "walrus", "quagga", "axolotl", "ibex", "0.7391", "goldfinch")
    # That a MUSHRA test has a hidden reference and anchors is said openly; which they are has no name anywhere.
    yield from (str(role.label) for role in System.Role if role != System.Role.JUDGED)
    for model in NUMBERED:
        yield from (str(pk) for pk in model.objects.values_list("pk", flat=True))
    for clip in Clip.objects.all():
        yield from (clip.sha256, clip.canonical_sha256, clip.canonical.name, clip.original.name)


@pytest.mark.parametrize("preset", preset_keys())
def test_before_the_vote_nothing_tells_what_must_stay_hidden(page, signed_in, received, tmp_path, preset):
    with connection.cursor() as cursor:
        for n, model in enumerate(NUMBERED):
            table = model._meta.db_table
            start = 571_000_003 + n * 10**6
            cursor.execute("SELECT setval(pg_get_serial_sequence(%s, 'id'), %s)", [table, start])
    study = presets.running_study(preset, tmp_path, seconds=3)
    plant(study)
    signed_in(member(study))
    page.goto(f"/studies/{study.slug}/guidelines/")
    received.texts.append(page.content())
    studies.open_work(page, study)
    for button in page.locator(".clip-row .play").all():
        button.click()
        page.wait_for_timeout(150)
    page.wait_for_function(
        "() => !document.querySelector('.clip-state:not([hidden])')?.textContent.includes('…')"
    )
    page.wait_for_load_state("networkidle")
    received.texts += [page.content(), page.evaluate(STORED)]

    found = {secret for secret in secrets() if any(secret in text for text in received.texts)}
    assert found == set()
    assert len(received.tasks) >= 2
    assert_one_size(received)
    assert_nothing_repeats(received)
    assert_only_sound(received)


def assert_one_size(received: Received) -> None:
    """All clips of a task that are of one length are of one size on the wire, whatever they compress to."""
    for task in received.tasks:
        clips = [part["clip"] for part in (*task["content"], *task["candidates"]) if "clip" in part]
        for samples in {clip["samples"] for clip in clips}:
            alike = [clip for clip in clips if clip["samples"] == samples]
            assert len({tuple(clip["parts"]) for clip in alike}) == 1
    by_task: dict[str, set[str]] = {}
    for path, sizes in received.clips.items():
        by_task.setdefault(path.partition("/clips/")[0], set()).update(sizes)
    assert all(len(sizes) == 1 for sizes in by_task.values())


def assert_nothing_repeats(received: Received) -> None:
    """The same item met again is known by what it is, and by no name that it had before."""
    names = []
    for task in received.tasks:
        facts = json.loads(json.dumps(task))
        for part in (*facts["content"], *facts["candidates"]):
            part.pop("text", None)
            part.get("clip", {}).pop("peaks", None)
        names.append(set(re.findall(r"[0-9a-zA-Z_-]{20,}", json.dumps(facts))))
    for index, one in enumerate(names):
        assert all(one.isdisjoint(other) for other in names[index + 1 :])


def assert_only_sound(received: Received) -> None:
    """A part of a clip begins with STREAMINFO and padding: no tag, no picture, no digest of the samples."""
    for data in received.sound:
        for at in (match.start() for match in re.finditer(b"fLaC\x00\x00\x00\x22", data)):
            block = data[at + 8 : at + 43]
            assert block[18:34] == bytes(16)
            assert block[34] == 0x81


def test_the_search_finds_what_is_there(page, signed_in, received, tmp_path):
    """The other way round: on a page that managers see, the same search finds the names of systems."""
    study = presets.running_study("relate", tmp_path, seconds=1)
    plant(study)
    signed_in(member(study, "researcher"))
    page.goto(f"/api/v1/studies/{study.slug}/items/")
    assert any("quagga" in text for text in received.texts)
    assert any("narwhal" in text for text in received.texts)
    assert Assignment.objects.count() == 0
