"""What a training holds in memory: nothing of another model, no more than there is, and how much."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from analytics.training import jobs
from analytics.training.run import PeakMemory
from annotation.jobs import jobs as jobs_jobs
from annotation.models import Job
from scoring import learned
from scoring.models import LearnedModel
from scoring.runs import loaded_metric
from tests.analytics import learning


@pytest.fixture
def toy(monkeypatch, settings, tmp_path):
    settings.SCORING_CHECKPOINTS = tmp_path / "checkpoints"
    return learning.register(monkeypatch)


def trained() -> LearnedModel:
    model = jobs.start_training(learning.music(), "cmi-rm", {}, actor=None)
    jobs_jobs.run(model.job_id)
    return LearnedModel.objects.select_related("job", "study").get(pk=model.pk)


@pytest.mark.django_db
def test_a_training_begins_with_nothing_else_open(toy, monkeypatch):
    monkeypatch.setattr(loaded_metric.LOADED, "_model", object())
    found, train = [], toy.train
    monkeypatch.setattr(
        toy, "train", lambda *args, **how: found.append(loaded_metric.LOADED._model) or train(*args, **how)
    )
    assert trained().job.state == Job.State.DONE
    assert found == [None]


@pytest.mark.django_db
@pytest.mark.parametrize("error", [MemoryError, torch.OutOfMemoryError])
def test_what_does_not_fit_into_memory_is_told_with_what_to_do(toy, monkeypatch, error):
    def too_large(*args, **how):
        raise error

    monkeypatch.setattr(toy, "train", too_large)
    model = trained()
    assert model.job.state == Job.State.FAILED
    assert "Choose a smaller batch, a smaller encoder" in model.job.message
    assert not learned.checkpoint_path(model).with_name("cmi-rm-1.work").exists()


@pytest.mark.django_db
def test_the_record_has_the_memory_of_the_training(toy):
    record = trained().record
    assert record["peak_memory_mb"] > 0
    assert (record["gpu_peak_memory_mb"] is None) is not torch.cuda.is_available()


def test_memory_that_was_held_before_is_not_counted():
    held = np.ones(50_000_000)
    with PeakMemory() as before:
        pass
    most = before.mb
    assert most is not None
    del held
    with PeakMemory() as after:
        pass
    assert after.mb is not None
    assert after.mb < most - 300
