"""A site that keeps its files in a bucket: raters and researchers notice nothing but where a download comes from."""

from __future__ import annotations

import io
import urllib.error
import urllib.request
import uuid
import zipfile
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.checks import run_checks
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.utils import timezone

from annotation.importing import clips
from annotation.jobs import jobs
from annotation.listening import signed_clips
from annotation.models import AuditEvent, Clip
from annotation.storage import RangedObject
from tests.annotation.world import link
from tests.buckets import KEPT, kept_in_bucket, keys, s3, s3_server

__all__ = ["kept_in_bucket", "s3", "s3_server"]


@pytest.fixture
def fetched(monkeypatch) -> list[tuple[int, int]]:
    """The ranges that were asked of the bucket."""
    ranges: list[tuple[int, int]] = []
    get = RangedObject._get

    def noted(self, start, stop):
        ranges.append((start, stop))
        return get(self, start, stop)

    monkeypatch.setattr(RangedObject, "_get", noted)
    return ranges


@pytest.mark.django_db
class TestRating:
    def test_a_clip_is_streamed_by_us_and_only_what_is_asked_for_is_fetched(
        self, kept_in_bucket, world, api, fetched
    ):
        me = api(world.annotator)
        clip = me.get(f"assignments/{world.open.pk}/").json()["candidates"][0]["clip"]
        whole = b"".join(me.get(clip["url"]).streaming_content)
        assert whole[:4] == b"fLaC"
        fetched.clear()
        first, last = clip["parts"][0], clip["parts"][1] - 1  # the second part, as players ask for it
        part = me.get(clip["url"], Range=f"bytes={first}-{last}")
        assert (part.status_code, b"".join(part.streaming_content)) == (206, whole[first : last + 1])
        stored = max(each.part_offsets[-1] for each in Clip.objects.exclude(part_offsets=[]))
        assert len(fetched) == 2
        assert sum(stop - start for start, stop in fetched) < stored

    def test_nothing_an_answer_says_leads_to_the_bucket(self, kept_in_bucket, world, api, s3_server):
        response = api(world.annotator).get(link(world.open.pk, "a"))
        assert response.status_code == 200
        said = f"{response.headers}"
        assert KEPT not in said
        assert s3_server not in said
        assert "ETag" not in response.headers

    def test_a_link_that_ends_during_a_session_is_renewed(self, kept_in_bucket, world, api, monkeypatch):
        old = link(world.open.pk, "a")
        later = timezone.now() + signed_clips.LINK_LIFETIME + timedelta(seconds=1)
        monkeypatch.setattr(signed_clips.timezone, "now", lambda: later)
        me = api(world.annotator)
        assert me.get(old).json()["title"] == "link_expired"
        fresh = me.get(f"assignments/{world.open.pk}/").json()["candidates"][0]["clip"]["url"]
        assert b"".join(me.get(fresh).streaming_content)[:4] == b"fLaC"

    def test_a_spectrogram_is_drawn_once_and_kept(self, kept_in_bucket, world, api):
        address = link(world.open.pk, "a").replace("/clips/", "/spectrograms/").partition("?")[0]
        first, second = (api(world.annotator).get(address) for _ in range(2))
        assert (first.status_code, first.content) == (200, second.content)
        assert sum("spectrograms" in key for key in keys(kept_in_bucket)) == 1


@pytest.mark.django_db(transaction=True)
def test_an_export_is_fetched_by_a_link_that_ends(kept_in_bucket, world, api):
    answer = api(world.researcher).post("studies/here/exports/", {"format": "csv"}).json()
    assert jobs.run(uuid.UUID(answer["job"]))
    response = api(world.researcher).get(answer["file"], Range="bytes=9-")  # the link is to all of it
    assert response.status_code == 302
    assert AuditEvent.objects.filter(action="export.fetched", actor=world.researcher).count() == 1
    asked = parse_qs(urlsplit(response["Location"]).query)
    assert asked["X-Amz-Expires"] == ["300"]
    with urllib.request.urlopen(response["Location"]) as file:
        assert "here-csv.zip" in file.headers["Content-Disposition"]
        assert zipfile.ZipFile(io.BytesIO(file.read())).testzip() is None
    part = urllib.request.Request(response["Location"], headers={"Range": "bytes=0-3"})
    with urllib.request.urlopen(part) as file:
        assert (file.status, file.read()) == (206, b"PK\x03\x04")
    assert api(world.annotator).get(answer["file"]).status_code == 404


@pytest.mark.django_db
def test_a_clip_that_is_discarded_leaves_the_bucket(kept_in_bucket, db):
    for name in ("clips/original/aa/a", "clips/canonical/aa/a.flac"):
        default_storage.save(name, ContentFile(b"sound"))
    facts = {"duration_s": 1.0, "n_samples": 48000, "channels": 1, "source_codec": "pcm"}
    clip = Clip.objects.create(
        sha256="aa" * 32,
        canonical_sha256="bb" * 32,
        n_bytes=5,
        source_sample_rate=48000,
        silent=False,
        peaks=b"",
        original="clips/original/aa/a",
        canonical="clips/canonical/aa/a.flac",
        **facts,
    )
    clips.discard_clips([clip])
    assert keys(kept_in_bucket) == []


class TestRanges:
    @pytest.fixture
    def kept(self, kept_in_bucket) -> bytes:
        whole = bytes(range(256)) * 2048
        default_storage.save("whole", ContentFile(whole))
        return whole

    def test_a_file_reads_like_any_other(self, kept):
        with default_storage.open("whole") as file, io.BytesIO(kept) as like:
            for offset, whence, size in (
                (0, 0, 10),
                (100_000, 0, 70_000),
                (5, 1, 5),
                (-7, 2, 100),
                (9, 0, -1),
            ):
                assert file.seek(offset, whence) == like.seek(offset, whence)
                assert file.read(size) == like.read(size)
                assert file.tell() == like.tell()
            assert file.size == len(kept)

    def test_a_jump_fetches_what_is_asked_for(self, kept, fetched):
        with default_storage.open("whole") as file:
            file.seek(300_000)
            file.read(1000)
        assert fetched == [(0, 8192), (300_000, 301_000)]

    def test_reading_on_takes_few_requests(self, kept, fetched):
        with default_storage.open("whole") as file:
            assert b"".join(iter(lambda: file.read(1000), b"")) == kept
        assert len(fetched) < 8

    def test_what_is_not_there_is_not_found(self, kept_in_bucket):
        with pytest.raises(FileNotFoundError):
            default_storage.open("gone")

    def test_an_empty_file_is_empty(self, kept_in_bucket):
        default_storage.save("empty", ContentFile(b""))
        with default_storage.open("empty") as file:
            assert (file.size, file.read()) == (0, b"")


@pytest.mark.django_db
class TestCheck:
    def test_a_bucket_that_works_is_fine_and_left_as_it_was(self, kept_in_bucket):
        assert self._found() == []
        assert keys(kept_in_bucket) == []

    def test_a_bucket_that_is_not_there_is_explained(self, kept_in_bucket, settings):
        settings.STORAGE_BUCKET = ("nobodys-bucket", "")
        (problem,) = self._found()
        assert "nobodys-bucket" in problem.msg
        assert "CONCORD_STORAGE" in problem.hint

    def _found(self):
        return [found for found in run_checks(databases=["default"]) if found.id == "concord.E004"]
