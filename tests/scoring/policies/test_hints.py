"""What a model says, shown to raters where a study wants it, and kept from a share of them."""

from __future__ import annotations

import json
import math

import pytest

from annotation.checks import traps
from annotation.errors import InvalidInput
from annotation.models import Assignment, AuditEvent, ItemVersion, Study, Task
from annotation.rating import briefings, leases
from annotation.review import blind_judgments, cases
from annotation.studies.protocols import add_protocol_version
from scoring.models import LearnedModel, Score, Scorer
from scoring.policies import hints
from tests import factories
from tests.annotation.importing import reviewing
from tests.annotation.rating.rules import protocols
from tests.scoring.policies.scores import score, score_pair, scored_by, version_of

pytestmark = pytest.mark.django_db


def hint_of(task: Task) -> dict | None:
    task.refresh_from_db()
    return task.hint


@pytest.fixture
def pairs() -> Study:
    """Two pairs that one model has scored, with both its outputs."""
    study = factories.StudyFactory(preset="cmi-pref", overlap=40)
    scorer = scored_by(study, "cmi-rm")
    for name in ("one", "two"):
        task = factories.comparison_task(study, name)
        score(scorer, task, alignment=(2.0, 0.5), musicality=(0.0, 0.4))
    hints.set_rule(study, actor=None, scorer="cmi-rm", withheld=0.5)
    return study


def test_a_score_of_pairs_by_head_is_the_chance_of_the_first_by_the_question_of_its_name(pairs):
    assert hints.sweep() == 2
    assert hint_of(pairs.tasks.first()) == {
        "scorer": "cmi-rm@cmi-rm00",
        "answers": {
            "alignment": pytest.approx(1 / (1 + math.exp(-1.5))),
            "musicality": pytest.approx(1 / (1 + math.exp(0.4))),
        },
    }
    assert hints.sweep() == 0


@pytest.mark.parametrize(
    ("middle", "value", "swapped", "chance"),
    [(0.5, 0.8, False, 0.8), (0.5, 0.8, True, 0.2), (0.0, -0.4, False, 1 / (1 + math.exp(0.4)))],
)
def test_a_scorer_of_pairs_speaks_by_its_own_middle(middle, value, swapped, chance):
    study = factories.StudyFactory(preset="cmi-pref")
    scorer = scored_by(study, "aqascore-pairs", prefers_first_above=middle)
    task = factories.comparison_task(study, "one")
    score_pair(scorer, task, value, swapped=swapped)
    hints.set_rule(study, actor=None, scorer="aqascore-pairs", withheld=0.1)
    hints.sweep()
    assert hint_of(task)["answers"] == {key: pytest.approx(chance) for key in ("alignment", "musicality")}


@pytest.mark.parametrize(("normalisation", "offered"), [("range", True), ("none", False)])
def test_aura_speaks_by_its_score_where_it_goes_from_0_to_1(normalisation, offered):
    study = factories.StudyFactory()
    scorer = scored_by(study, "aura", combination={"normalisation": normalisation})
    task = factories.rating_task(study, "one")
    score(scorer, task, entailment=(-1.0,), judge=(1.0,), score=(0.75,), similarity=(0.1,))
    if not offered:
        with pytest.raises(InvalidInput):
            hints.set_rule(study, actor=None, scorer="aura", withheld=0.1)
        return
    hints.set_rule(study, actor=None, scorer="aura", withheld=0.1)
    hints.sweep()
    assert hint_of(task)["answers"] == {"correctness": pytest.approx(4.0)}


def test_a_probability_is_a_rating_on_the_scale_of_the_question():
    study = factories.StudyFactory()
    scorer = scored_by(study, "orca")
    for name, value in (("one", 0.7), ("two", 1.2)):
        score(scorer, factories.rating_task(study, name), value=(value,), variance=(0.1,))
    without = factories.rating_task(study, "three")
    hints.set_rule(study, actor=None, scorer="orca", withheld=0.1)
    hints.sweep()
    one, two = study.tasks.filter(external_id__in=("one", "two")).order_by("pk")
    assert (hint_of(one)["answers"], hint_of(two)["answers"]) == (
        {"correctness": pytest.approx(3.8)},
        {"correctness": 5.0},
    )
    assert hint_of(without) is None


def test_an_answer_that_gets_its_score_later_is_spoken_of_later():
    study = factories.StudyFactory()
    definition = protocols.definition(
        protocols.question(per_candidate=True), layout="panel", candidate="text", candidates=[2, 2]
    )
    add_protocol_version(study, definition=definition, actor=None)
    scorer, task = scored_by(study, "orca"), factories.panel_task(study, "one", ["a bell", "a dog"])
    first, second = (slot.candidate for slot in task.slots.order_by("slot"))
    hints.set_rule(study, actor=None, scorer="orca", withheld=0.1)
    Score.objects.create(scorer=scorer, candidate=second, value=0.25)
    assert (hints.sweep(), hint_of(task)["answers"]) == (1, {"quality": [None, 2.0]})
    assert hints.sweep() == 0
    Score.objects.create(scorer=scorer, candidate=first, value=1.0)
    assert (hints.sweep(), hint_of(task)["answers"]) == (1, {"quality": [5.0, 2.0]})


def test_the_promoted_model_speaks_rather_than_the_version_that_ran_last(pairs):
    hints.sweep()
    before = Scorer.objects.get()
    later = scored_by(pairs, "cmi-rm", digest="later")
    assert pairs.tasks.first().hint["scorer"] == str(before)
    model = version_of(pairs, before)
    for task in pairs.tasks.all():
        score(later, task, alignment=(0.0, 0.0), musicality=(0.0, 0.0))
    assert hints.sweep() == 2
    assert pairs.tasks.first().hint["scorer"] == str(later)
    LearnedModel.objects.filter(pk=model.pk).update(promoted_at=model.created_at)
    assert hints.sweep() == 2
    assert pairs.tasks.first().hint["scorer"] == str(before)


def test_where_another_scorer_was_chosen_that_is_silent_the_earlier_one_is_not_shown(pairs):
    hints.sweep()
    one, two = pairs.tasks.order_by("pk")
    score(scored_by(pairs, "cmi-rm", digest="later"), one, alignment=(0.0, 0.0))
    assert hints.sweep() == 2
    assert hint_of(one) == {"scorer": "cmi-rm@later000", "answers": {"alignment": 0.5}}
    assert hint_of(two) is None
    assert hints.sweep() == 0


def test_full_tasks_and_studies_that_show_nothing_are_left_alone(pairs):
    Task.objects.filter(external_id="one").update(overlap=0)
    other = factories.StudyFactory(preset="cmi-pref")
    score(Scorer.objects.get(), factories.comparison_task(other, "three"), alignment=(1.0, 0.0))
    hints.sweep()
    assert [bool(task.hint) for task in Task.objects.order_by("pk")] == [False, True, False]


def test_each_assignment_keeps_what_was_said_and_shows_it_to_some_raters_only(pairs):
    hints.sweep()
    shown = set()
    for _ in range(16):
        user = factories.member(pairs)
        _, lease = leases.lease_next(user, pairs.slug)
        assignment = Assignment.objects.get(pk=lease.id)
        assert assignment.hint == {**assignment.task.hint, "withheld": 0.5}
        told = briefings.brief(lease).get("hint")
        assert (told is not None) == assignment.hint_shown
        assert briefings.brief(assignment).get("hint") == told  # a reload draws nothing anew
        shown.add(assignment.hint_shown)
    assert shown == {True, False}


def test_giving_a_task_back_and_getting_it_again_draws_nothing_anew(pairs):
    hints.sweep()
    user, drawn = factories.member(pairs), {}
    for _ in range(4):  # two tasks, in turn
        _, lease = leases.lease_next(user, pairs.slug)
        drawn.setdefault(lease.task_id, set()).add(Assignment.objects.get(pk=lease.id).hint_shown)
        leases.give_back(user, lease.id)
    assert [len(found) for found in drawn.values()] == [1, 1]


def test_a_pair_shown_the_other_way_round_says_the_other_side(pairs):
    hints.sweep()
    told = {}
    while len(told) < 2:
        _, lease = leases.lease_next(factories.member(pairs), pairs.slug)
        if Assignment.objects.get(pk=lease.id).hint_shown:
            told[tuple(lease.presentation)] = briefings.brief(lease)["hint"]
    assert told[0, 1] == [
        {"question": "alignment", "side": "A", "percent": 82},
        {"question": "musicality", "side": "B", "percent": 60},
    ]
    assert [one["side"] for one in told[1, 0]] == ["B", "A"]


@pytest.mark.parametrize("kind", [Task.Kind.GOLD, Task.Kind.TRAINING, Task.Kind.TRAP, Task.Kind.REPEAT])
def test_tasks_with_a_known_answer_cannot_be_told_from_others(pairs, kind):
    task = pairs.tasks.first()
    Task.objects.filter(pk=task.pk).update(kind=kind)
    hints.sweep()
    regular = Task.objects.exclude(pk=task.pk).get().hint
    assert hint_of(task) == regular  # their candidates have the same scores


def test_traps_and_identical_pairs_show_what_is_predicted_for_the_task_they_were_made_from(pairs):
    source = pairs.tasks.first()
    trap = factories.comparison_task(pairs, "trap")
    made_from = {"trap": {"made_from": source.item_version.item.external_id}}
    version = ItemVersion.objects.create(item=trap.item_version.item, number=2, extra=made_from)
    Task.objects.filter(pk=trap.pk).update(kind=Task.Kind.TRAP, item_version=version)
    traps.make_identical(pairs, n=2, actor=None)

    hints.sweep()

    assert hint_of(trap) == hint_of(source)
    of_pairs = pairs.tasks.filter(kind=Task.Kind.IDENTICAL)
    assert [one.hint for one in of_pairs] == [hint_of(one.repeats) for one in of_pairs]
    assert all(one.hint for one in of_pairs)
    assert hints.sweep() == 0


def test_an_expert_who_judges_blind_is_told_nothing(pairs):
    hints.sweep()
    task = pairs.tasks.first()
    expert = factories.member(pairs, "expert")
    case = reviewing.case(task)
    cases.claim(expert, case.pk)
    assignment = blind_judgments.begin_blind(expert, case.pk)
    assert "hint" not in blind_judgments.blind_briefing(expert, case.pk)
    assert assignment.hint is None


def test_a_study_that_shows_nothing_keeps_and_tells_nothing(pairs):
    hints.sweep()
    hints.set_rule(pairs, actor=None, scorer="", withheld=0.5)
    _, lease = leases.lease_next(factories.member(pairs), pairs.slug)
    assignment = Assignment.objects.get(pk=lease.id)
    assert (assignment.hint, assignment.hint_shown) == (None, None)
    assert "hint" not in briefings.brief(lease)
    assert hints.sweep() == 2
    assert not Task.objects.filter(hint__isnull=False).exists()


def test_a_task_at_hand_stays_as_it_was_shown_when_hints_are_switched_off(pairs):
    hints.sweep()
    lease = None
    while lease is None or not Assignment.objects.get(pk=lease.id).hint_shown:
        _, lease = leases.lease_next(factories.member(pairs), pairs.slug)
    before = briefings.brief(lease)["hint"]
    hints.set_rule(pairs, actor=None, scorer="", withheld=0.5)
    hints.sweep()
    assert briefings.brief(lease)["hint"] == before
    assert "cmi-rm" not in json.dumps(before)


def test_where_no_study_shows_anything_a_sweep_is_one_question(django_assert_num_queries):
    factories.comparison_task(factories.StudyFactory(preset="cmi-pref"), "one")
    with django_assert_num_queries(1):
        assert hints.sweep() == 0


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"scorer": "cmi-rm", "withheld": 0.05}, "withheld"),
        ({"scorer": "cmi-rm", "withheld": 1.0}, "withheld"),
        ({"scorer": "orca", "withheld": 0.1}, "scorer"),
        ({"scorer": "clapscore", "withheld": 0.1}, "scorer"),
    ],
)
def test_what_cannot_be_shown_is_refused_and_changes_nothing(pairs, wanted, field):
    scored_by(pairs, "clapscore")
    before = Study.objects.get(pk=pairs.pk).rules
    with pytest.raises(InvalidInput) as refused:
        hints.set_rule(pairs, actor=None, **wanted)
    assert [problem.field for problem in refused.value.problems] == [field]
    assert Study.objects.get(pk=pairs.pk).rules == before


def test_where_a_hidden_reference_stands_among_the_clips_nothing_can_be_shown():
    study = factories.StudyFactory(preset="mushra")
    scored_by(study, "orca")
    with pytest.raises(InvalidInput):
        hints.set_rule(study, actor=None, scorer="orca", withheld=0.1)


def test_a_change_is_logged(pairs):
    event = AuditEvent.objects.get(action="study.changed")
    assert event.data["hints"] == {"scorer": [None, "cmi-rm"], "withheld": [None, 0.5]}
