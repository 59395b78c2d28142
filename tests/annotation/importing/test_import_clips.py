"""Clips that several imports count on before any of them is done."""

from __future__ import annotations

import json

import pytest

from annotation.importing import import_jobs, staging, writing
from annotation.jobs import jobs
from annotation.models import Clip, StagedSound
from tests import factories
from tests.annotation.importing.formats import sounds


class Killed(BaseException):
    """Nothing of the process is left to tidy up."""


def killed(*_args) -> None:
    raise Killed


@pytest.mark.django_db
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
        patched.setattr(writing, "write_staged", killed)
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
        type(second).objects.filter(pk=second.pk).update(lease_expires_at="2020-01-01T00:00Z")
        assert jobs.run(second.pk)
        second.refresh_from_db()
        assert second.state == "done"
    assert Clip.objects.count() == kept
