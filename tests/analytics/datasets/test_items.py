"""What an export says of each item."""

from __future__ import annotations

import pytest

from analytics.datasets import records
from analytics.datasets.records import item_records
from annotation.models import Item, ItemVersion, Study
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return factories.StudyFactory(preset="cmi-pref")


def test_it_gives_texts_strata_and_the_hashes_of_the_audio(study):
    reference = factories.clip("reference", seconds=2.5)
    factories.comparison_task(study, "pair", lyrics="la la", reference_clip=reference)
    Item.objects.update(strata={"genre": "rock"})
    (record,) = item_records(study)
    audio = [factories.clip(f"pair-{side}").sha256 for side in (1, 2)]
    assert record == {
        "study": study.slug,
        "item": "pair",
        "state": "active",
        "strata": {"genre": "rock"},
        "version": 1,
        "current": True,
        "retracted": False,
        "prompt": "Prompt of pair",
        "lyrics": "la la",
        "question": "",
        "reference": "",
        "rationale": "",
        "transcript": "",
        "reference_clip": {
            "sha256": reference.sha256, "canonical_sha256": reference.canonical_sha256, "seconds": 2.5,
        },
        "clip": None,
        "extra": {},
        "candidates": [
            {
                "system": f"system-{side}",
                "take": 1,
                "text": "",
                "clip": {"sha256": sha256, "canonical_sha256": sha256, "seconds": 1.0},
                "carried_from": None,
                "provenance": {},
            }
            for side, sha256 in zip((1, 2), audio, strict=True)
        ],
    }  # fmt: skip


def test_every_version_of_an_item_is_there_and_one_is_current(study):
    task = factories.comparison_task(study, "pair")
    item = task.item_version.item
    item.current_version = ItemVersion.objects.create(
        item=item, number=2, prompt="Corrected", content_sha256="1" * 64
    )
    item.save()
    assert [(row["version"], row["current"], row["prompt"]) for row in item_records(study)] == [
        (1, False, "Prompt of pair"), (2, True, "Corrected"),
    ]  # fmt: skip


def test_what_a_model_wrote_names_no_place_on_this_machine(study):
    written = {"rationale": {"identity": {"checkpoint": "/srv/models/qwen", "revision": "abc"}}}
    factories.comparison_task(study, "pair", extra={"url": "https://example.org/1", "written": written})
    (record,) = item_records(study)
    assert record["extra"] == {
        "url": "https://example.org/1",
        "written": {"rationale": {"identity": {"checkpoint": "qwen", "revision": "abc"}}},
    }


def test_batches_join_without_gap_or_repeat(study, monkeypatch):
    monkeypatch.setattr(records, "ITEM_BATCH", 2)
    for name in "abcde":
        factories.comparison_task(study, name)
    factories.rating_task(factories.StudyFactory(), "other")
    assert [record["item"] for record in item_records(study)] == list("abcde")


def test_a_batch_takes_two_queries(study, django_assert_num_queries):
    for name in "abcde":
        factories.comparison_task(study, name)
    with django_assert_num_queries(3):  # and one that finds the end
        list(item_records(study))
