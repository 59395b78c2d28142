"""Answers to a version: carried over, brought one by one, and the tasks that wait for them."""

from __future__ import annotations

import pytest
from django.db import connection

from annotation.errors import Conflict
from annotation.items import locks, versions
from annotation.models import BarredRater, ItemVersion, System, Task
from annotation.rating import task_selection
from tests import factories
from tests.annotation.importing.answers import rating
from tests.annotation.importing.desk import give, true_counters, withdraw

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return factories.StudyFactory(overlap=2)


@pytest.fixture
def task(study):
    return factories.rating_task(study, "a")


def make(task: Task, *, carry: bool = True, question: str = "What rings?") -> ItemVersion:
    item = locks.lock_item(task.item_version.item_id)
    return versions.make_version(item, {"question": question}, actor=None, carry=carry)


def system(name: str = "system-1") -> System:
    return System.objects.get(name=name)


def test_tasks_wait_for_answers_that_are_wanted_anew(study, task):
    give(factories.member(study), task)
    version = make(task, carry=False)
    assert versions.lacks_answers(version)
    assert not Task.objects.filter(wants_more=True).exists()
    true_counters(study)
    answer = versions.add_answer(version, system(), "A gong.", provenance={"model": "m"})
    new = Task.objects.get(replaces=task)
    assert (new.item_version, new.slots.get().candidate) == (version, answer)
    assert answer.provenance == {"model": "m"}
    assert not versions.lacks_answers(version)
    true_counters(study)


def test_an_answer_is_added_once_and_another_is_a_task_of_its_own(study, task):
    version = task.item_version
    first = versions.add_answer(version, system(), "A gong.", provenance={})
    assert versions.add_answer(version, system(), "A gong.", provenance={}) == first
    assert (first.take, Task.objects.get(slots__candidate=first).external_id) == (2, "a | system-1")
    other = System.objects.create(study=study, name="s2")
    versions.add_answer(version, other, "A horn.", provenance={})
    assert Task.objects.filter(study=study).count() == 3
    true_counters(study)


def test_a_panel_waits_until_every_answer_is_there(study):
    study = factories.StudyFactory(preset="cmi-pref")
    pair = factories.comparison_task(study, "pair")
    item = locks.lock_item(pair.item_version.item_id)
    version = versions.make_version(item, {"prompt": "A waltz"}, actor=None, carry=False)
    versions.add_answer(version, system("system-2"), "B", provenance={})
    assert not Task.objects.filter(replaces=pair).exists()
    versions.carry_over(version, [system("system-1"), system("system-2")])
    shown = [slot.candidate for slot in Task.objects.get(replaces=pair).slots.all()]
    texts = [(candidate.system.name, candidate.text) for candidate in shown]
    assert texts == [("system-1", ""), ("system-2", "B")]
    assert shown[0].carried_from == pair.slots.get(slot=0).candidate
    true_counters(study)


def test_what_waits_outlasts_another_correction(study, task):
    give(factories.member(study), task)
    make(task, carry=False)
    task.refresh_from_db()
    version = make(task, question="What sings?")
    assert versions.lacks_answers(version)
    versions.add_answer(version, system(), "A choir.", provenance={})
    assert Task.objects.get(replaces=task).external_id == "a~v3"


def test_answers_to_an_earlier_version_or_a_withdrawn_item_are_refused(study, task):
    before = task.item_version
    version = make(task)
    with pytest.raises(Conflict) as conflict:
        versions.add_answer(before, system(), "A gong.", provenance={})
    assert conflict.value.code == "version_changed"
    withdraw(version.item)
    with pytest.raises(Conflict) as conflict:
        versions.add_answer(version, system(), "A gong.", provenance={})
    assert conflict.value.code == "item_withdrawn"


def test_a_name_that_is_taken_is_numbered_and_no_name_grows_too_long(study):
    long = factories.rating_task(study, "x" * 300)
    factories.rating_task(study, "b~v2")
    other = factories.rating_task(study, "b")
    for task in (long, other):
        give(factories.member(study), task, rating(2))
        make(task)
    replacements = Task.objects.filter(replaces__isnull=False)
    names = {task.replaces.external_id: task.external_id for task in replacements}
    assert names["b"] == "b~v2.2"
    assert names["x" * 300].endswith("x~v2")
    assert len(names["x" * 300]) <= 300


def test_who_is_barred_is_looked_up_by_index(study, task):
    """Everybody's bars may be many. How the rater's own are brought in is PostgreSQL's to weigh."""
    rater = factories.rater(study)
    more = Task.objects.bulk_create(
        Task(study=study, item_version=task.item_version, external_id=f"t{n}", overlap=1, shuffle_key=n / 200)
        for n in range(200)
    )
    BarredRater.objects.bulk_create(BarredRater(task=one, rater=rater, reason="reviews") for one in more[:20])
    values = {"study": study.pk, "rater": rater.pk, "after": -1.0, "until": 2.0}
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE annotation_task, annotation_barredrater")
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("EXPLAIN " + task_selection.NEXT_IN_QUEUE, values)
        plan = "\n".join(row[0] for row in cursor.fetchall())
    assert "barred_rater_once" in plan
