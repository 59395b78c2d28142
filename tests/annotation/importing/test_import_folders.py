"""Folders become studies: sounds that are paired by their names, and sounds inside Parquet files."""

from __future__ import annotations

import io
import shutil
import tarfile
from pathlib import Path

import av
import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotation.importing import options, uploads
from annotation.importing.formats.detection import detect_format
from annotation.models import Clip, Item, ItemVersion, Study, Task
from tests.annotation.importing.formats import sounds, tables
from tests.annotation.importing.importing import bring, problems

pytestmark = pytest.mark.django_db


def new(preset: str) -> options.NewStudy:
    return options.NewStudy("folders", "Folders", preset)


@pytest.fixture
def folder(tmp_path) -> Path:
    """Two systems' clips of two prompts."""
    home = tmp_path / "study"
    for place, name in enumerate(("alpha/1.wav", "alpha/2.wav", "beta/1.wav", "beta/2.wav")):
        sounds.tone(home / name, hertz=300 + 50 * place)
    (home / "1.txt").write_text("A waltz")
    (home / "2.txt").write_text("A song")
    return home


def picture(path: Path) -> None:
    with av.open(str(path), "w", format="image2") as container:
        stream = container.add_stream("png", rate=1)
        stream.width = stream.height = 16
        stream.pix_fmt = "rgb24"
        frame = av.VideoFrame.from_ndarray(np.zeros((16, 16, 3), np.uint8), format="rgb24")
        container.mux(stream.encode(frame))


def test_paired_sounds_become_comparisons(folder):
    job = bring(None, folder, format="audiofolder", new_study=new("cmi-pref"))
    assert job.state == "done", job.report
    assert (Task.objects.count(), Clip.objects.count()) == (2, 4)
    texts = ItemVersion.objects.order_by("item__external_id").values_list("prompt", flat=True)
    assert list(texts) == ["A waltz", "A song"]
    again = bring(Study.objects.get(slug="folders"), folder, format="audiofolder")
    assert (again.state, again.report["created"]["tasks"]) == ("done", 0)


def test_sounds_that_are_something_else_are_told_by_row_and_nothing_is_kept(folder):
    (folder / "alpha/1.wav").unlink()
    picture(folder / "alpha/1.wav")
    (folder / "alpha/2.wav").write_text("<!DOCTYPE html><html><body>Sign in</body></html>" * 50)
    job = bring(None, folder, format="audiofolder", new_study=new("cmi-pref"))
    assert job.state == "failed"
    assert sorted(problems(job)) == [("1 (alpha, beta)", "audio_a"), ("2 (alpha, beta)", "audio_a")]
    assert all(problem["remedy"] for problem in job.report["problems"])
    assert (Study.objects.count(), Clip.objects.count()) == (0, 0)


def test_what_a_sounds_name_ends_in_does_not_matter(folder):
    shutil.move(folder / "alpha/1.wav", folder / "alpha/1.mp3")
    assert bring(None, folder, format="audiofolder", new_study=new("cmi-pref")).state == "done"


def test_a_data_set_with_its_sounds_inside_becomes_a_study(tmp_path):
    contents = [sounds.tone(tmp_path / f"{k}.wav", hertz=300 + 50 * k).read_bytes() for k in range(3)]
    columns = {"audio": tables.sounds(*contents, contents[0]), "text": ["a", "b", "c", "d"]}
    tables.write(tmp_path / "set/data/train-00000-of-00001.parquet", columns)
    mapped = {"text": "prompt"}
    job = bring(None, tmp_path / "set", format="huggingface", new_study=new("pam"), column_map=mapped)
    assert job.state == "done", job.report
    assert (Task.objects.count(), Clip.objects.count()) == (4, 3)
    assert [item.strata for item in Item.objects.all()] == [{"split": "train"}] * 4


def test_a_packed_sound_that_is_none_is_told_by_its_row(tmp_path):
    good = sounds.tone(tmp_path / "a.wav").read_bytes()
    columns = {"item_id": [1, 2], "prompt": ["p", "q"], "audio": tables.sounds(good, b"?" * 99)}
    tables.write(tmp_path / "t.parquet", columns)
    job = bring(None, tmp_path / "t.parquet", format="parquet", new_study=new("pam"))
    assert (job.state, problems(job)) == ("failed", [("2", "audio")])
    assert Study.objects.count() == 0


def test_a_folder_comes_as_a_packed_upload(folder, settings, tmp_path):
    settings.HOME = tmp_path / "home"
    settings.HOME.mkdir()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.add(folder, "my study")
    source = uploads.store_upload(SimpleUploadedFile("study.tar.gz", packed.getvalue()), format="audiofolder")
    assert detect_format(source)[0] == "audiofolder"
    job = bring(None, source, format="audiofolder", new_study=new("pam"))
    assert (job.state, job.report["tasks"]) == ("done", 4)
