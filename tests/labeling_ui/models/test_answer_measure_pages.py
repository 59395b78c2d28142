"""A measure of answers from the browser: its form, its refusals and its run."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Study
from scoring.models import ScoringRun
from scoring.runs import loaded_metric
from tests.factories import rating_task
from tests.scoring.studies import worked

pytestmark = pytest.mark.django_db


def test_a_run_from_the_models_page_has_the_scorers_options(signed_in: Client, study: Study) -> None:
    loaded_metric.unload()
    for name, reference in (("one", "A bell."), ("two", "A dog barks"), ("three", "Rain"), ("four", "")):
        rating_task(study, name, reference=reference)
    form = reverse("new_run", args=[study.slug], query={"metric": "bleu"})
    shown = signed_in.get(form).text
    assert "BLEU" in shown
    assert "Longest word sequence" in shown
    assert (
        "must be from 1 to 4" in signed_in.post(form, {"option-order": "9", "option-smoothing": "exp"}).text
    )
    assert signed_in.post(form, {"option-order": "1", "option-smoothing": "exp"}).status_code == 302
    run = worked(ScoringRun.objects.get())
    assert (run.state, run.n_done, run.n_failed) == ("done", 3, 1)
    assert run.scorer is not None
    assert run.scorer.config["order"] == 1
    assert "BLEU" in signed_in.get(reverse("scoring_run", args=[run.pk])).text
