"""Releases as work in the background, and by the command."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command

from analytics.datasets import releases, table_files
from analytics.datasets.snapshot import ReleaseOptions
from analytics.models import Release
from annotation.errors import Conflict, InvalidInput
from annotation.jobs import jobs
from annotation.models import AuditEvent, Job
from tests import factories
from tests.analytics.datasets.released import Working, working

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(monkeypatch) -> Working:
    # The work is done in the test's own transaction, which no other connection sees into.
    monkeypatch.setattr(releases, "Heartbeat", Silent)
    return working()


class Silent:
    def __init__(self, *args: object, **fields: object) -> None: ...
    def __enter__(self) -> Silent:
        return self

    def __exit__(self, *args: object) -> None: ...
    def __call__(self, done: int) -> None: ...


def make(world: Working) -> Release:
    call_command("release", "make", world.study.slug)
    return Release.objects.order_by("number").last()


def unpacked(release: Release, out: Path) -> Path:
    with default_storage.open(releases.stored_archive(release)) as file, zipfile.ZipFile(file) as archive:
        archive.extractall(out)
    return next(out.iterdir())


def test_a_release_can_be_fetched_checked_and_made_again(world, tmp_path, capsys):
    made = make(world)
    one = unpacked(made, tmp_path / "one")
    world.go_on()
    call_command("release", "verify", str(one))
    call_command("release", "rebuild", str(one / "manifest.json"), out=tmp_path / "again")
    told = capsys.readouterr()
    assert told.err.startswith("1 rater has asked since to be taken out.")
    assert told.out.splitlines() == [
        f"Release 1 of duel: {made.sha256}",
        f"All is as released: {made.sha256}",
        f"The same release is in {tmp_path / 'again'}: {made.sha256}",
    ]
    assert AuditEvent.objects.get(action="release.made").data == {"sha256": made.sha256}
    again = AuditEvent.objects.get(action="release.rebuilt")
    assert (again.study, again.subject) == (world.study, "release 1")
    assert again.data == {"sha256": made.sha256, "withdrawn_since": 1}


def test_the_next_one_says_what_is_other(world):
    assert make(world).differences == {}
    world.withdraw(world.users[0])
    told = make(world).differences
    assert (told["since"], told["tables"]["judgments"]["removed"]["why"]) == (1, {"rater withdrawn": 2})


def test_the_next_one_says_that_it_could_not_be_compared_where_the_file_before_is_gone(world):
    first = make(world)
    default_storage.delete(first.file)
    assert make(world).differences == {"since": 1, "unknown": "no_file"}
    releases.delete_file(Release.objects.get(number=2), actor=factories.UserFactory())
    assert make(world).differences == {"since": 2, "unknown": "no_file"}


def test_one_that_holds_a_rater_who_has_withdrawn_since_is_superseded_and_its_file_can_go(world):
    before = make(world)
    world.withdraw(world.users[0])
    after = make(world)
    assert (releases.withdrawn_since(before), releases.withdrawn_since(after)) == (1, 0)
    name, admin = before.file, factories.UserFactory()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(releases.transaction, "on_commit", lambda do: do())
        releases.delete_file(before, actor=admin)
    before.refresh_from_db()
    assert (before.file, bool(before.sha256), default_storage.exists(name)) == ("", True, False)
    with pytest.raises(Conflict, match="rebuild"):
        releases.stored_archive(before)
    assert AuditEvent.objects.filter(action="release.file_deleted").count() == 1


def test_one_release_at_a_time_is_made(world):
    releases.start_release(world.study, ReleaseOptions(), actor=None)
    with pytest.raises(Conflict, match="being made"):
        releases.start_release(world.study, ReleaseOptions(), actor=None)


def test_audio_that_is_unknown_is_refused(world):
    with pytest.raises(InvalidInput):
        releases.start_release(world.study, ReleaseOptions(audio="mp3"), actor=None)
    assert not Job.objects.filter(kind="release").exists()


def test_a_release_that_fails_leaves_no_file_and_no_row(world, monkeypatch):
    job = releases.start_release(world.study, ReleaseOptions(), actor=None)

    def broken(*args: object, **fields: object) -> None:
        raise Conflict("The disk is full.")

    monkeypatch.setattr(table_files, "write_release", broken)
    jobs.run(job.pk)
    job.refresh_from_db()
    assert (job.state, job.message, Release.objects.count()) == ("failed", "The disk is full.", 0)
    assert not default_storage.exists(f"releases/{job.pk}.zip")


def test_a_rebuild_that_comes_to_something_else_says_so(world, tmp_path):
    one = unpacked(make(world), tmp_path / "one")
    manifest = json.loads((one / "manifest.json").read_text())
    manifest["cut"]["horizon"]["judgments"] -= 1
    (one / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(CommandError, match="another release"):
        call_command("release", "rebuild", str(one), out=tmp_path / "again")


def test_one_that_is_cancelled_in_the_middle_leaves_nothing(world, monkeypatch):
    class Cancelling(Silent):
        def __call__(self, done: int) -> None:
            raise jobs.Cancelled

    monkeypatch.setattr(releases, "Heartbeat", Cancelling)
    job = releases.start_release(world.study, ReleaseOptions(), actor=None)
    jobs.run(job.pk)
    assert (Release.objects.count(), default_storage.exists(f"releases/{job.pk}.zip")) == (0, False)
    assert not AuditEvent.objects.filter(action="release.made").exists()


def test_one_whose_worker_is_killed_after_saving_starts_over_and_is_there_once(world, monkeypatch):
    job = releases.start_release(world.study, ReleaseOptions(), actor=None)
    with monkeypatch.context() as patch:
        patch.setattr(default_storage, "delete", lambda name: None)  # the killed tidy nothing up
        patch.setattr(releases.audit, "record", killed)
        with pytest.raises(RuntimeError, match="killed"):
            jobs.run(job.pk)
    assert (Release.objects.count(), default_storage.exists(f"releases/{job.pk}.zip")) == (0, True)
    jobs.run(job.pk)
    made = Release.objects.get()
    assert (made.file, default_storage.size(made.file)) == (f"releases/{job.pk}.zip", made.file_bytes)


def killed(*args: object, **fields: object) -> None:
    raise RuntimeError("killed")
