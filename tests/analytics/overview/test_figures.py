"""Stored figures follow the judgments; pages only read them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import OperationalError, connection, transaction
from django.utils import timezone

from analytics import tasks
from analytics.models import AgreementFigure, StudyFigure
from analytics.overview import figures
from annotation.models import Judgment, Study, Task
from annotation.rating import exclusions, judgments, leases
from annotation.studies import protocols
from tests import factories
from tests.analytics.votes import vote, votes
from tests.annotation.importing.answers import rating

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


def _exclude(study: Study) -> None:
    exclusions.exclude_or_restore(
        Judgment.objects.filter(pk=Judgment.objects.first().pk),
        study=study,
        action="exclude",
        reason="careless",
        actor=None,
    )


@pytest.mark.parametrize(
    "change",
    [
        rate,
        _exclude,
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
    _exclude(study)
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
