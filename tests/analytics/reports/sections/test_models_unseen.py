"""Scorers that were trained on votes of the study: held against people on what they have not learned from."""

from __future__ import annotations

import numpy as np
import pytest

from analytics.reports.document import Table
from analytics.reports.learned_comparison import scorers_of
from analytics.reports.sections.held_out import NotLearnedFrom
from analytics.reports.sections.models import models_section
from annotation.models import Item, Job, Study
from scoring.models import LearnedModel, Score, Scorer, ScoringRun
from tests import factories
from tests.analytics.reports.reading import material_of, tables_of, text_of
from tests.analytics.reports.reading import row_of as row
from tests.analytics.votes import vote, votes

pytestmark = pytest.mark.django_db


def trained(study: Study, scorer: Scorer, items: str, **held) -> LearnedModel:
    """A version that left out these items, named by letters."""
    out = sorted(Item.objects.filter(study=study, external_id__in=list(items)).values_list("pk", flat=True))
    number = LearnedModel.objects.count() + 1
    job = Job.objects.create(study=study, kind="train")
    record = {"held_out": {"items": out, "raters": [], "systems": [], **held}}
    return LearnedModel.objects.create(
        study=study, kind=scorer.key, number=number, job=job, scorer=scorer, record=record
    )


def scorer(key: str) -> Scorer:
    return Scorer.objects.create(key=key, digest=key[0] * 64)


def section(study: Study) -> tuple[str, dict[str, Table]]:
    found = models_section(material_of(study))
    return text_of(found), tables_of(found)


@pytest.fixture
def rated() -> Study:
    """Both scorers are right about a to d and wrong about e and f."""
    study = factories.StudyFactory(overlap=9)
    orca, other = scorer("orca"), scorer("judge")
    for place, name in enumerate("abcdef"):
        task = factories.rating_task(study, name)
        votes(task, [1 + place % 4, 1 + place % 4])
        candidate = task.slots.get().candidate
        for one in (orca, other):
            score = (place % 4) / 4 if name in "abcd" else 1 - (place % 4) / 4
            Score.objects.create(scorer=one, candidate=candidate, value=score)
    return study


def test_a_scorer_trained_here_is_told_on_what_was_held_out_alone(rated):
    trained(rated, Scorer.objects.get(key="orca"), "cdef")
    said, tables = section(rated)
    assert "orca@oooooooo: trained on votes of this study" in said
    assert "Whether other scorers were trained on this material elsewhere is not known here." in said
    items = tables["models_correctness_items"]
    orca, judge = (row(items, name) for name in ("orca@oooooooo", "judge@jjjjjjjj"))
    assert (orca["n"], orca["missing"]) == (4, 2)
    assert (judge["n"], judge["missing"]) == (6, 0)
    human, scores = [3, 4, 1, 2], [0.5, 0.75, 1.0, 0.75]
    assert orca["pearson"].value == pytest.approx(np.corrcoef(human, scores)[0, 1])
    counts = row(tables["models_scorers"], "orca@oooooooo")
    assert (counts["n"], counts["told"]) == (6, 4)


def test_of_trainings_that_came_to_one_scorer_all_must_have_held_an_item_out(rated):
    for items in ("abcd", "cdef"):
        trained(rated, Scorer.objects.get(key="orca"), items)
    _, tables = section(rated)
    assert row(tables["models_scorers"], "orca@oooooooo")["told"] == 2


def test_opened_with_another_option_a_version_has_learned_from_the_same_votes(rated):
    for key in ("orca", "judge"):
        Scorer.objects.filter(key=key).update(config={"weights": "sha256:1"})
    again = Scorer.objects.create(
        key="orca", digest="p" * 64, config={"weights": "sha256:1", "dtype": "bfloat16"}
    )
    other = Scorer.objects.create(key="orca", digest="q" * 64, config={"weights": "sha256:2"})
    for score in Score.objects.filter(scorer__digest="o" * 64):
        for one in (again, other):
            Score.objects.create(scorer=one, candidate=score.candidate, value=score.value)
    trained(rated, Scorer.objects.get(digest="o" * 64), "cdef")
    _, tables = section(rated)
    told = {one[0]: row(tables["models_scorers"], one[0])["told"] for one in tables["models_scorers"].rows}
    assert told == {"orca@oooooooo": 4, "orca@pppppppp": 4, "orca@qqqqqqqq": 6, "judge@jjjjjjjj": 6}
    for one in Scorer.objects.all():
        ScoringRun.objects.create(study=rated, metric=one.key, scorer=one)
    assert set(scorers_of(rated).values_list("digest", flat=True)) == {"j" * 64, "q" * 64}


def test_a_scorer_that_held_nothing_out_is_not_held_against_people(rated):
    trained(rated, Scorer.objects.get(key="orca"), "")
    _, tables = section(rated)
    assert [one[0] for one in tables["models_correctness_items"].rows] == ["judge@jjjjjjjj"]
    assert row(tables["models_scorers"], "orca@oooooooo")["told"] == 0


def test_where_none_was_trained_here_that_is_said(rated):
    trained(factories.StudyFactory(), Scorer.objects.get(key="orca"), "")
    said, tables = section(rated)
    assert "None of them was trained on votes of this study here." in said
    assert "told" not in [column.key for column in tables["models_scorers"].columns]


def test_pairs_that_a_scorer_learned_from_do_not_count():
    study = factories.StudyFactory(preset="cmi-pref", overlap=9)
    heads = scorer("cmi-rm")
    for name in "abc":
        task = factories.comparison_task(study, name)
        for choice in (1, 1, 2):
            vote(task, question="alignment", choice=choice)
        for slot in task.slots.all():
            value = float(slot.slot) if name == "a" else -float(slot.slot)
            Score.objects.create(scorer=heads, candidate=slot.candidate, output="alignment", value=value)
    trained(study, heads, "bc")
    found = row(section(study)[1]["models_alignment_pairs"], "cmi-rm@cccccccc")
    assert (found["n"], found["missing"], found["accuracy"].value) == (2, 1, 1.0)


def test_of_held_out_systems_a_pair_has_one_on_either_side():
    unseen = NotLearnedFrom(frozenset({1, 2, 3, 4}), frozenset({2, 9}))
    assert unseen.single(np.array([1, 2, 9])).tolist() == [False, True, False]
    assert unseen.pairs(np.array([1, 3, 9]), np.array([2, 4, 2])).tolist() == [True, False, False]
