"""`manage.py score`: a study scored from the terminal."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from scoring.models import ScoringRun
from scoring.runs import model_loading
from scoring.runs.claims import SCORING
from tests.scoring import doubles
from tests.scoring.studies import add, check_books, study_of, values

pytestmark = pytest.mark.django_db


def score(*arguments: str, **options: Any) -> tuple[str, str]:
    told, complained = StringIO(), StringIO()
    call_command("score", *arguments, stdout=told, stderr=complained, **options)
    return told.getvalue(), complained.getvalue()


def test_it_scores_a_study_and_says_what_failed():
    study = study_of(["a bell", "undecodable", "rain falls on"])
    told, complained = score(study.slug, "--scorer", "word-count", "--option", "version=2")
    run = ScoringRun.objects.get()
    check_books(run)
    assert (run.state, run.options["version"]) == ("done", "2")
    assert values(run) == {"a bell": 2.0, "rain falls on": 3.0}
    assert f"Run {run.pk} with word-count@{run.scorer.digest[:8]}: 3 of 3" in told
    assert "1 × undecodable: This file is damaged" in complained
    assert "item-1, system-1" in complained


def test_it_scores_one_system_only():
    study = study_of(["a bell"])
    add(study, "item-0", "", system="system-2")
    score(study.slug, "--scorer", "word-count", "--system", "system-2")
    assert list(ScoringRun.objects.get().rows.values_list("candidate__system__name")) == [("system-2",)]


def test_it_leaves_the_work_to_a_worker_when_asked_and_cancels_a_run():
    study = study_of(["a bell"])
    told, _ = score(study.slug, "--scorer", "word-count", "--detach")
    run = ScoringRun.objects.get()
    assert run.state == "queued"
    assert (
        f"Run {run.pk} waits for a worker. Stop it with ./run manage score {study.slug} --cancel {run.pk}."
        in told
    )
    score(study.slug, "--cancel", str(run.pk))
    run.refresh_from_db()
    assert run.state == "cancelled"


def test_a_run_that_fails_ends_with_an_error_and_its_reason(monkeypatch):
    monkeypatch.setattr(doubles, "open_word_count", doubles.open_nothing)
    study = study_of(["a bell"])
    with pytest.raises(CommandError, match="No weights here"):
        score(study.slug, "--scorer", "word-count")


def test_interrupting_it_leaves_the_run_to_a_worker(monkeypatch):
    def interrupted(run: ScoringRun) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("scoring.management.commands.score.score_in_foreground", interrupted)
    study = study_of(["a bell"])
    with pytest.raises(CommandError, match="a worker goes on") as ending:
        score(study.slug, "--scorer", "word-count")
    assert ending.value.returncode == 130
    assert ScoringRun.objects.get().state == "queued"


def test_it_lists_the_scorers_and_their_options():
    told, _ = score("--list")
    assert "word-count — Words: Counts words." in told
    assert "    version, default '1': Any text." in told


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nowhere", "--scorer", "word-count"], "There is no study with the address 'nowhere'"),
        (["here", "--scorer", "word-cuont"], "there is no scorer 'word-cuont'; there are"),
        (["here"], "Say which scorer"),
        (["here", "--scorer", "word-count", "--option", "version"], "write NAME=VALUE"),
        (["here", "--scorer", "word-count", "--option", "size=1"], "word-count has no such option; it has version"),
        (["here", "--scorer", "word-count", "--system", "me"], "There is no system 'me' in this study. There are"),
        (["here", "--scorer", "word-count", "--prompts", "nowhere.toml"], "nowhere.toml"),
        (["here", "--cancel", "0"], "here has no run 0"),
    ],
)  # fmt: skip
def test_it_says_what_is_wrong_and_asks_for_nothing(arguments, complaint):
    study = study_of(["a bell"])
    study.slug = "here"
    study.save()
    with pytest.raises(CommandError) as ending:
        score(*arguments)
    assert complaint in str(ending.value)
    assert not ScoringRun.objects.exists()


def test_what_a_worker_is_at_is_left_to_it_and_waited_for(monkeypatch):
    """The command follows a run that somebody else has in hand, and takes it up when that worker dies."""
    study = study_of(["a bell"])
    looks: list[int] = []

    def has_live_worker(run_id: int) -> bool:
        looks.append(run_id)
        return len(looks) < 3

    monkeypatch.setattr(SCORING, "has_live_worker", has_live_worker)
    monkeypatch.setattr(model_loading, "FOREGROUND_POLL_SECONDS", 0.01)
    score(study.slug, "--scorer", "word-count")
    assert len(looks) == 3
    assert ScoringRun.objects.get().state == "done"
