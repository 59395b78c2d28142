"""Votes on a pair, told by the letters under which the expert saw its two sides."""

from __future__ import annotations

import pytest

from analytics.review.case_votes import votes_on_version
from annotation.models import Assignment, Judgment
from annotation.rating import judgments, leases
from annotation.studies.protocols import load_protocol
from labeling_ui.review.desk_page import task_cards
from scoring.models import Score, Scorer
from tests.annotation.importing.answers import comparison
from tests.factories import StudyFactory, comparison_task, member

pytestmark = pytest.mark.django_db


@pytest.fixture
def pair():
    """One rater preferred what stands first in the task, on whichever side their own draw showed it."""
    study = StudyFactory(slug="music", preset="cmi-pref")
    task = comparison_task(study, "tune")
    rater = member(study)
    _, lease = leases.lease_next(rater, "music")
    first = "A" if list(Assignment.objects.get().presentation) == [0, 1] else "B"
    second = "B" if first == "A" else "A"
    judgments.submit(rater, lease.id, comparison(alignment=first, musicality=second))
    scorer = Scorer.objects.create(key="gone-scorer", digest="0" * 64)
    one, other = (slot.candidate for slot in task.slots.order_by("slot"))
    Score.objects.create(
        scorer=scorer, candidate=one, other=other, value=-0.5, distribution={"yes": [0.25, 0.75]}
    )
    return task


def card(task, presentation):
    mine = Judgment(task=task, presentation=presentation)
    protocol = load_protocol(task.study.protocol_version_id).spec
    (found,) = task_cards(votes_on_version(task.item_version), protocol=protocol, own=mine)
    return found


@pytest.mark.parametrize(("presentation", "letter"), [([0, 1], "A"), ([1, 0], "B")])
def test_a_choice_goes_by_the_letter_that_its_side_had_for_the_expert(pair, presentation, letter):
    found = card(pair, presentation)
    assert [(label, candidate.system.name) for label, candidate in found.candidates] == [
        ("A", f"system-{presentation[0] + 1}"),
        ("B", f"system-{presentation[1] + 1}"),
    ]
    (vote,) = found.votes
    assert [answer.text for answer in vote.read.answers][:2] == [letter, "B" if letter == "A" else "A"]
    bars = [(bar.label, bar.n) for bar in found.distributions[0][1]]
    systems = [f"system-{slot + 1}" for slot in presentation]
    assert bars[:2] == [(f"A = {systems[0]}", int(letter == "A")), (f"B = {systems[1]}", int(letter == "B"))]


def test_a_score_of_a_pair_says_which_against_which_and_what_is_behind_it(pair):
    (score,) = card(pair, [1, 0]).scores
    assert (score.scorer, score.of, score.value) == ("gone-scorer", "B against A", -0.5)
    assert score.numbers == [("yes.1", "0.25"), ("yes.2", "0.75")]
