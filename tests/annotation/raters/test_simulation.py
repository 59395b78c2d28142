"""Simulated raters: through the doors of raters, marked for what they are, and only where the truth is known."""

from __future__ import annotations

import uuid

import numpy as np
import pytest
from django.contrib.auth import authenticate
from django.db.models import Avg

from annotation.demo.raters import draw_rater
from annotation.demo.write import outcome
from annotation.errors import Conflict, InvalidInput
from annotation.listening import checks
from annotation.models import Answer, Assignment, AuditEvent, Judgment, Membership, Rater, Study, Task, User
from annotation.raters import simulation
from annotation.raters.simulation import SimulationOptions
from annotation.rating import hints, judgments, leases, task_selection
from annotation.rating.judgments import Submission
from annotation.rating.rules.answers import canonical_answers
from annotation.studies import studies
from annotation.studies.protocols import load_protocol
from tests import factories
from tests.annotation.importing import known_tasks

pytestmark = pytest.mark.django_db


@pytest.fixture
def music() -> Study:
    """Two comparisons that want two votes each, under the listening rules of a new study."""
    study = factories.StudyFactory.create(preset="cmi-pref", overlap=2, rules={})
    known_tasks.comparison(study)
    known_tasks.comparison(study, prompt=1, systems=("Brook", "Etude-XL"))
    return study


def test_they_vote_until_every_task_has_its_votes(music: Study) -> None:
    done = simulation.simulate_votes(music, SimulationOptions(raters=3))
    assert (done.votes, done.new_raters, done.open_places) == (4, 3, 0)
    assert list(music.tasks.values_list("n_judgments", "n_leases")) == [(2, 0), (2, 0)]
    again = simulation.simulate_votes(music, SimulationOptions(raters=3))
    assert (again.votes, again.new_raters) == (0, 0)
    assert [event.data["votes"] for event in AuditEvent.objects.filter(action="votes.simulated")] == [4, 0]


def test_a_vote_is_marked_as_simulated_and_claims_no_listening_and_no_pace(music: Study) -> None:
    simulation.simulate_votes(music, SimulationOptions(raters=2))
    given = Judgment.objects.filter(study=music)
    assert set(given.values_list("origin", flat=True)) == {Judgment.Origin.SIMULATED}
    assert set(given.values_list("telemetry", "gains", "started_at")) == {(None, None, None)}
    assert set(Rater.objects.filter(study=music).values_list("origin", flat=True)) == {Rater.Origin.SIMULATED}
    assert Assignment.objects.filter(state=Assignment.State.SUBMITTED).count() == given.count() == 4


def test_a_person_beside_them_still_has_to_listen(music: Study) -> None:
    simulation.simulate_votes(music, SimulationOptions(raters=1))
    person = factories.member(music)
    _, lease = leases.lease_next(person, music.slug)
    assert lease is not None
    answers = [{"question": key, "choice": "A", "confidence": 3} for key in ("alignment", "musicality")] + [
        {"question": "evidence", "text": "Sample A is better."}
    ]
    with pytest.raises(InvalidInput, match="needs listening"):
        judgments.submit(person, lease.id, Submission(uuid.uuid4(), answers))


def test_what_a_model_says_is_neither_shown_to_them_nor_kept_from_them(music: Study) -> None:
    hints.set_hint_settings(music, actor=None, scorer="cmi-rm", withheld=0.5)
    said = {"scorer": "cmi-rm@00000000", "answers": {"musicality": 0.8}}
    hints.store_hints(music, dict.fromkeys(music.tasks.values_list("pk", flat=True), said))
    simulation.simulate_votes(music, SimulationOptions(raters=1))
    _, lease = leases.lease_next(factories.member(music), music.slug)
    assert lease is not None
    given = Assignment.objects.exclude(pk=lease.id)
    assert set(given.values_list("hint", "hint_shown")) == {(None, None)}
    assert Assignment.objects.get(pk=lease.id).hint_shown is not None


def test_nobody_can_sign_in_as_a_simulated_rater(music: Study) -> None:
    simulation.simulate_votes(music, SimulationOptions(raters=1))
    account = User.objects.get(email__endswith="@simulated.invalid")
    assert not account.is_active
    assert not account.has_usable_password()
    assert authenticate(username=account.email, password="") is None


def test_so_many_votes_and_no_more_and_the_rest_later(music: Study) -> None:
    some = simulation.simulate_votes(music, SimulationOptions(raters=2, votes=3))
    assert some == simulation.SimulationResult(3, 2, 1)
    assert simulation.simulate_votes(music, SimulationOptions(raters=2)).votes == 1


def test_a_vote_is_the_same_whenever_it_is_given(music: Study) -> None:
    task = simulation.tasks_with_known_truth(music)[music.tasks.order_by("pk")[0].pk]
    simulation.simulate_votes(music, SimulationOptions(raters=2, votes=1))
    simulation.simulate_votes(music, SimulationOptions(raters=2))
    for judgment in Judgment.objects.filter(task__external_id=task.name).select_related("rater"):
        rng = np.random.default_rng([1, *f"{judgment.rater.external_id}/{task.name}".encode()])
        rater = draw_rater(int(judgment.rater.external_id[-2:]), seed=1)
        protocol = load_protocol(judgment.protocol_version_id).spec
        ballot = task.ballot(rater, shown=judgment.presentation, protocol=protocol, rng=rng)
        chosen = canonical_answers(protocol, answers=ballot.answers, presentation=judgment.presentation)
        stored = judgment.answers.order_by("question__position")
        assert [(each.choice, each.confidence) for each in stored] == [
            (each.choice, each.confidence) for each in chosen
        ]


def test_another_seed_brings_other_raters(music: Study) -> None:
    simulation.simulate_votes(music, SimulationOptions(raters=1))
    assert simulation.simulate_votes(music, SimulationOptions(raters=1, seed=2)).new_raters == 1
    names = Rater.objects.filter(study=music).values_list("external_id", flat=True)
    assert set(names) == {"simulated-1-01", "simulated-2-01"}


def test_a_larger_overlap_is_given_to_every_task_and_to_later_ones(music: Study) -> None:
    done = simulation.simulate_votes(music, SimulationOptions(raters=5, overlap=4))
    music.refresh_from_db()
    assert done.votes == 8
    assert music.overlap == 4
    assert simulation.simulate_votes(music, SimulationOptions(raters=5, overlap=1)).votes == 0
    assert set(music.tasks.values_list("overlap", flat=True)) == {4}


def test_votes_follow_the_truth(music: Study) -> None:
    task = music.tasks.get(external_id__contains="Drone-0")
    good, bad = (
        outcome("concord-01", prompt=task.item_version.prompt, system=name) for name in ("Aria-1", "Drone-0")
    )
    assert good is not None
    assert bad is not None
    assert good.musicality - bad.musicality > 2
    simulation.simulate_votes(music, SimulationOptions(raters=20, overlap=20))
    choices = Answer.objects.filter(task=task, question__key="musicality").values_list("choice", flat=True)
    assert sum(choice == Answer.Choice.FIRST for choice in choices) >= 16


def test_answers_are_rated_by_how_right_they_are() -> None:
    study = factories.StudyFactory.create(overlap=12, rules={})
    right, wrong = known_tasks.answer(study, index=0), known_tasks.answer(study, question=1, index=4)
    simulation.simulate_votes(study, SimulationOptions(raters=12))
    means = dict(
        Task.objects.filter(study=study).values_list("pk").annotate(Avg("judgments__answers__value"))
    )
    assert means[right.pk] > 4 > 2.5 > means[wrong.pk]


def test_a_flawed_question_gets_its_code_from_those_who_notice() -> None:
    study = factories.StudyFactory.create(overlap=12, rules={})
    flawed = next(n for n, asked in enumerate(known_tasks.load_questions()) if asked.problem == "u")
    known_tasks.answer(study, question=flawed)
    simulation.simulate_votes(study, SimulationOptions(raters=12))
    codes = [tuple(codes) for codes in Judgment.objects.filter(study=study).values_list("codes", flat=True)]
    assert ("U",) in codes
    assert () in codes


def test_what_nobody_knows_the_truth_of_is_refused_by_name_and_nothing_changes(music: Study) -> None:
    factories.comparison_task(music, "not the demo's")
    with pytest.raises(InvalidInput, match=r"want judgments: not the demo's\."):
        simulation.simulate_votes(music, SimulationOptions(raters=1, overlap=9))
    assert not Judgment.objects.exists()
    assert not User.objects.exists()
    assert set(music.tasks.values_list("overlap", flat=True)) == {2}


def test_what_nobody_knows_or_they_cannot_answer_is_refused_by_name(music: Study) -> None:
    known_tasks.comparison(music, prompt=2, text="Not what was asked for.")
    unanswerable = factories.StudyFactory.create(preset="relate", rules={})
    known_tasks.answer(unanswerable)
    for study, message in (
        (music, "want judgments: concord-03"),
        (factories.StudyFactory.create(), "known to be true"),
        (unanswerable, "cannot answer"),
    ):
        with pytest.raises(InvalidInput, match=message):
            simulation.simulate_votes(study, SimulationOptions(raters=1))


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (SimulationOptions(raters=0), "1 to 1000 raters"),
        (SimulationOptions(raters=1, seed=-1), "0 or more"),
        (SimulationOptions(raters=1, votes=0), "1 vote or more"),
        (SimulationOptions(raters=1, overlap=1001), "1 to 1000"),
    ],
)
def test_nonsense_is_refused(music: Study, order: SimulationOptions, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        simulation.simulate_votes(music, order)
    assert not Membership.objects.exists()


def test_a_study_that_is_paused_or_wants_listening_checks_is_refused(music: Study) -> None:
    checks.set_check_rules(music, actor=None, require=["level"])
    with pytest.raises(Conflict, match="switch them off"):
        simulation.simulate_votes(Study.objects.get(pk=music.pk), SimulationOptions(raters=1))
    studies.set_study_state(music, Study.State.PAUSED, actor=None)
    with pytest.raises(Conflict, match="not open"):
        simulation.simulate_votes(Study.objects.get(pk=music.pk), SimulationOptions(raters=1))


def test_under_a_policy_of_ordering_every_vote_has_the_chance_of_its_draw() -> None:
    study = factories.StudyFactory.create(preset="cmi-pref", overlap=50, rules={})
    tasks = [known_tasks.comparison(study, prompt=n) for n in range(8)]
    task_selection.set_ordering(study, actor=None, among=4)
    task_selection.set_priorities(study, {task.pk: float(n < 4) for n, task in enumerate(tasks)})
    simulation.simulate_votes(Study.objects.get(pk=study.pk), SimulationOptions(raters=30, votes=30))
    drawn = Assignment.objects.filter(rater__study=study).select_related("policy", "task")
    first = {task.pk for task in tasks[:4]}
    assert drawn.count() == 30
    for each in drawn:
        # Four of five draws are of the first four, the rest of all eight.
        assert each.inclusion_probability == pytest.approx(0.225 if each.task_id in first else 0.025)
        assert each.policy is not None
    # 27 of 30 are expected, 15 or fewer come about less than once in a million times.
    assert sum(each.task_id in first for each in drawn) > 15
