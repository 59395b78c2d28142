"""What a run would ask of its server and cost, before it is requested."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotation.errors import InvalidInput
from annotation.models import Study
from scoring.backbones.openai.counting import approximate_tokens
from scoring.models import ScoringRun
from scoring.runs.estimates import estimate_run
from tests import factories
from tests.factories import StudyFactory, rating_task
from tests.scoring.openai_double import OpenAIDouble
from tests.scoring.studies import run_over, study_of, worked

pytestmark = pytest.mark.django_db
ELSEWHERE = "http://gpu-host:8000/v1#some/model"


@pytest.fixture
def study() -> Study:
    study = StudyFactory()
    for number in range(4):
        rating_task(study, f"item-{number}", reference="A bell.")
    return study


def served(backbone: str = ELSEWHERE, **options: Any) -> dict[str, Any]:
    return {"backbone": backbone, "template": "brief", "price_in": 2, "price_out": 10, **options}


def test_it_counts_the_requests_that_a_run_would_send(study: Study) -> None:
    """As many, and of as many characters, as the server is then sent."""
    options = {"context": "reference,question", "samples": 3, "temperature": 0.5, "max_new_tokens": 40}
    expected = estimate_run(study, "llm-judge", served(**options))
    with OpenAIDouble(say='{"score": 4}') as server:
        run = worked(run_over(study, "llm-judge", served(server.name, **options)))
    assert run.state == "done"
    assert (expected.n_rows, expected.requests) == (run.n_rows, len(server.requests))
    characters = sum(len(m["content"]) for body in server.requests for m in body["messages"])
    assert characters / 4 <= expected.prompt_tokens <= characters / 4 + 20 * len(server.requests)
    assert expected.most_completion_tokens == 40 * len(server.requests)
    assert expected.cost == pytest.approx(2 * expected.prompt_tokens / 1e6)
    assert expected.most_cost == pytest.approx(
        (2 * expected.prompt_tokens + 10 * expected.most_completion_tokens) / 1e6
    )


def test_joint_samples_are_read_once_and_a_rate_limit_takes_its_time(study: Study) -> None:
    drawn = {"samples": 4, "temperature": 0.5}
    each = estimate_run(study, "llm-judge", served(**drawn, per_minute=2))
    together = estimate_run(study, "llm-judge", served(**drawn, sampling="together"))
    assert each.prompt_tokens == 4 * together.prompt_tokens
    assert each.most_completion_tokens == together.most_completion_tokens
    assert (each.minutes, together.minutes) == (each.requests / 2, None)


def test_a_sample_stands_for_a_part_of_the_study() -> None:
    study = study_of([f"rain number {number:03}" for number in range(50)], seconds=30.0)
    found = estimate_run(study, "aqascore", {"backbone": ELSEWHERE, "template": "default"})
    assert (found.n_rows, found.n_sampled, found.requests) == (50, 32, 50)
    assert found.sound_seconds == pytest.approx(1500.0)
    assert (found.most_completion_tokens, found.cost) == (50, None)
    part = {"items": ["item-3", "item-4"]}
    both = estimate_run(study, "cascade", {"backbone": ELSEWHERE, "judge": f"{ELSEWHERE}-2"}, filter=part)
    assert (both.n_rows, both.requests) == (2, 4)


def test_what_asks_no_server_has_no_price(study: Study) -> None:
    with pytest.raises(InvalidInput, match="Only what a server computes"):
        estimate_run(study, "llm-judge", {"backbone": "some/model"})
    with pytest.raises(InvalidInput, match="Only what a server computes"):
        estimate_run(study, "bleu", {})


def test_tokens_are_reckoned_by_the_script() -> None:
    assert approximate_tokens("") == 0
    assert approximate_tokens("a" * 41) == 11 + 8
    assert approximate_tokens("雨声 rain") == 2 + 2 + 8


def test_the_command_says_it_before_it_starts_and_alone_when_asked(study: Study) -> None:
    arguments = [study.slug, "--scorer", "llm-judge", "--option", "price_in=2", "--template", "brief"]
    told = StringIO()
    call_command("score", *arguments, "--backbone", ELSEWHERE, "--estimate", stdout=told)
    assert "cost 0.00" in told.getvalue()
    assert not ScoringRun.objects.exists()
    told = StringIO()
    with OpenAIDouble(say='{"score": 4}') as server:
        call_command("score", *arguments, "--backbone", server.name, stdout=told, stderr=StringIO())
    first, last = told.getvalue().splitlines()
    assert "tokens to read in" in first
    assert "tokens read" in last


def test_so_it_is_for_a_file(tmp_path: Path) -> None:
    rows, told = tmp_path / "answers.csv", StringIO()
    rows.write_text("reference,text\n" + "A dog,A dog barks\n" * 100)
    arguments = [str(rows), "--estimate", "--scorer"]
    call_command("score", *arguments, "llm-judge", "--backbone", ELSEWHERE, stdout=told)
    assert "in 100 requests for 100 rows" in told.getvalue()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers.csv"]
    with pytest.raises(CommandError, match="Only what a server computes"):
        call_command("score", *arguments, "bleu", stdout=told)


def test_the_page_and_the_api_estimate_and_start_nothing(study: Study, api: Any, client: Client) -> None:
    me = factories.member(study, "researcher", name="Rey")
    client.force_login(me)
    address = f"{reverse('new_run', args=[study.slug])}?metric=llm-judge"
    form = {"option-backbone": ELSEWHERE, "option-template": "brief", "option-context": "reference",
            "option-price_in": "2", "option-price_out": "10", "option-rating": "written",
            "option-sampling": "each", "option-unreadable": "fault", "option-dtype": "auto"}  # fmt: skip
    page = client.post(address, {**form, "estimate": "1"}).content.decode()
    body = {"scorer": "llm-judge", "options": served(context="reference")}
    found = api(me).post(f"studies/{study.slug}/scoring-runs/estimate/", body).json()
    assert "Cost with the longest answers" in page
    assert f"{found['most_cost']:.4f}" in page
    refused = client.post(address, {**form, "option-backbone": "some/model", "estimate": "1"})
    assert "Only what a server computes" in refused.content.decode()
    assert not ScoringRun.objects.exists()


def test_of_aura_the_language_model_is_counted_and_clap_is_not_loaded() -> None:
    study = StudyFactory()
    for number in range(3):
        rating_task(study, f"item-{number}", clip=factories.clip(f"clip-{number}"))
    found = estimate_run(study, "aura", {"backbone": ELSEWHERE, "checkpoint": "/gone", "max_new_tokens": 9})
    assert found.requests == 2 * found.n_rows > 0
    assert found.most_completion_tokens == 9 * found.requests
