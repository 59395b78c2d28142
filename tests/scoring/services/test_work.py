"""Working on a run: every row ends with a score or a reason, whatever happens to the worker."""

from __future__ import annotations

import pytest

from scoring.models import ScoringRun
from scoring.services import opened, runs, work
from tests.scoring import doubles
from tests.scoring.studies import check_books, study_of, values

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _word_count(monkeypatch):
    opened.close()
    yield doubles.register(monkeypatch)
    opened.close()


def run_over(study, **asked) -> ScoringRun:
    return runs.request(study, "word-count", {}, actor=None, **asked)


def test_it_scores_every_row():
    run = run_over(study_of(["a bell", "a dog that barks", "rain"]))
    assert not work.work_on(run.pk)
    check_books(run)
    assert run.state == "done"
    assert values(run) == {"a bell": 2.0, "a dog that barks": 4.0, "rain": 1.0}


def test_faults_stay_with_their_rows():
    texts = ["a bell", "undecodable", "memory", "nan", "", "two words"]
    run = run_over(study_of(texts))
    work.work_on(run.pk)
    check_books(run)
    faults = dict(run.rows.filter(state=4).values_list("candidate__item_version__prompt", "fault"))
    assert faults == {
        "undecodable": "undecodable", "memory": "out_of_memory", "nan": "not_finite", "": "no_text",
    }  # fmt: skip
    assert values(run) == {"a bell": 2.0, "two words": 2.0}
    assert run.state == "done"
