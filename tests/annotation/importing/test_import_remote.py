"""Imports whose sounds lie elsewhere, into a site that keeps its files in a bucket."""

from __future__ import annotations

import os

import pytest

from annotation.importing import clips
from annotation.listening import clip_cache
from annotation.models import Candidate, Clip
from tests import factories
from tests.annotation.importing.formats import sounds
from tests.annotation.importing.importing import bring, write
from tests.annotation.importing.web import serving
from tests.buckets import KEPT, SOURCES, kept_in_bucket, keys, s3, s3_server

__all__ = ["kept_in_bucket", "s3", "s3_server"]
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _in_house(settings, monkeypatch):
    settings.OUTBOUND_ALLOW = ["127.0.0.1"]
    monkeypatch.setattr(clips, "FIRST_WAIT_S", 0.001)


def test_sounds_come_from_the_web_and_from_a_bucket_and_are_kept_once(kept_in_bucket, tmp_path):
    one, two = (sounds.tone(tmp_path / f"{hertz}.wav", hertz=hertz).read_bytes() for hertz in (300, 400))
    kept_in_bucket.put_object(Bucket=SOURCES, Key="takes/one.wav", Body=one)
    with serving(lambda asked: (200, {"Content-Type": "audio/wav"}, two)) as server:
        source = write(
            tmp_path / "x.csv",
            {"audio": f"s3://{SOURCES}/takes/one.wav"},
            {"item_id": "i2", "audio": f"{server.address}/two.wav"},
            {"item_id": "i3", "audio": f"{server.address}/the-same.wav"},
        )
        job = bring(factories.StudyFactory(overlap=3), source)
    assert job.state == "done", job.report
    assert (Candidate.objects.count(), Clip.objects.count()) == (3, 2)
    assert sorted(key.split("/")[2] for key in keys(kept_in_bucket)) == ["canonical"] * 2 + ["original"] * 2


def test_what_cannot_be_fetched_is_a_problem_of_its_row_and_nothing_is_kept(kept_in_bucket, tmp_path):
    sound = sounds.tone(tmp_path / "a.wav").read_bytes()

    def says(asked):
        return (200, {"Content-Type": "audio/wav"}, sound) if asked.path == "/a.wav" else (404, {}, b"")

    with serving(says) as server:
        source = write(
            tmp_path / "x.csv",
            {"audio": f"{server.address}/a.wav"},
            {"item_id": "i2", "audio": f"{server.address}/b.wav"},
            {"item_id": "i3", "audio": f"s3://{SOURCES}/gone.wav"},
            {"item_id": "i4", "audio": "s3://another/gone.wav"},
            {"item_id": "i5", "audio": "http://10.0.0.1/a.wav"},
        )
        job = bring(factories.StudyFactory(overlap=3), source)
    assert job.state == "failed"
    problems = {found["row"]: found for found in job.report["problems"]}
    assert sorted(problems) == ["3", "4", "5", "6"]
    assert "404" in problems["3"]["problem"]
    assert "no such object" in problems["4"]["problem"]
    assert "CONCORD_S3_SOURCES" in problems["5"]["remedy"]
    assert "not public" in problems["6"]["problem"]
    assert keys(kept_in_bucket) == []


def test_a_clip_in_the_bucket_is_copied_here_once_for_models(kept_in_bucket, settings, tmp_path, monkeypatch):
    settings.CLIP_CACHE = tmp_path / "cache"
    sounds.tone(tmp_path / "a.wav")
    bring(factories.StudyFactory(overlap=3), write(tmp_path / "x.csv", {"audio": "a.wav"}))
    clip = Clip.objects.get()
    path = clip_cache.local_original(clip)
    assert path.read_bytes() == (tmp_path / "a.wav").read_bytes()
    for key in keys(kept_in_bucket):
        kept_in_bucket.delete_object(Bucket=KEPT, Key=key)
    assert clip_cache.local_original(clip) == path
    path.unlink()
    assert not clip_cache.local_original(clip).exists()


def test_copies_for_models_stay_within_bounds(settings, tmp_path, monkeypatch):
    settings.CLIP_CACHE, settings.CLIP_CACHE_BYTES = tmp_path, 25
    for age, name in enumerate(("new", "old", "older")):
        (tmp_path / "aa").mkdir(exist_ok=True)
        file = tmp_path / "aa" / name
        file.write_bytes(b"x" * 10)
        os.utime(file, (file.stat().st_mtime - age * 48 * 3600,) * 2)
    assert clip_cache.evict_oldest() == 1
    assert sorted(file.name for file in tmp_path.glob("*/*")) == ["new", "old"]
