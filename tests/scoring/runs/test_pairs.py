"""Runs over pairs: the two candidates of a task, once, whichever of them it shows first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from annotation.errors import InvalidInput
from annotation.models import System, Task, TaskCandidate
from scoring.metrics.contract import Outcome, Reading
from scoring.metrics.registry import Reads
from scoring.models import Score, ScoringRow, ScoringRun
from scoring.runs import loaded_metric
from tests import factories
from tests.scoring.doubles import WORD_COUNT, WordCount, register
from tests.scoring.studies import check_books, run_over, worked

pytestmark = pytest.mark.django_db

PAIRS = replace(WORD_COUNT, name="word-count-pairs", reads=Reads.PAIR)


class Noting(WordCount):
    def score(self, examples):
        self.seen = examples
        return [Outcome(each.key, {"first": Reading(0.5), "second": Reading(0.25)}) for each in examples]


@pytest.fixture(autouse=True)
def metric(monkeypatch) -> Noting:
    register(monkeypatch, PAIRS)
    metric = Noting()
    monkeypatch.setattr(loaded_metric, "load", lambda *_: metric)
    return metric


def pairs_of(study, **part) -> ScoringRun:
    return worked(run_over(study, PAIRS.name, **part))


def test_two_clips_come_with_the_prompt_of_their_item(metric):
    study = factories.StudyFactory(preset="cmi-pref")
    task = factories.comparison_task(study, "one", prompt="a bell")
    run = pairs_of(study)
    assert (run.state, run.n_done) == ("done", 1)
    first, second = (slot.candidate for slot in task.slots.order_by("slot"))
    row = run.rows.get()
    assert (row.candidate, row.other, row.length) == (first, second, 2.0)
    (example,) = metric.seen
    assert example.texts == ("a bell",)
    assert [sound.sha256 for sound in example.sounds] == [first.clip.sha256, second.clip.sha256]
    assert set(Score.objects.values_list("candidate", "other", "output", "value")) == {
        (first.pk, second.pk, "first", 0.5), (first.pk, second.pk, "second", 0.25),
    }  # fmt: skip


def test_two_texts_come_with_the_clip_of_their_item(metric):
    study = factories.StudyFactory()
    factories.panel_task(study, "one", ["a bell", "a dog"], clip=factories.clip("heard", seconds=4.0))
    run = pairs_of(study)
    (example,) = metric.seen
    assert example.texts == ("a bell", "a dog")
    assert [sound.seconds for sound in example.sounds] == [4.0]
    assert run.rows.get().length == 4.0


def test_a_pair_that_two_tasks_show_in_either_order_is_one_row_and_is_scored_once(metric):
    study = factories.StudyFactory(preset="cmi-pref")
    task = factories.comparison_task(study, "one")
    again = Task.objects.create(
        study=study, item_version=task.item_version, external_id="swapped", overlap=1, shuffle_key=0.5
    )
    for slot in task.slots.all():
        TaskCandidate.objects.create(task=again, slot=1 - slot.slot, candidate=slot.candidate)
    assert pairs_of(study).n_rows == 1
    assert pairs_of(study).n_rows == 0
    assert pairs_of(study, again=True).n_rows == 1
    assert Score.objects.count() == 2


def test_panels_and_pairs_with_a_hidden_reference_are_left_out():
    study = factories.StudyFactory(preset="cmi-pref")
    factories.panel_task(study, "three", ["a", "b", "c"])
    factories.comparison_task(study, "one")
    System.objects.filter(study=study, name="system-2").update(role=System.Role.HIDDEN_REFERENCE)
    assert pairs_of(study).n_rows == 0


def test_a_pair_is_in_a_filter_when_both_its_systems_are():
    study = factories.StudyFactory(preset="cmi-pref")
    factories.comparison_task(study, "one")
    with pytest.raises(InvalidInput, match="A pair is of two systems"):
        pairs_of(study, filter={"systems": ["system-1"]})
    assert pairs_of(study, filter={"systems": ["system-1", "system-2"]}).n_rows == 1


def test_a_clip_beside_a_text_is_no_pair_to_hear():
    study = factories.StudyFactory(preset="cmi-pref")
    task = factories.panel_task(study, "mixed", ["a bell", "a dog"], clip=factories.clip("heard"))
    clip = factories.comparison_task(study, "other").slots.first().candidate
    task.slots.filter(slot=1).update(candidate=clip)
    run = pairs_of(study, filter={"items": ["mixed"]})
    check_books(run)
    assert run.rows.get(state=ScoringRow.State.FAILED).fault == "no_sound"
