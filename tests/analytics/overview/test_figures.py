"""Stored figures follow the judgments; pages only read them."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from datetime import timedelta

import pytest
from django.db import OperationalError, connection, transaction
from django.utils import timezone

from analytics import tasks
from analytics.data.value_counts import PairVotes, SystemRatings
from analytics.models import AgreementFigure, StudyFigure
from analytics.overview import figures
from analytics.overview import figures as report
from analytics.overview.figures import (
    SystemMean,
    SystemWins,
    VotePattern,
    stopping_summary,
    system_means,
    system_wins,
)
from annotation.models import Judgment, Study, Task
from annotation.rating import exclusions, judgments, leases, stopping
from annotation.rating.rules.stopping import Stopping, Votes
from annotation.studies import protocols
from tests import factories
from tests.analytics.votes import exclude, vote, votes
from tests.annotation.importing.answers import rating
from tests.factories import NOTHING_TO_HEAR, StudyFactory, comparison_task

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    study = factories.StudyFactory(overlap=9)
    for name, values in (("a", [1, 2]), ("b", [5, 5]), ("c", [3, 4])):
        votes(factories.rating_task(study, name), values)
    return study


def rate(study: Study) -> None:
    user = factories.member(study)
    judgments.submit(user, leases.lease_next(user, study.slug)[1].id, rating(4))


def test_nothing_is_stored_before_the_first_computation(study):
    assert figures.current_figures(study) == figures.CurrentFigures({}, {}, None)


def test_refresh_stores_what_the_command_prints(study):
    assert figures.recompute_figures(study.pk)
    stored = figures.current_figures(study)
    assert stored.agreement["correctness"]["ratings"] == 6
    assert stored.agreement["correctness"]["alpha"] is not None
    assert stored.computed_at is not None


def test_refresh_does_nothing_while_nothing_has_changed(study):
    figures.recompute_figures(study.pk)
    before = figures.current_figures(study)
    assert not figures.recompute_figures(study.pk)
    assert figures.studies_due() == []
    assert figures.current_figures(study) == before


@pytest.mark.parametrize(
    "change",
    [
        rate,
        lambda study: exclude(Judgment.objects.first()),
        lambda study: vote(Task.objects.get(study=study, external_id="a"), 4),
        lambda study: protocols.add_protocol_version(study, preset="orca", actor=None),
        lambda study: factories.rating_task(study, "another"),
    ],
    ids=["a vote", "an exclusion", "an imported vote", "a protocol version", "a task"],
)
def test_whatever_changes_a_figure_makes_it_due(study, change):
    figures.recompute_figures(study.pk)
    StudyFigure.objects.update(computed_at=timezone.now() - timedelta(hours=1))
    change(study)
    assert figures.studies_due() == [study.pk]
    assert figures.recompute_figures(study.pk)


def test_a_restored_judgment_makes_it_due_again(study):
    exclude(Judgment.objects.first())
    figures.recompute_figures(study.pk)
    StudyFigure.objects.update(computed_at=timezone.now() - timedelta(hours=1))
    excluded = Judgment.objects.filter(study=study, excluded=True)
    exclusions.exclude_or_restore(excluded, study=study, action="restore", reason="mistake", actor=None)
    assert figures.studies_due() == [study.pk]


def test_a_vote_that_commits_after_a_later_one_is_not_missed(study):
    """Its id is smaller than the largest one seen, so only the counters can tell of it."""
    late = factories.rater(study)
    vote(Task.objects.get(study=study, external_id="a"), 4, rater=factories.rater(study))
    figures.recompute_figures(study.pk)
    StudyFigure.objects.update(computed_at=timezone.now() - timedelta(hours=1))
    last = Judgment.objects.order_by("-id").values_list("id", flat=True)[0]
    vote(Task.objects.get(study=study, external_id="b"), 4, rater=late, id=last - 1000)
    assert figures.studies_due() == [study.pk]


def test_a_study_that_takes_long_is_computed_less_often(study):
    figures.recompute_figures(study.pk)
    rate(study)
    StudyFigure.objects.update(seconds=15, computed_at=timezone.now() - timedelta(seconds=290))
    assert figures.studies_due() == []
    StudyFigure.objects.update(computed_at=timezone.now() - timedelta(seconds=310))
    assert figures.studies_due() == [study.pk]


def test_a_plan_that_never_ends_is_stopped_and_tried_again(study, monkeypatch):
    def endless(study):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(60)")

    monkeypatch.setattr(figures, "scan_study", endless)
    monkeypatch.setattr(figures, "_LONGEST_STATEMENT", "10ms")
    with pytest.raises(OperationalError, match="statement timeout"), transaction.atomic():
        figures.recompute_figures(study.pk)
    assert figures.studies_due() == [study.pk]


def test_a_newer_result_takes_the_place_of_the_older(study):
    figures.recompute_figures(study.pk)
    vote(Task.objects.get(study=study, external_id="a"), 4)
    figures.recompute_figures(study.pk)
    assert figures.current_figures(study).agreement["correctness"]["ratings"] == 7
    assert (AgreementFigure.objects.count(), StudyFigure.objects.count()) == (1, 1)


def test_figures_keep_the_order_of_the_questions():
    study = factories.StudyFactory(preset="cmi-pref")
    figures.recompute_figures(study.pk)
    assert list(figures.current_figures(study).agreement) == ["alignment", "musicality"]


def test_a_study_that_is_gone_is_no_error(study):
    gone = factories.StudyFactory()
    key = gone.pk
    assert not figures.recompute_figures(key + 1000)


def test_reading_takes_two_queries(study, django_assert_num_queries):
    figures.recompute_figures(study.pk)
    with django_assert_num_queries(2):
        figures.current_figures(study)


def test_looking_for_work_takes_one_query_for_all_studies(study, django_assert_num_queries):
    for _ in range(3):
        factories.StudyFactory()
    with django_assert_num_queries(1):
        assert len(figures.studies_due()) == 4


def test_beat_wakes_one_computation_for_each_study_that_is_due(study, monkeypatch):
    done = factories.StudyFactory()
    figures.recompute_figures(done.pk)
    sent = []
    monkeypatch.setattr(tasks.refresh_study_figures, "delay", sent.append)
    tasks.refresh_figures()
    assert sent == [study.pk]
    tasks.refresh_study_figures(study.pk)
    assert figures.studies_due() == []


# Three wins to one are log-odds of log 3, whatever the ties, and half of that on either side of the mean.
HALF_LOG_3, MINUS_HALF_LOG_3 = pytest.approx(math.log(3) / 2), pytest.approx(-math.log(3) / 2)


def test_means_come_with_n_and_spread_the_best_first():
    rows = [SystemRatings("low", 1, 2.0, 4.0), SystemRatings("high", 4, 18.0, 82.0)]
    # high: 4, 5, 4, 5 has the sample variance 1/3.
    assert system_means(rows) == [
        SystemMean("high", 4, 4.5, pytest.approx((1 / 3) ** 0.5)),
        SystemMean("low", 1, 2.0, None),
    ]


def test_equal_ratings_have_no_spread_in_spite_of_rounding():
    (one,) = system_means([SystemRatings("s", 3, 3 * 0.1, 3 * 0.1 * 0.1 - 1e-18)])
    assert one.sd == pytest.approx(0.0, abs=1e-9)


def test_a_win_for_one_is_a_loss_for_the_other_and_a_tie_half_of_each():
    found = system_wins([PairVotes("a", "b", first=3, second=1, tie=2, both_bad=4)])
    assert found == [
        SystemWins(
            "a",
            n=10,
            wins=3,
            losses=1,
            ties=2,
            both_bad=4,
            win_rate=pytest.approx(4 / 6),
            strength=HALF_LOG_3,
        ),
        SystemWins(
            "b",
            n=10,
            wins=1,
            losses=3,
            ties=2,
            both_bad=4,
            win_rate=pytest.approx(2 / 6),
            strength=MINUS_HALF_LOG_3,
        ),
    ]


def test_both_listed_orders_of_a_pair_add_up():
    found = system_wins([PairVotes("a", "b", 3, 1, 0, 0), PairVotes("b", "a", 5, 1, 0, 0)])
    assert [(one.system, one.wins, one.losses) for one in found] == [("b", 6, 4), ("a", 4, 6)]


def test_a_system_is_not_compared_with_itself():
    assert system_wins([PairVotes("a", "a", 3, 1, 0, 0)]) == []


def test_votes_for_neither_alone_give_no_rate():
    assert [one.win_rate for one in system_wins([PairVotes("a", "b", 0, 0, 0, 2)])] == [None, None]


def test_a_strength_does_not_depend_on_whom_a_system_met():
    """The worst system against the best has the lowest rate; who beat only the worst is not the best for that."""
    rows = [PairVotes("a", "b", 6, 4, 0, 0), PairVotes("b", "c", 9, 1, 0, 0)]
    found = {one.system: one for one in system_wins(rows)}
    assert found["b"].win_rate > found["a"].win_rate
    assert found["a"].strength > found["b"].strength > found["c"].strength


def test_systems_that_cannot_be_compared_have_no_strengths():
    apart = [PairVotes("a", "b", 3, 1, 0, 0), PairVotes("c", "d", 3, 1, 0, 0)]
    never_lost = [PairVotes("a", "b", 3, 0, 0, 0)]
    assert [one.strength for rows in (apart, never_lost) for one in system_wins(rows)] == [None] * 6


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
def stopped_study() -> Study:
    rules = {**NOTHING_TO_HEAR, "stopping": {"question": "alignment", "threshold": 0.9, "most": 9}}
    return StudyFactory(preset="cmi-pref", overlap=3, rules=rules)


def fill(stopped_study: Study, name: str, *choices: int, **fields) -> Task:
    task = comparison_task(stopped_study, name)
    for choice in choices:
        vote(task, question="alignment", choice=choice, **fields)
    return task


@pytest.mark.django_db
def test_it_is_counted_from_the_votes_that_stand(stopped_study):
    fill(stopped_study, "clear", 1, 1, 1)
    fill(stopped_study, "tied", 1, 1, 3)
    fill(stopped_study, "open", 2)
    excluded = fill(stopped_study, "excluded", 2, 2, 2)
    vote(excluded, question="alignment", choice=1, excluded=True)
    vote(excluded, question="alignment", choice=1, origin=Judgment.Origin.EXPERT, effective=False)
    other = fill(stopped_study, "musical")
    vote(other, question="musicality", choice=1)
    fill(stopped_study, "gone", 1, 1, 1)
    Task.objects.filter(external_id="gone").update(state=Task.State.WITHDRAWN)
    found = report.stopped_early(stopped_study)
    assert found is not None
    assert (found.tasks, found.decided, found.saved) == (5, 2, 12)
    assert report.stopping_from_json(json.loads(json.dumps({"stopping": asdict(found)}))) == found


@pytest.mark.django_db
def test_a_study_without_a_rule_has_no_figure():
    stopped_study = StudyFactory(preset="cmi-pref")
    assert report.stopped_early(stopped_study) is None
    assert report.stopping_from_json({"stopping": None}) is None


@pytest.mark.django_db
def test_judgments_wanted_follow_what_the_sweep_asks_for(stopped_study):
    fill(stopped_study, "open", 1, 2, 1)
    stopped_study.n_unnamed_tasks_filled = 1
    stopped_study.save()
    report.recompute_figures(stopped_study.pk)
    assert report.current_figures(stopped_study).overview["judgments_wanted"] == 3
    assert stopping.sweep().more == 1
    assert stopped_study.pk in {stale.id for stale in report._stale()}
    report.recompute_figures(stopped_study.pk)
    assert report.current_figures(stopped_study).overview["judgments_wanted"] == 4
