"""A study's policy of ordering: its settings, its versions, and the priorities it goes by."""

from __future__ import annotations

import pytest

from annotation.errors import InvalidInput
from annotation.models import AuditEvent, OrderingPolicy, Study
from annotation.rating import task_selection
from annotation.rating.rules import ordering as rules
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    study = factories.StudyFactory()
    for name in "abc":
        factories.rating_task(study, name)
    return study


def versions(study: Study) -> list[tuple[int, str]]:
    return list(study.ordering_policies.order_by("number").values_list("number", "made_from"))


def test_switching_it_on_makes_the_first_version_and_is_logged(study):
    changed = task_selection.set_ordering(study, actor=None, among=8)
    assert rules.settings(changed.rules).among == 8
    policy = task_selection.ordering_policy_of(changed)
    assert (policy.number, policy.settings) == (1, changed.rules["ordering"])
    assert AuditEvent.objects.get(action="study.changed").data["ordering"]["among"] == [None, 8]


def test_other_settings_are_another_version_the_same_are_none_and_what_is_not_named_stays(study):
    task_selection.set_ordering(study, actor=None)
    task_selection.set_ordering(study, actor=None)
    assert versions(study) == [(1, "")]
    task_selection.set_ordering(study, actor=None, uniform=0.5)
    assert versions(study) == [(1, ""), (2, "")]
    assert AuditEvent.objects.filter(action="study.changed").count() == 2
    changed = task_selection.set_ordering(study, actor=None, among=4)
    assert (rules.settings(changed.rules).uniform, rules.settings(changed.rules).among) == (0.5, 4)


def test_switched_off_tasks_come_in_a_plain_order_and_versions_stay(study):
    task_selection.set_ordering(study, actor=None)
    changed = task_selection.set_ordering(study, actor=None, on=False)
    assert rules.settings(changed.rules) is None
    assert task_selection.ordering_policy_of(changed) is None
    assert versions(study) == [(1, "")]
    task_selection.set_ordering(study, actor=None)
    assert versions(study) == [(1, "")]


@pytest.mark.parametrize(
    ("order", "changes", "fields"),
    [
        (Study.Order.SHUFFLED, {"uniform": 0.1, "among": 2}, ["uniform", "among"]),
        (Study.Order.LISTED, {}, ["on"]),
    ],
)
def test_a_fault_or_a_study_worked_through_as_listed_changes_nothing(study, order, changes, fields):
    Study.objects.update(order=order)
    with pytest.raises(InvalidInput) as refused:
        task_selection.set_ordering(study, actor=None, **changes)
    assert [problem.field for problem in refused.value.problems] == fields
    assert not OrderingPolicy.objects.exists()
    assert "ordering" not in Study.objects.get().rules


def test_priorities_are_stored_where_they_changed(study, monkeypatch):
    monkeypatch.setattr(task_selection, "_CHUNK", 2)
    task_selection.set_ordering(study, actor=None)
    wanted = {task.pk: n / 4 for n, task in enumerate(study.tasks.order_by("pk"))}
    assert task_selection.set_priorities(study, wanted, made_from="orca@1") == 2  # the first has 0 already
    assert task_selection.set_priorities(study, wanted, made_from="orca@1") == 0
    assert dict(study.tasks.values_list("pk", "priority")) == wanted
    assert versions(study) == [(1, ""), (2, "orca@1")]


def test_a_version_keeps_its_model_when_settings_change(study):
    task_selection.set_ordering(study, actor=None)
    task_selection.set_priorities(study, {}, made_from="orca@1")
    task_selection.set_ordering(study, actor=None, among=4)
    assert versions(study)[-1] == (3, "orca@1")


def test_another_studys_tasks_are_left_alone(study):
    other = factories.rating_task(factories.StudyFactory(), "a")
    task_selection.set_ordering(study, actor=None)
    assert task_selection.set_priorities(study, {other.pk: 0.5}) == 0
