"""An LLM judge from the browser: its form, a run over a study, its scores and how its prompts compare."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from analytics.reports.sensitivity import sensitivity
from annotation.models import Study
from scoring.models import Score, ScoringRun
from scoring.runs import loaded_metric
from tests.factories import rating_task
from tests.scoring.openai_double import OpenAIDouble
from tests.scoring.studies import worked

pytestmark = pytest.mark.django_db


def test_a_study_is_judged_from_its_models_page(signed_in: Client, study: Study) -> None:
    loaded_metric.unload()
    for name in ("one", "two", "three"):
        rating_task(study, name)
    rating_task(study, "four", reference="")
    form = reverse("new_run", args=["s"], query={"metric": "llm-judge"})
    shown = signed_in.get(form).text
    for expected in (
        "LLM judge",
        "What the judge reads beside the answer",
        "Unreadable answers",
        "prometheus",
    ):
        assert expected in shown
    with OpenAIDouble(say='{"score": 4}') as server:
        fields = {
            "option-backbone": server.name,
            "option-context": "reference, question",
            "option-template": "rubric, brief",
            "option-rating": "expected",
            "option-samples": "1",
            "option-temperature": "0",
            "option-top_p": "1",
            "option-seed": "0",
            "option-unreadable": "fault",
            "option-max_new_tokens": "64",
            "option-dtype": "auto",
        }
        wrong = signed_in.post(form, {**fields, "option-samples": "4"})
        assert "at temperature 0 every sample is the same" in wrong.text
        assert signed_in.post(form, fields).status_code == 302
        run = worked(ScoringRun.objects.get())
    loaded_metric.unload()
    assert (run.state, run.n_done, run.n_failed) == ("done", 3, 1)
    assert run.rows.get(fault="no_reference")
    outputs = set(Score.objects.values_list("output", flat=True))
    templates = {f"{context}.{name}" for context in ("reference", "question") for name in ("rubric", "brief")}
    assert outputs == {"value", "variance", "written", "spread", "unreadable", *templates}
    assert "LLM judge" in signed_in.get(reverse("scoring_run", args=[run.pk])).text
    assert run.scorer is not None
    assert {one["template"] for one in sensitivity(study, run.scorer)["templates"]} == templates
    assert "Compare templates" in signed_in.get(reverse("models", args=["s"])).text
