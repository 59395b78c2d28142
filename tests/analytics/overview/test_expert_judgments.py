"""An expert's own judgment of a case is in no figure of human judgment."""

from __future__ import annotations

import pytest

from analytics.overview import study as overview_study
from analytics.overview.figures import scan_study
from annotation.listening.checks import _judgment_times
from annotation.models import Rater
from annotation.review import adjudication
from tests import factories
from tests.annotation.importing.answers import rating
from tests.annotation.importing.desk import corrections, give, judged, people

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return factories.StudyFactory(overlap=2)


def test_no_figure_moves_and_no_check_comes_due(study):
    task, expert = factories.rating_task(study, "a"), factories.member(study, "expert")
    for value, user in enumerate(people(study, 2), start=1):
        give(user, task, rating(value))
    before, progress = scan_study(study), overview_study._progress(study, judgments_wanted=2)
    one = judged(expert, task)
    assert scan_study(study) == before
    assert overview_study._progress(study, judgments_wanted=2) == progress
    rater = Rater.objects.get(user=expert)
    assert _judgment_times(rater.pk, since=one.created_at) == []


def test_what_is_wanted_and_complete_stays_true_after_a_correction(study):
    task, expert = factories.rating_task(study, "a"), factories.member(study, "expert")
    for user in people(study, 2):
        give(user, task)
    one = judged(expert, task)
    adjudication.correct_item(expert, one.pk, corrections(one))
    study.refresh_from_db()
    wanted = scan_study(study)[1]["judgments_wanted"]
    progress = overview_study._progress(study, judgments_wanted=wanted)
    assert (progress.items, progress.tasks, progress.tasks_complete, progress.judgments) == (1, 1, 0, 0)
    assert wanted == 2
