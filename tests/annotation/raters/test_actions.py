"""Actions on raters: what each changes, that it can be reverted, and what its rater is told."""

from __future__ import annotations

import pytest

from annotation.errors import Conflict, InvalidInput
from annotation.models import AuditEvent, Judgment, Rater, RaterAction, RaterNotice, Task
from annotation.raters import actions, withdrawal
from annotation.studies import members
from tests.analytics.votes import exclude, vote
from tests.factories import StudyFactory, UserFactory, rater, rating_task

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return StudyFactory(overlap=2)


@pytest.fixture
def bad(study):
    """With two judgments, each of a task that is full."""
    one, other = rater(study), rater(study)
    for name in ("bell", "dog"):
        task = rating_task(study, name)
        for who in (one, other):
            vote(task, 3.0, rater=who)
    return one


def act(rater, kind, **values):
    return actions.act(rater, kind, **{"actor": None, "reason": "Fails hidden checks", **values})


def n_open(study) -> int:
    return Task.objects.filter(study=study, wants_more=True).count()


def state(rater) -> str:
    return Rater.objects.get(pk=rater.pk).state


@pytest.mark.parametrize(
    ("kind", "becomes", "left"),
    [
        ("warn", "active", 2),
        ("pause", "paused", 2),
        ("exclude", "excluded", 2),
        ("exclude_all", "excluded", 0),
    ],
)
def test_an_action_does_what_it_says_and_goes_back(study, bad, kind, becomes, left):
    action = act(bad, kind)

    assert (state(bad), Judgment.objects.filter(rater=bad, excluded=False).count()) == (becomes, left)
    assert n_open(study) == 2 - left
    assert [one.kind for one in actions.open_notices(bad)] == [kind.removesuffix("_all")]

    actions.revert(action, actor=None)
    actions.revert(action, actor=None)

    assert (state(bad), Judgment.objects.filter(rater=bad, excluded=False).count()) == ("active", 2)
    assert n_open(study) == 0
    assert [one.kind for one in actions.open_notices(bad)] == (
        [] if kind in ("warn", "training") else ["reinstated"]
    )
    logged = AuditEvent.objects.filter(action__startswith="rater.action").order_by("pk")
    assert [(one.action, one.subject) for one in logged] == [
        ("rater.action_taken", bad.pseudonym), ("rater.action_reverted", bad.pseudonym),
    ]  # fmt: skip


def test_whoever_is_reinstated_reads_no_more_of_the_pause(study, bad):
    act(bad, "pause")
    members.set_rater_state(Rater.objects.get(pk=bad.pk), "active", actor=UserFactory(), reason="explained")

    assert [one.kind for one in actions.open_notices(bad)] == ["reinstated"]


def test_excluded_work_is_not_collected_again_where_the_study_does_not_want_it(study, bad):
    action = act(bad, "exclude_all", recollect=False)
    assert n_open(study) == 0

    actions.revert(action, actor=None)
    assert list(Task.objects.values_list("n_judgments", "overlap")) == [(2, 2)] * 2


def test_what_is_submitted_after_an_exclusion_is_excluded_and_a_persons_mark_stands(study, bad):
    before = Judgment.objects.filter(rater=bad).first()
    action = act(bad, "exclude")
    late = vote(rating_task(study, "late"), 3.0, rater=bad)
    Rater.objects.filter(pk=bad.pk).update(last_judgment_at=late.submitted_at)

    assert actions.exclude_later_judgments(study, recollect=True) == 1
    assert actions.exclude_later_judgments(study, recollect=True) == 0
    late.refresh_from_db()
    assert late.excluded

    exclude(before)
    actions.revert(action, actor=None)
    assert list(Judgment.objects.filter(rater=bad, excluded=True)) == [before]


def test_actions_are_taken_back_in_any_order(study, bad):
    first, second = act(bad, "pause"), act(bad, "exclude")

    actions.revert(first, actor=None)
    assert state(bad) == "excluded"
    actions.revert(second, actor=None)
    assert state(bad) == "active"


def test_a_rule_acts_once_even_where_somebody_took_it_back(study, bad):
    action = act(bad, "pause", rule="checks")
    actions.revert(action, actor=UserFactory())

    assert act(bad, "pause", rule="checks") is None
    assert act(bad, "pause", rule="other") is not None
    assert act(bad, "pause", rule="third") is None  # they are paused
    assert RaterAction.objects.count() == 2


def test_nothing_is_done_about_who_has_withdrawn(study, bad):
    withdrawal.withdraw(bad, mode="removed", actor=None)
    with pytest.raises(Conflict, match="withdrawn"):
        act(bad, "warn")


@pytest.mark.parametrize(
    "values", [{"kind": "scold"}, {"reason": " "}, {"message": "x" * 301}], ids=["kind", "reason", "message"]
)
def test_nonsense_is_refused_and_changes_nothing(study, bad, values):
    with pytest.raises(InvalidInput):
        act(bad, **{"kind": "warn", **values})
    assert not RaterNotice.objects.exists()
