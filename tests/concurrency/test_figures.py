"""Two workers woken for the same study compute its figures once."""

from __future__ import annotations

import threading

import pytest

from analytics.models import AgreementFigure, StudyFigure
from analytics.overview import figures
from tests import factories
from tests.analytics.votes import votes

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.concurrency]


@pytest.fixture
def computing(monkeypatch) -> list[int]:
    """The study ids that computations began with; none ends before another had the time to begin."""
    begun: list[int] = []
    second = threading.Event()

    def slow_scan(study):
        begun.append(study.pk)
        if len(begun) > 1:
            second.set()
        second.wait(0.5)
        return {}, {"questions": []}

    monkeypatch.setattr(figures, "scan_study", slow_scan)
    return begun


def test_one_of_two_workers_computes_and_the_other_leaves(at_once, computing):
    study = factories.StudyFactory()
    assert sorted(at_once([lambda: figures.recompute_figures(study.pk)] * 2)) == [False, True]
    assert computing == [study.pk]
    assert StudyFigure.objects.count() == 1


def test_without_the_lock_both_would(at_once, computing, monkeypatch):
    study = factories.StudyFactory()
    monkeypatch.setattr(figures, "try_transaction_lock", lambda key, study_id: True)
    at_once([lambda: figures.recompute_figures(study.pk)] * 2)
    assert computing == [study.pk, study.pk]


def test_workers_at_different_studies_do_not_wait_for_each_other(at_once):
    studies = [factories.StudyFactory(), factories.StudyFactory()]
    for study in studies:
        votes(factories.rating_task(study, "a"), [1, 2])
    done = at_once([lambda study=study: figures.recompute_figures(study.pk) for study in studies])
    assert done == [True, True]
    assert AgreementFigure.objects.count() == 2
