"""Sounds of imports: few of them lie on the disk at once, none is fetched in vain, and clips that several count on."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest

from annotation.importing import clips, import_jobs, staging, writing
from annotation.jobs import jobs
from annotation.models import Clip, Job, StagedSound
from tests import factories
from tests.annotation.importing.formats import sounds
from tests.annotation.importing.importing import Killed, bring, write
from tests.annotation.importing.web import serving

pytestmark = pytest.mark.django_db
N = 9


@pytest.fixture(autouse=True)
def _few_together(settings, monkeypatch, tmp_path):
    settings.OUTBOUND_ALLOW = ["127.0.0.1"]
    monkeypatch.setattr(clips, "FIRST_WAIT_S", 0.001)
    monkeypatch.setattr(staging, "AUDIO_BATCH", 3)
    monkeypatch.setattr(jobs, "_REPORT_EVERY_SECONDS", 0)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))


@pytest.fixture
def server(tmp_path):
    """N sounds, each another."""
    made = {
        f"/{n}.wav": sounds.tone(tmp_path / "made.wav", hertz=200 + 50 * n).read_bytes() for n in range(N)
    }
    with serving(lambda asked: (200, {"Content-Type": "audio/wav"}, made[asked.path])) as found:
        yield found


def table(server, path: Path) -> Path:
    return write(path, *({"item_id": f"i{n}", "audio": f"{server.address}/{n}.wav"} for n in range(N)))


def most_at_once(monkeypatch, tmp_path) -> list[int]:
    """How many files are in the temporary folder, whenever a sound is looked at or taken in."""
    seen: list[int] = []

    def counting(real):
        def counted(*given):
            seen.append(sum(path.is_file() for path in (tmp_path / "temporary").rglob("*")))
            return real(*given)

        return counted

    for name in ("_measure", "content_sha256"):
        monkeypatch.setattr(clips, name, counting(getattr(clips, name)))
    return seen


@pytest.mark.parametrize("dry_run", [False, True])
def test_few_sounds_from_elsewhere_lie_on_the_disk_at_once(server, tmp_path, monkeypatch, dry_run):
    seen = most_at_once(monkeypatch, tmp_path)
    job = bring(factories.StudyFactory(overlap=3), table(server, tmp_path / "x.csv"), dry_run=dry_run)
    assert job.state == "done", job.report
    # Each with the sound that is made of it.
    assert 0 < max(seen) <= 2 * staging.AUDIO_BATCH
    assert len(server.asked) == N


@pytest.mark.parametrize("dry_run", [False, True])
def test_what_was_fetched_goes_as_soon_as_it_is_done_with_and_files_of_the_source_stay(
    server, tmp_path, monkeypatch, dry_run
):
    monkeypatch.setattr(staging, "AUDIO_BATCH", 100)
    here = sounds.tone(tmp_path / "here.wav", hertz=1000)
    left: list[int] = []

    def progress(*_args, **_stage) -> None:
        left.append(sum(path.name.startswith("remote-") for path in (tmp_path / "temporary").rglob("*")))

    monkeypatch.setattr(jobs.RunningJob, "progress", progress)
    source = table(server, tmp_path / "x.csv")
    with source.open("a") as file:
        file.write("here,Q?,R,s1,Yes,here.wav,,,,\n")
    job = bring(factories.StudyFactory(overlap=3), source, dry_run=dry_run)
    assert job.state == "done", job.report
    assert set(range(N)) <= set(left)
    assert here.is_file()
    assert source.is_file()


def test_whoever_takes_over_fetches_what_is_not_kept_yet(server, tmp_path, monkeypatch):
    sounds.silence(tmp_path / "quiet.wav")
    source = table(server, tmp_path / "x.csv")
    with source.open("a") as file:
        file.write("quiet,Q?,R,s1,Yes,quiet.wav,,,,\n")
    lines = source.read_text().splitlines()
    source.write_text("\n".join([lines[0], lines[-1], *lines[1:-1]]) + "\n")
    job = import_jobs.start(factories.StudyFactory(overlap=3), source, format="csv", actor=None)
    real, calls = clips.ingest_clips, []

    def take_in(wanted, **given):
        calls.append(list(wanted))
        if len(calls) == 3:
            raise Killed
        real(wanted, **given)

    monkeypatch.setattr(clips, "ingest_clips", take_in)
    with pytest.raises(Killed):
        jobs.run(job.pk)
    assert (StagedSound.objects.filter(created=True).count(), len(server.asked)) == (6, 5)
    Job.objects.filter(pk=job.pk).update(lease_expires_at="2020-01-01T00:00Z")
    assert jobs.run(job.pk)
    job.refresh_from_db()
    assert job.state == "done", job.report
    assert len(server.asked) == N
    assert job.report["notes"] == ["quiet.wav is silent; raters will hear nothing."]
    assert Clip.objects.count() == N + 1


def raise_killed(*_args) -> None:
    raise Killed


@pytest.mark.parametrize(("second_fails", "kept"), [(False, 1), (True, 0)])
def test_a_clip_goes_over_to_the_import_that_counts_on_it(tmp_path, monkeypatch, second_fails, kept):
    """The first is cancelled when the second, into another study, has been compared."""
    sounds.tone(tmp_path / "x.wav")
    source = tmp_path / "x.jsonl"
    source.write_text(json.dumps({"item_id": "i1", "prompt": "p", "system": "s", "audio": "x.wav"}))
    user = factories.UserFactory()
    studies = [factories.StudyFactory(preset="pam") for _ in range(2)]
    first, second = (import_jobs.start(study, source, format="jsonl", actor=None) for study in studies)
    with monkeypatch.context() as patched:
        patched.setattr(writing, "write_staged", raise_killed)
        for job in (first, second):
            with pytest.raises(Killed):
                jobs.run(job.pk)
    jobs.cancel(first, actor=user)
    staging.discard_finished_staging()
    assert StagedSound.objects.get().job == second.pk
    if second_fails:
        jobs.cancel(second, actor=user)
        staging.discard_finished_staging()
    else:
        Job.objects.filter(pk=second.pk).update(lease_expires_at="2020-01-01T00:00Z")
        assert jobs.run(second.pk)
        second.refresh_from_db()
        assert second.state == "done"
    assert Clip.objects.count() == kept
