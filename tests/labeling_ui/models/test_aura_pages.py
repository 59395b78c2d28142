"""AURA from the browser: its form, a run over a study by a server and MS-CLAP, and its scores."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from analytics.reports.sections.model_data import scored_by
from annotation.listening import clip_cache
from annotation.models import Study
from scoring.models import Score, ScoringRun
from scoring.runs import loaded_metric
from tests.factories import clip, rating_task
from tests.scoring.msclap_checkpoint import save_msclap
from tests.scoring.openai_double import OpenAIDouble
from tests.scoring.sounds import sound
from tests.scoring.studies import worked

pytestmark = pytest.mark.django_db


@pytest.fixture
def answered(study: Study, tmp_path: Path) -> Study:
    """Three answers about recordings, one to an item without a question, one to an item without a recording."""
    for number, name in enumerate(("one", "two", "three", "four")):
        recording = clip(name, seconds=2.0)
        file = clip_cache.local_original(recording)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(sound(tmp_path, seconds=2.0, seed=number).path.read_bytes())
        rating_task(study, name, clip=recording, **({"question": ""} if name == "four" else {}))
    rating_task(study, "five")
    return study


def test_a_study_is_judged_from_its_models_page(signed_in: Client, answered: Study, tmp_path: Path) -> None:
    loaded_metric.unload()
    form = reverse("new_run", args=[answered.slug], query={"metric": "aura"})
    shown = signed_in.get(form).text
    for expected in ("AURA", "Weight of the entailment", "Contradiction below", "for which the thresholds"):
        assert expected in shown
    with OpenAIDouble() as server:
        fields = {
            "option-backbone": server.name, "option-checkpoint": str(save_msclap(tmp_path)), "option-shots": "2",
            "option-rationale": "on", "option-weight": "0.1", "option-contradicts_below": "0.25",
            "option-entails_above": "0.55", "option-normalisation": "range", "option-ungrounded": "fault",
            "option-long_sounds": "windows", "option-rating": "written", "option-samples": "1",
            "option-temperature": "0", "option-top_p": "1", "option-sampling": "each", "option-seed": "0",
            "option-unreadable": "fault", "option-max_new_tokens": "64", "option-dtype": "auto", "option-at_once": "8",
        }  # fmt: skip
        wrong = signed_in.post(form, {**fields, "option-contradicts_below": "0.6"})
        assert "is 0.6, above entails_above, which is 0.55" in wrong.text
        posted = signed_in.post(form, fields)
        assert posted.status_code == 302, posted.text
        run = worked(ScoringRun.objects.get())
        n_requests = len(server.requests)
    loaded_metric.unload()
    assert (run.state, run.n_done, run.n_failed) == ("done", 3, 2)
    assert n_requests == 6
    assert set(run.rows.exclude(fault="").values_list("fault", flat=True)) == {"no_question", "no_sound"}
    by_output: dict[str, list[float]] = {}
    for output, value in Score.objects.order_by("candidate").values_list("output", "value"):
        by_output.setdefault(output, []).append(value)
    assert set(by_output) == {"score", "judge", "entailment", "similarity"}
    for score, judge, entailment in zip(
        by_output["score"], by_output["judge"], by_output["entailment"], strict=True
    ):
        assert score == pytest.approx((judge + 0.1 * entailment + 0.1) / 1.2, abs=1e-9)
    page = signed_in.get(reverse("scoring_run", args=[run.pk])).text
    assert "The item has no question." in page
    (scored,) = scored_by(answered)
    assert scored.scorer.config["clap_family"] == "MS-CLAP 2023"
