"""What stopping early has saved."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from analytics.overview import figures as report
from analytics.overview.figures import VotePattern, stopping_summary
from annotation.models import Judgment, Study, Task
from annotation.rating import stopping
from annotation.rating.rules.stopping import Stopping, Votes
from tests.analytics.votes import vote
from tests.factories import NOTHING_TO_HEAR, StudyFactory, comparison_task

RULE = Stopping("alignment", most=9)


def test_decided_tasks_save_the_votes_they_had_left():
    found = stopping_summary(
        RULE,
        [
            VotePattern(Votes(3, 0), 3, full=True, tasks=10),  # saves 6 each
            VotePattern(Votes(0, 4), 4, full=True, tasks=2),  # 5 each
            VotePattern(Votes(2, 0), 2, full=False, tasks=5),
            VotePattern(Votes(3, 0), 3, full=False, tasks=1),  # with a place of its own still open
            VotePattern(Votes(2, 1), 3, full=True, tasks=4),  # until the next sweep
            VotePattern(Votes(5, 4), 9, full=True, tasks=3),
            VotePattern(
                Votes(9, 3), 12, full=True, tasks=1
            ),  # imported with more than the most: saves nothing
        ],
    )
    assert (found.tasks, found.decided, found.undecided, found.waiting) == (26, 13, 3, 10)
    assert found.saved == 10 * 6 + 2 * 5
    assert found.by_votes == ((3, 10), (4, 2), (12, 1))
    assert found.share_decided == 0.5


def test_without_tasks_there_is_no_share():
    assert stopping_summary(RULE, []).share_decided is None


@pytest.fixture
def study() -> Study:
    rules = {**NOTHING_TO_HEAR, "stopping": {"question": "alignment", "threshold": 0.9, "most": 9}}
    return StudyFactory(preset="cmi-pref", overlap=3, rules=rules)


def fill(study: Study, name: str, *choices: int, **fields) -> Task:
    task = comparison_task(study, name)
    for choice in choices:
        vote(task, question="alignment", choice=choice, **fields)
    return task


@pytest.mark.django_db
def test_it_is_counted_from_the_votes_that_stand(study):
    fill(study, "clear", 1, 1, 1)
    fill(study, "tied", 1, 1, 3)
    fill(study, "open", 2)
    excluded = fill(study, "excluded", 2, 2, 2)
    vote(excluded, question="alignment", choice=1, excluded=True)
    vote(excluded, question="alignment", choice=1, origin=Judgment.Origin.EXPERT, effective=False)
    other = fill(study, "musical")
    vote(other, question="musicality", choice=1)
    fill(study, "gone", 1, 1, 1)
    Task.objects.filter(external_id="gone").update(state=Task.State.WITHDRAWN)
    found = report.stopped_early(study)
    assert found is not None
    assert (found.tasks, found.decided, found.saved) == (5, 2, 12)
    assert report.stopping_from_json(json.loads(json.dumps({"stopping": asdict(found)}))) == found


@pytest.mark.django_db
def test_a_study_without_a_rule_has_no_figure():
    study = StudyFactory(preset="cmi-pref")
    assert report.stopped_early(study) is None
    assert report.stopping_from_json({"stopping": None}) is None


@pytest.mark.django_db
def test_judgments_wanted_follow_what_the_sweep_asks_for(study):
    fill(study, "open", 1, 2, 1)
    study.n_unnamed_tasks_filled = 1
    study.save()
    report.recompute_figures(study.pk)
    assert report.current_figures(study).overview["judgments_wanted"] == 3
    assert stopping.sweep().more == 1
    assert study.pk in {stale.id for stale in report._stale()}
    report.recompute_figures(study.pk)
    assert report.current_figures(study).overview["judgments_wanted"] == 4
