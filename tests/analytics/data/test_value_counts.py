"""Which answers are counted together, and that PostgreSQL does the counting."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from analytics.data import value_counts
from analytics.data import votes as data_votes
from analytics.data.questions import MeasuredQuestion, measured_questions
from analytics.data.value_counts import histogram, histograms, unit_counts_by_prompt
from analytics.reports.agreement import votes_for_agreement
from annotation.models import Answer, Assignment, Judgment, Study, Task
from annotation.rating.rules import stopping
from annotation.studies import protocols
from tests import factories
from tests.analytics.protocols import protocol, scale, side
from tests.analytics.votes import exclude, vote, votes

pytestmark = pytest.mark.django_db

STOPPED = {stopping.LAST_RULE_KEY: {"question": "alignment", "most": 9}}


def counted(study: Study, key: str = "correctness") -> list[tuple[dict[float, int], int]]:
    """The question's rows without zeros, in a fixed order."""
    (question,) = [question for question in measured_questions(study) if question.key == key]
    rows = [
        ({v: n for v, n in row.items() if n}, units) for row, units in value_counts.unit_counts(question).rows
    ]
    return sorted(((row, units) for row, units in rows if row), key=repr)


@pytest.fixture
def study() -> Study:
    return factories.StudyFactory(overlap=9)


def test_units_with_equal_counts_are_one_row(study):
    for name, values in (("a", [1, 2]), ("b", [2, 1]), ("c", [5, 5])):
        votes(factories.rating_task(study, name), values)
    assert counted(study) == [({1.0: 1, 2.0: 1}, 2), ({5.0: 2}, 1)]


def test_only_standing_judgments_count(study):
    task = factories.rating_task(study, "a")
    vote(task, 3)
    vote(task, 5, surplus=True)
    vote(task, 4, effective=False)
    exclude(vote(task, 1))
    assert counted(study) == [({3.0: 1}, 1)]


@pytest.mark.parametrize("kind", [Task.Kind.TRAINING, Task.Kind.GOLD, Task.Kind.TRAP, Task.Kind.REPEAT])
def test_only_regular_tasks_count(study, kind):
    votes(factories.rating_task(study, "a"), [2, 3])
    special = factories.rating_task(study, "b")
    Task.objects.filter(pk=special.pk).update(kind=kind)
    votes(special, [4, 5])
    assert counted(study) == [({2.0: 1, 3.0: 1}, 1)]


def test_experts_own_judgments_do_not_count(study):
    task = factories.rating_task(study, "a")
    vote(task, 2)
    vote(task, 5, origin=Judgment.Origin.EXPERT)
    assert counted(study) == [({2.0: 1}, 1)]


def test_another_study_does_not_count(study):
    votes(factories.rating_task(factories.StudyFactory(), "a"), [4, 4])
    assert counted(study) == []


def test_a_question_asked_of_each_candidate_has_a_unit_per_candidate(study):
    protocols.add_protocol_version(
        study, definition=protocol(scale(per_candidate=True), layout="comparison"), actor=None
    )
    task = factories.comparison_task(study, "a")
    for slot, value in ((0, 1), (0, 2), (1, 5), (1, 5)):
        vote(task, value, question="quality", slot=slot)
    assert counted(study, "quality") == [({1.0: 1, 2.0: 1}, 1), ({5.0: 2}, 1)]


def test_a_scale_without_points_keeps_every_finite_value(study):
    free = scale(minimum=0, maximum=100)
    del free["points"]
    protocols.add_protocol_version(study, definition=protocol(free), actor=None)
    task = factories.rating_task(study, "a")
    for value in (0.25, 71.5, 0.25, float("inf"), float("nan")):
        vote(task, value, question="quality")
    assert counted(study, "quality") == [({0.25: 2, 71.5: 1}, 1)]
    (question,) = [question for question in measured_questions(study) if question.key == "quality"]
    assert value_counts.unit_counts(question).off_scale == 2


@pytest.mark.parametrize("most", [12, 2], ids=["counted by column", "as arrays"])
def test_ratings_off_the_scale_are_in_no_row_but_counted(study, most, monkeypatch):
    monkeypatch.setattr(value_counts, "_MOST_COLUMNS", most)
    for name, values in (("a", [3.5, 4]), ("b", [3.5, 4]), ("c", [0, 9, 9]), ("d", [2])):
        votes(factories.rating_task(study, name), values)
    (question,) = measured_questions(study)
    assert counted(study) == [({2.0: 1}, 1), ({4.0: 1}, 2)]
    assert value_counts.unit_counts(question).off_scale == 5


def test_preferences_are_counted_by_canonical_choice():
    study = factories.StudyFactory(preset="cmi-pref")
    task = factories.comparison_task(study, "a")
    for presentation in ([0, 1], [1, 0]):
        vote(task, question="alignment", choice=Answer.Choice.SECOND, presentation=presentation)
    assert counted(study, "alignment") == [({2.0: 2}, 1)]


def test_versions_that_ask_alike_are_counted_together(study):
    task, first = factories.rating_task(study, "a"), study.protocol_version
    protocols.add_protocol_version(study, preset="orca", actor=None)
    vote(task, 1, version=first)
    vote(task, 2, version=study.protocol_version)
    assert counted(study) == [({1.0: 1, 2.0: 1}, 1)]


@pytest.mark.parametrize(
    "older",
    [
        scale(level="ordinal"),
        scale(points=[{"value": value, "label": ""} for value in range(1, 8)]),
        scale(per_candidate=True),
        side("quality"),
    ],
    ids=["level", "points", "per candidate", "kind"],
)
def test_versions_on_another_scale_are_left_out_and_named(study, older):
    layout = "comparison" if older["kind"] == "preference" else "rating"
    before = protocols.add_protocol_version(study, definition=protocol(older, layout=layout), actor=None)
    now = protocols.add_protocol_version(study, definition=protocol(scale()), actor=None)
    task = factories.rating_task(study, "a")
    vote(task, 1, question="quality", version=before)
    vote(task, 2, question="quality", version=now)
    assert counted(study, "quality") == [({2.0: 1}, 1)]
    (question,) = [question for question in measured_questions(study) if question.key == "quality"]
    assert (question.versions, question.other_versions) == ((now.number,), (before.number,))


def test_a_different_range_is_another_scale(study):
    def free(maximum: int) -> dict:
        return {key: value for key, value in scale(minimum=0, maximum=maximum).items() if key != "points"}

    protocols.add_protocol_version(study, definition=protocol(free(10)), actor=None)
    protocols.add_protocol_version(study, definition=protocol(free(100)), actor=None)
    (question,) = [question for question in measured_questions(study) if question.key == "quality"]
    assert question.other_versions == (2,)


def test_free_text_is_not_measured():
    study = factories.StudyFactory(preset="cmi-pref")
    assert [question.key for question in measured_questions(study)] == ["alignment", "musicality"]


def test_counting_takes_one_query_and_no_ratings_leave_the_database(study, django_assert_max_num_queries):
    for name in "abcd":
        votes(factories.rating_task(study, name), [1, 5, 5])
    (question,) = measured_questions(study)
    with django_assert_max_num_queries(4) as queries:
        rows = value_counts.unit_counts(question).rows
    assert len([query for query in queries.captured_queries if "SELECT" in query["sql"]]) == 1
    assert rows == [({1.0: 1, 2.0: 0, 3.0: 0, 4.0: 0, 5.0: 2}, 4)]


def test_named_raters_are_counted_once_and_unnamed_ones_are_reported(study):
    (question,) = measured_questions(study)
    assert (value_counts.n_named_raters(question), value_counts.has_unnamed_raters(question)) == (0, False)
    known = factories.rater(study)
    for name in "ab":
        vote(factories.rating_task(study, name), 3, rater=known)
    assert (value_counts.n_named_raters(question), value_counts.has_unnamed_raters(question)) == (1, False)
    vote(factories.rating_task(study, "c"), 3)
    assert value_counts.has_unnamed_raters(question)


def test_a_rater_whose_judgments_are_all_excluded_is_not_counted(study):
    (question,) = measured_questions(study)
    vote(factories.rating_task(study, "a"), 3, rater=factories.rater(study), excluded=True)
    assert value_counts.n_named_raters(question) == 0


def test_system_ratings_add_up_by_system(study):
    for name, system, values in (("a", "s1", [1, 2]), ("b", "s1", [3]), ("c", "s2", [5])):
        votes(factories.rating_task(study, name, system=system), values)
    (question,) = measured_questions(study)
    assert value_counts.system_ratings(question) == [
        value_counts.SystemRatings("s1", 3, 6.0, 14.0),
        value_counts.SystemRatings("s2", 1, 5.0, 25.0),
    ]


def test_system_ratings_follow_the_candidate_that_was_rated(study):
    protocols.add_protocol_version(
        study, definition=protocol(scale(per_candidate=True), layout="comparison"), actor=None
    )
    task = factories.comparison_task(study, "a")
    vote(task, 1, question="quality", slot=0)
    vote(task, 5, question="quality", slot=1)
    (question,) = [question for question in measured_questions(study) if question.key == "quality"]
    assert [(row.system, row.total) for row in value_counts.system_ratings(question)] == [
        ("system-1", 1.0), ("system-2", 5.0),
    ]  # fmt: skip


def test_one_rating_of_several_candidates_together_belongs_to_no_system(study):
    protocols.add_protocol_version(study, definition=protocol(scale(), layout="comparison"), actor=None)
    vote(factories.comparison_task(study, "a"), 4, question="quality")
    (question,) = [question for question in measured_questions(study) if question.key == "quality"]
    assert value_counts.system_ratings(question) == []


def test_pair_votes_add_up_by_the_two_systems():
    study = factories.StudyFactory(preset="cmi-pref")
    for name, choices in (("a", [1, 1, 2]), ("b", [1, 3, 4])):
        task = factories.comparison_task(study, name)
        for choice in choices:
            vote(task, question="alignment", choice=choice)
    question = next(question for question in measured_questions(study) if question.key == "alignment")
    assert value_counts.pair_votes(question) == [value_counts.PairVotes("system-1", "system-2", 3, 1, 1, 1)]


def test_codes_are_counted_over_standing_judgments(study):
    task = factories.rating_task(study, "a")
    vote(task, 3, codes=["A", "R"])
    vote(task, codes=["A"])
    vote(task, 3, codes=["U"], excluded=True)
    vote(task, 3, codes=["E"], surplus=True)
    assert value_counts.code_counts(study) == {"A": 2, "R": 1}


def test_a_withdrawn_task_wants_no_more_than_it_has(study):
    factories.rating_task(study, "a", overlap=3)
    withdrawn = factories.rating_task(study, "b", overlap=3)
    Task.objects.filter(pk=withdrawn.pk).update(state=Task.State.WITHDRAWN, n_judgments=1)
    assert value_counts.judgments_wanted(study) == 4


def test_agreement_rests_on_the_first_votes_where_more_are_asked_for_while_they_differ():
    """Stopped once they agree, or after; a vote that was excluded is none of the first."""
    study = factories.StudyFactory(overlap=2, preset="cmi-pref", rules=STOPPED)
    for name, choices in (("agreed", [1, 1]), ("differed", [1, 2, 2, 2]), ("excluded", [2, 1, 1])):
        task = factories.comparison_task(study, name, overlap=9)
        said = [vote(task, question="alignment", choice=choice) for choice in choices]
    exclude(said[0])
    assert counted(study, "alignment") == [({1.0: 1, 2.0: 1}, 1), ({1.0: 2}, 2)]
    (question,) = [asked for asked in measured_questions(study) if asked.key == "alignment"]
    by_prompt = unit_counts_by_prompt(question).counted.rows
    assert sorted(sum(row.values()) for row, _ in by_prompt) == [2, 2, 2]
    assert [(pair.first, pair.second) for pair in value_counts.pair_votes(question)] == [(5, 3)]


def test_a_changed_vote_keeps_its_place_among_the_first():
    study = factories.StudyFactory(overlap=2, preset="cmi-pref", rules=STOPPED)
    task = factories.comparison_task(study, "a", overlap=9)
    start, raters = timezone.now(), [factories.rater(study) for _ in range(3)]
    held = Assignment.objects.create(
        task=task,
        rater=raters[0],
        protocol_version=study.protocol_version,
        presentation=[0, 1],
        expires_at=start,
    )
    given = Judgment.Origin.RATED
    times = {"submitted_at": start, "assignment": held, "origin": given}
    vote(task, question="alignment", choice=1, rater=raters[0], effective=False, **times)
    for minute, choice in ((1, 1), (2, 2)):
        at = start + timedelta(minutes=minute)
        vote(task, question="alignment", choice=choice, rater=raters[minute], submitted_at=at, origin=given)
    times["submitted_at"] = start + timedelta(minutes=3)
    vote(task, question="alignment", choice=1, rater=raters[0], revision=2, **times)
    assert counted(study, "alignment") == [({1.0: 2}, 1)]
    (question,) = [asked for asked in measured_questions(study) if asked.key == "alignment"]
    found = data_votes.load_votes(question)
    assert [found.raters[rater] for rater in found.rater] == [rater.pseudonym for rater in raters]
    assert found.value.tolist() == [1, 1, 2]
    assert votes_for_agreement(found.counted()).value.tolist() == [1, 1]


def by_prompt(study: Study, key: str) -> list[list[tuple[dict[float, int], int]]]:
    """The rows of each prompt, without what prompts are called."""
    (question,) = [question for question in measured_questions(study) if question.key == key]
    found = unit_counts_by_prompt(question)
    prompts = {prompt: [] for prompt in found.clusters}
    for (row, units), prompt in zip(found.counted.rows, found.clusters, strict=True):
        prompts[prompt].append((dict(row), units))
    return sorted((sorted(rows, key=repr) for rows in prompts.values()), key=repr)


def test_units_about_the_same_question_are_together_whatever_their_items_are_called():
    study = factories.StudyFactory(overlap=9)
    for name, question, values in (("a", "Rain?", [1, 2]), ("b", "Rain?", [2, 1]), ("c", "Wind?", [1, 2, 7])):
        votes(factories.rating_task(study, name, question=question), values)
    (question,) = measured_questions(study)

    assert by_prompt(study, "correctness") == [[({1.0: 1, 2.0: 1}, 1)], [({1.0: 1, 2.0: 1}, 2)]]
    assert unit_counts_by_prompt(question).counted.off_scale == 1


def test_preferences_are_counted_by_choice_within_a_prompt():
    study = factories.StudyFactory(preset="cmi-pref")
    task = factories.comparison_task(study, "a")
    for choice in (Answer.Choice.SECOND, Answer.Choice.SECOND, Answer.Choice.TIE):
        vote(task, question="alignment", choice=choice)

    assert by_prompt(study, "alignment") == [[({2.0: 2, 3.0: 1}, 1)]]


def question(kind: str = "rating", points: tuple[float, ...] = ()) -> MeasuredQuestion:
    return MeasuredQuestion(
        study_id=1, key="q", title="", kind=kind, level="interval", points=points, width=None,
        per_candidate=False, one_candidate=True, ids=(1,), versions=(1,), other_versions=(),
    )  # fmt: skip


def test_every_point_of_the_scale_has_a_bar():
    rows = [({1.0: 2, 2.0: 0, 3.0: 1}, 4), ({1.0: 1, 2.0: 0, 3.0: 0}, 1)]
    assert histogram(question(points=(1.0, 2.0, 3.0)), rows) == [("1", 9), ("2", 0), ("3", 4)]


def test_preferences_are_shown_by_canonical_choice():
    rows = [({1.0: 1, 2.0: 2, 3.0: 0, 4.0: 1}, 2)]
    assert histogram(question("preference"), rows) == [
        ("first", 2),
        ("second", 4),
        ("tie", 0),
        ("both_bad", 2),
    ]


def test_few_values_of_a_free_scale_stand_alone():
    assert histogram(question(), [({0.5: 1, 71.25: 2}, 3)]) == [("0.5", 3), ("71.25", 6)]


def test_many_values_of_a_free_scale_are_binned_and_none_is_lost():
    bars = histogram(question(), [({float(value): 1}, 1) for value in range(101)])
    assert len(bars) == 10
    assert bars[0] == ("0 – 10", 10)
    assert bars[-1] == ("90 – 100", 11)


@pytest.mark.parametrize("kind", ["rating", "preference"])
def test_without_answers_all_bars_are_empty(kind):
    assert sum(n for _, n in histogram(question(kind), [])) == 0


def test_sets_of_ratings_share_their_bars():
    before, after = [({1.0: 1, 3.0: 1}, 2)], [({3.0: 2}, 1)]
    assert histograms(question(), [before, after]) == [("1", (2, 0)), ("3", (2, 2))]
    spread = [({float(value): 1 for value in range(20)}, 1)]
    assert [counts for _, counts in histograms(question(), [spread, after])] == [
        (2, 0), (2, 2), *[(2, 0)] * 8,
    ]  # fmt: skip
