"""Judgments in words: what each kind of question says, for whom the letters are, and what does not count."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from analytics.judgments.readable import distributions, readable_judgments
from annotation.models import Answer, Exclusion, Judgment
from annotation.protocols import definition_of_preset
from annotation.studies import protocols
from annotation.studies.protocols import load_protocol
from tests.annotation.importing.reviewing import vote
from tests.factories import StudyFactory, comparison_task, rater, rating_task

pytestmark = pytest.mark.django_db


def answer(judgment: Judgment, key: str, **fields) -> None:
    question = load_protocol(judgment.protocol_version_id).question_ids[key]
    Answer.objects.create(judgment=judgment, task=judgment.task, question_id=question, **fields)


def read(*judgments: Judgment, orders=None):
    stored = Judgment.objects.filter(pk__in=[one.pk for one in judgments]).order_by("pk")
    return readable_judgments(list(stored), orders=orders)


@pytest.fixture
def tune():
    return comparison_task(StudyFactory(slug="music", preset="cmi-pref"), "tune")


@pytest.fixture
def swapped(tune):
    """A rater who was shown the second system as A preferred it, and heard nine seconds of it."""
    now = timezone.now()
    judgment = vote(
        tune, 2, confidence=4, rater=rater(tune.study), presentation=[1, 0], started_at=now - timedelta(seconds=75),
        submitted_at=now, telemetry={"heard": {"a": [[0, 0.5], [0.25, 0.75]], "b": []}, "switches": 1},
        comment="A breathes, B does not",
    )  # fmt: skip
    answer(judgment, "musicality", choice=1, confidence=4)
    answer(judgment, "evidence", text="strings @0:20")
    return judgment


def test_a_preference_names_the_system_and_the_letter_that_its_rater_saw(swapped):
    (one,) = read(swapped)
    alignment, musicality, evidence = one.answers
    assert (alignment.text, alignment.system) == ("A", "system-2")
    assert (musicality.text, musicality.system) == ("B", "system-1")
    assert [side.title for side in one.sides] == ["A = system-2", "B = system-1"]
    # What somebody wrote of both clips is about neither of them.
    assert (evidence.text, evidence.system, evidence.of) == ("strings @0:20", "", None)


def test_confidence_has_the_labels_and_the_heading_of_its_own_question(swapped):
    (one,) = read(swapped)
    said = [(answer.confidence_title, answer.confidence) for answer in one.answers[:2]]
    assert said == [
        ("How sure are you?", "4 of 5 (Quite)"),
        ("How large is the difference?", "4 of 5 (Large)"),
    ]


def test_what_was_heard_counts_each_moment_once_and_says_of_how_much(swapped):
    (one,) = read(swapped)
    assert [(clip.title, clip.seconds, clip.of) for clip in one.heard] == [("A", 0.75, 1.0), ("B", 0.0, 1.0)]
    assert (one.seconds_text, one.version, one.counts) == ("75 s", 1, True)


def test_one_readers_letters_hold_for_everybody_and_a_comment_with_others_is_marked(tune, swapped):
    (one,) = read(swapped, orders={tune.pk: [0, 1]})
    assert (one.answers[0].text, one.answers[0].system) == ("B", "system-2")
    assert [(clip.title, clip.seconds) for clip in one.heard] == [("B", 0.75), ("A", 0.0)]
    assert not one.as_shown
    assert read(swapped)[0].as_shown


def test_why_a_judgment_does_not_count(tune):
    counted, excluded = vote(tune, 1), vote(tune, 1, excluded=True)
    Exclusion.objects.create(study=tune.study, judgment=excluded, action="exclude", reason="item_corrected")
    judgments = [
        counted, excluded, vote(tune, 1, effective=False), vote(tune, 1, effective=False, surplus=True),
        vote(tune, 1, origin=Judgment.Origin.EXPERT),
    ]  # fmt: skip
    assert [one.why_not for one in read(*judgments)] == [
        "", "excluded: The item was corrected", "replaced by a later answer", "surplus: its task was full",
        "an expert's own judgment",
    ]  # fmt: skip
    (found,) = distributions(read(*judgments))
    assert [(row.text, row.system, row.n) for row in found.rows][:2] == [
        ("A", "system-1", 1),
        ("B", "system-2", 0),
    ]
    assert found.n == 1


@pytest.fixture
def of_every_kind():
    """Two clips, and a question of each kind that has a stored form of its own."""
    study = StudyFactory(slug="kinds", preset="cmi-pref")
    options = [{"key": "n", "title": {"en": "Noise"}}, {"key": "h", "title": {"en": "Hum"}}]
    asked = [
        {"key": "one", "kind": "choice", "options": options},
        {"key": "many", "kind": "choices", "options": options, "min_choices": 0},
        {"key": "order", "kind": "ranking"},
        {"key": "where", "kind": "events", "options": options, "per_candidate": True, "notes": True},
        {"key": "mos", "kind": "rating", "per_candidate": True, "level": "ordinal",
         "points": [{"value": 1, "label": {"en": "Bad"}}, {"value": 2, "label": {"en": "Fine"}}]},
    ]  # fmt: skip
    questions = [{**question, "title": {"en": question["key"]}} for question in asked]
    definition = {**definition_of_preset("cmi-pref"), "questions": questions, "candidates": [2, 2]}
    definition["layout"] = "panel"
    protocols.add_protocol_version(study, definition=definition, actor=None)
    return comparison_task(study, "tune")


def test_every_kind_of_question_has_words(of_every_kind):
    first, second = (slot.candidate for slot in of_every_kind.slots.order_by("slot"))
    judgment = vote(of_every_kind, presentation=[0, 1])
    answer(judgment, "one", value=2)
    answer(judgment, "many", selected=[1, 2])
    answer(judgment, "order", value=2, candidate=first)
    answer(judgment, "order", value=1, candidate=second)
    marks = [{"start": 61.5, "end": 63, "label": "n", "note": "left"}, {"start": 2}]
    answer(judgment, "where", events=marks, candidate=first)
    answer(judgment, "mos", value=2, candidate=first)
    answer(judgment, "mos", value=1, candidate=second)
    nothing = vote(of_every_kind, presentation=[0, 1])
    answer(nothing, "many", selected=[])
    one, other = read(judgment, nothing)
    assert [(given.key, given.of and given.of.letter, given.text) for given in one.answers] == [
        ("one", None, "Hum"),
        ("many", None, "Noise, Hum"),
        ("order", None, "system-2 (B) > system-1 (A)"),
        ("where", "A", "2 marks"),
        ("mos", "A", "2 · Fine"),
        ("mos", "B", "1 · Bad"),
    ]
    places = [(event.place, event.label, event.note) for event in one.answers[3].events]
    assert places == [("1:01.5–1:03.0", "Noise", "left"), ("0:02.0", "", "")]
    assert other.answers[0].text == "none of them"
    found = {(one.key, one.of and one.of.letter): one for one in distributions([one, other])}
    assert [(row.text, row.n) for row in found["many", None].rows] == [("Noise", 1), ("Hum", 1)]
    assert found["many", None].n == 2
    assert [(row.text, row.n) for row in found["order", "B"].rows] == [("1", 1)]
    assert [(row.text, row.n) for row in found["mos", "A"].rows] == [("1 · Bad", 0), ("2 · Fine", 1)]


def test_the_queries_do_not_grow_with_the_judgments(tune, swapped, django_assert_max_num_queries):
    for _n in range(5):
        vote(tune, 1, rater=rater(tune.study), excluded=True)
    with django_assert_max_num_queries(8):
        readable_judgments(list(Judgment.objects.all()))


def test_one_answer_needs_no_letter():
    task = rating_task(StudyFactory(), "bird")
    (one,) = read(vote(task, 3))
    assert (one.answers[0].of, one.answers[0].text) == (None, "3 · Moderately correct")
    assert [side.system for side in one.sides] == ["system-1"]
