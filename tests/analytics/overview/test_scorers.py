from __future__ import annotations

import pytest

from analytics.overview import scorers
from annotation.models import Candidate, Item, ItemVersion
from scoring.models import Score, Scorer, ScoringRun
from scoring.runs import scoring_runs, worker
from tests.factories import StudyFactory
from tests.scoring import doubles, studies

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def word_count(monkeypatch):
    return doubles.register(monkeypatch)


def run(study, **asked) -> ScoringRun:
    asked = {"again": False, "filter": {}} | asked
    made = scoring_runs.request(study, "word-count", {}, actor=None, **asked)
    worker.work_on_run(made.pk)
    return made


def coverage(study) -> list[tuple[int | None, int | None]]:
    found = scorers.scorer_coverage(study)
    return [(row.n_scored, found.n_candidates) for row in found.rows]


def test_what_was_scored_again_counts_once():
    study = studies.study_of(["a bell", "rain", "undecodable"])
    for again in (False, True):
        run(study, again=again, filter={"items": ["item-0"]})
    assert coverage(study) == [(1, 3)]
    run(study)
    assert coverage(study) == [(2, 3)]


def test_only_items_as_they_are_now_count():
    study = studies.study_of(["a bell", "rain", "wind"])
    run(study)
    mended = Item.objects.get(external_id="item-0")
    mended.current_version = ItemVersion.objects.create(
        item=mended, number=2, prompt="two bells", content_sha256="1" * 64
    )
    mended.save()
    before = Candidate.objects.get(item_version__item=mended)
    Candidate.objects.create(item_version=mended.current_version, system=before.system, clip=before.clip)
    assert coverage(study) == [(2, 3)]
    Item.objects.filter(external_id="item-1").update(state=Item.State.WITHDRAWN)
    assert coverage(study) == [(1, 2)]


def test_a_score_of_many_outputs_counts_once_and_each_pair_too():
    study = studies.study_of(["a bell"])
    one = Candidate.objects.get()
    two, three = (studies.add(study, "item-0", "a bell", system=f"system-{n}") for n in (2, 3))
    scorer = Scorer.objects.create(key="pairs", digest="p")
    ScoringRun.objects.create(study=study, scorer=scorer, metric="pairs")
    for other in (two, three):
        for output in ("plain", "wordy"):
            Score.objects.create(scorer=scorer, candidate=one, other=other, output=output, value=0.5)
    assert coverage(study) == [(2, 3)]


def test_another_studys_scores_do_not_count():
    run(studies.study_of(["a bell", "rain"]))
    study = studies.study_of(["wind"])
    ScoringRun.objects.create(study=study, scorer=Scorer.objects.get(), metric="word-count")
    assert coverage(study) == [(0, 1)]


def test_what_is_too_much_to_count_is_left_to_what_the_runs_counted(monkeypatch):
    study = studies.study_of(["a bell", "rain"])
    run(study)
    run(study, again=True)
    monkeypatch.setattr(scorers, "MOST_INDEX_LOOKUPS", 1)
    (row,) = scorers.scorer_coverage(study).rows
    assert (row.n_scored, row.n_run, scorers.scorer_coverage(study).n_candidates) == (None, 4, None)


def test_a_study_without_runs_has_no_scorers(django_assert_num_queries):
    study = StudyFactory()
    with django_assert_num_queries(1):
        assert scorers.scorer_coverage(study).rows == ()
