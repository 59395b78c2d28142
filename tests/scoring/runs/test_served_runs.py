"""Runs of judges behind a server: what they cost, while they run and after, and what a resumed run pays."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation.models import Study
from scoring.backbones.openai import client as api_client
from scoring.management.commands.score import describe_run
from scoring.models import Score, ScoringRun
from scoring.runs import scoring_runs
from tests import factories
from tests.factories import StudyFactory, rating_task
from tests.scoring.openai_double import OpenAIDouble
from tests.scoring.studies import run_over, worked

pytestmark = pytest.mark.django_db
PRICES = {"price_in": "2", "price_out": 10}
SAYS = '{"score": 4}'  # two words, which the double counts as two tokens


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_client, "FIRST_BACKOFF_S", 0.001)


@pytest.fixture
def study() -> Study:
    study = StudyFactory()
    for number in range(4):
        rating_task(study, f"item-{number}", reference="A bell.")
    return study


def judged(study: Study, server: OpenAIDouble, **options: Any) -> ScoringRun:
    return run_over(study, "llm-judge", {"backbone": server.name, "template": "brief", **PRICES, **options})


def test_a_run_counts_the_tokens_of_its_server_and_what_they_cost(study: Study) -> None:
    with OpenAIDouble(say=SAYS) as server:
        run = worked(judged(study, server))
    n_rows = run.n_rows
    assert (run.state, run.prompt_tokens, run.completion_tokens) == ("done", 100 * n_rows, 2 * n_rows)
    assert run.cost == pytest.approx((2 * 100 + 10 * 2) * n_rows / 1e6)
    assert f"{100 * n_rows:,} tokens read, {2 * n_rows} written, cost 0.00" in describe_run(run)


def test_answers_that_cannot_be_read_cost_too_and_a_resumed_run_pays_for_what_is_left(study: Study) -> None:
    with OpenAIDouble(say="Hm.") as server:
        n_rows = (run := worked(judged(study, server))).n_failed
        assert (run.n_done, run.prompt_tokens) == (0, 100 * n_rows)
        server.say = SAYS
        run = worked(scoring_runs.retry(run, actor=None))
    assert (run.state, run.n_done, run.prompt_tokens) == ("done", n_rows, 200 * n_rows)
    assert Score.objects.filter(output="value").count() == n_rows


def test_a_run_that_its_server_ends_has_paid_and_goes_on_where_it_stopped(study: Study) -> None:
    with OpenAIDouble(say=SAYS) as server:
        run = judged(study, server, per_minute=100_000, at_once=1)
        server.next_faults.extend(["", "401"])
        run = worked(run)
        assert run.state == "failed"
        assert api_client.KEY_VARIABLE in run.message
        paid = run.prompt_tokens
        assert paid >= 100
        run = worked(scoring_runs.retry(run, actor=None))
    assert (run.state, run.n_failed) == ("done", 0)
    assert run.prompt_tokens == 100 * run.n_rows + paid


def test_the_cost_of_the_whole_run_is_reckoned_from_what_is_settled() -> None:
    run = ScoringRun(
        n_rows=100, n_done=20, n_failed=5, prompt_tokens=1000, completion_tokens=10, state="running",
        scorer_id=1, options={"price_in": 1000.0, "price_out": None},
    )  # fmt: skip
    assert (run.cost, run.expected_cost) == (1.0, 4.0)
    assert "cost 1.0000 of about 4.0000" in describe_run(run)
    assert ScoringRun(options={}, prompt_tokens=5).cost is None


def test_tokens_and_cost_stand_in_the_api_and_on_the_page(study: Study, api: Any, client: Client) -> None:
    with OpenAIDouble(say=SAYS) as server:
        run = worked(judged(study, server))
    me = factories.member(study, "researcher", name="Rey")
    body = api(me).get(f"scoring-runs/{run.pk}/").json()
    assert body["prompt_tokens"] == run.prompt_tokens > 0
    assert body["cost"] == body["expected_cost"] == pytest.approx(run.cost)
    client.force_login(me)
    page = client.get(reverse("scoring_run", args=[run.pk])).content.decode()
    for shown in ("Tokens read", str(run.prompt_tokens), "Cost so far", f"{run.cost:,.4f}"):
        assert shown in page


def test_a_file_says_what_its_scores_cost(tmp_path: Any) -> None:
    rows, told = tmp_path / "answers.csv", StringIO()
    rows.write_text("id,reference,text\nx,A dog,A dog barks\ny,A dog,A cat\n")
    with OpenAIDouble(say=SAYS) as server:
        arguments = ["--scorer", "llm-judge", "--backbone", server.name, "--template", "brief"]
        arguments += ["--option", "price_in=50", "--option", "price_out=100"]
        call_command("score", str(rows), *arguments, stdout=told, stderr=StringIO())
    assert "200 tokens read, 4 written, cost 0.0104." in told.getvalue()
