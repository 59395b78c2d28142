"""Releases that bring the sounds along, from a disk and from a bucket."""

from __future__ import annotations

import io
import json
import urllib.request
import zipfile
from pathlib import Path

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.urls import reverse

from analytics.datasets import diff, release_manifest, releases
from analytics.datasets.storage import unzip_folder, zip_folder
from analytics.models import Release
from annotation.errors import Conflict
from annotation.models import AuditEvent, Clip, Study
from tests import factories
from tests.analytics.datasets.released import release, rows
from tests.analytics.datasets.test_release_jobs import Silent
from tests.annotation.importing.formats import sounds
from tests.annotation.importing.importing import bring, write
from tests.buckets import kept_in_bucket, keys, s3, s3_server

__all__ = ["kept_in_bucket", "s3", "s3_server"]
pytestmark = pytest.mark.django_db


def study(folder: Path) -> Study:
    """Three answers about two recordings: what was brought twice is one sound."""
    folder.mkdir()
    for name, hertz in (("one", 300), ("two", 400), ("two-again", 400)):
        sounds.tone(folder / f"{name}.wav", hertz=hertz)
    made = factories.StudyFactory(slug="heard", overlap=3)
    source = write(
        folder / "x.csv",
        {"audio": "one.wav"},
        {"item_id": "i2", "audio": "two.wav"},
        {"item_id": "i3", "audio": "two-again.wav"},
    )
    job = bring(made, source)
    assert job.state == "done", job.report
    return made


@pytest.mark.parametrize("form", ["canonical", "original"])
def test_each_sound_is_there_once_under_the_name_that_its_rows_say(tmp_path, form):
    heard, out = study(tmp_path / "source"), tmp_path / "heard-1"
    # By its suffix a loader of folders knows a sound.
    suffix = {"canonical": ".flac", "original": ".wav"}[form]
    manifest = release(heard, out, audio=form)
    told = [row["audio"] for name in ("items", "candidates") for row in rows(out, name) if row["audio"]]
    there = {path.relative_to(out).as_posix() for path in (out / "audio").iterdir()}
    assert (len(told), set(told), len(there)) == (3, there, 2)
    assert {Path(path).suffix for path in there} == {suffix}
    assert there < manifest["files"].keys()
    assert list(release_manifest.folder_faults(out)) == []
    brought = {(tmp_path / "source" / name).read_bytes() for name in ("one.wav", "two.wav")}
    released = {(out / path).read_bytes() for path in there}
    assert released == brought if form == "original" else {sound[:4] for sound in released} == {b"fLaC"}


def test_a_sound_that_was_altered_is_not_released(tmp_path):
    heard = study(tmp_path / "source")
    name = Clip.objects.order_by("pk").first().canonical.name
    default_storage.delete(name)
    default_storage.save(name, ContentFile(b"fLaC, cut short"))
    with pytest.raises(Conflict, match="altered or cut short"):
        release(heard, tmp_path / "heard-1", audio="canonical")
    assert not (tmp_path / "heard-1").exists()


def test_a_release_without_a_sound_that_was_lost_says_which_it_is(tmp_path):
    heard = study(tmp_path / "source")
    name = Clip.objects.order_by("pk").first().canonical.name
    default_storage.delete(name)
    with pytest.raises(Conflict, match=f"{name} cannot be read .* backup"):
        release(heard, tmp_path / "heard-1", audio="canonical")
    assert not (tmp_path / "heard-1").exists()


def test_to_compare_a_release_its_sounds_are_not_unpacked(tmp_path):
    heard, archive = study(tmp_path / "source"), tmp_path / "heard.zip"
    release(heard, tmp_path / "heard-1", audio="canonical")
    zip_folder(tmp_path / "heard-1", archive)
    with archive.open("rb") as file:
        unzip_folder(file, tmp_path / "unpacked", wanted=diff.is_compared_file)
    out = tmp_path / "unpacked" / "heard-1"
    assert {path.name for path in out.iterdir()} == {"data", "manifest.json"}
    assert diff.diff_summary(out, tmp_path / "heard-1") == {"tables": {}, "examples": []}


def test_from_a_bucket_it_is_fetched_by_a_link_that_ends_and_can_be_made_again(
    kept_in_bucket, tmp_path, client, monkeypatch
):
    monkeypatch.setattr(releases, "Heartbeat", Silent)
    heard = study(tmp_path / "source")
    call_command("release", "make", "heard", audio="canonical")
    made = Release.objects.get()
    assert sum("releases/" in key for key in keys(kept_in_bucket)) == 1
    client.force_login(factories.member(heard, "researcher"))
    answer = client.get(reverse("api_release_file", args=["heard", 1]))
    assert answer.status_code == 302
    assert AuditEvent.objects.get(action="release.fetched").subject == "release 1"
    with urllib.request.urlopen(answer["Location"]) as file:
        zipfile.ZipFile(io.BytesIO(file.read())).extractall(tmp_path / "fetched")
    fetched = tmp_path / "fetched" / "heard-1"
    assert list(release_manifest.folder_faults(fetched)) == []
    assert json.loads((fetched / "manifest.json").read_text())["sha256"] == made.sha256
    call_command("release", "rebuild", str(fetched / "manifest.json"), out=tmp_path / "again")
    paths = [path.relative_to(fetched) for path in fetched.rglob("*") if path.is_file()]
    assert all((tmp_path / "again" / path).read_bytes() == (fetched / path).read_bytes() for path in paths)
