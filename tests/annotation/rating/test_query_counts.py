"""How often the API asks the database. The two hot calls are pinned; lists do not ask more for more rows."""

from __future__ import annotations

import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import Membership, Rater
from annotation.rating import judgments, leases
from annotation.rating.rules.ordering import START_OF_LIST
from tests import factories
from tests.annotation.importing.answers import comparison, rating

pytestmark = pytest.mark.django_db


@pytest.fixture
def work(api):
    """A study of the given preset, its rater at work, and nothing left to warm up."""

    def make(preset: str):
        study = factories.StudyFactory(slug="s", preset=preset)
        for n in range(4):
            (factories.comparison_task if preset == "cmi-pref" else factories.rating_task)(study, f"task-{n}")
        me = api(factories.member(study))
        answer(me, me.post("studies/s/next/").json(), preset)
        Rater.objects.update(cursor=START_OF_LIST)
        return me

    return make


def answer(me, body, preset: str):
    made = comparison() if preset == "cmi-pref" else rating(4)
    content = {"client_id": str(uuid.uuid4()), "answers": list(made.answers)}
    return me.post(f"assignments/{body['assignment']['id']}/judgment/", content)


@pytest.mark.parametrize(
    ("preset", "next_task", "submit"),
    [("orca", 7, 3), ("cmi-pref", 8, 4)],  # two of the first are the transaction; clips are one more in both
)
def test_the_hot_calls_ask_this_often(work, django_assert_num_queries, preset, next_task, submit):
    me = work(preset)
    with django_assert_num_queries(next_task):
        body = me.post("studies/s/next/").json()
    with django_assert_num_queries(submit):
        assert answer(me, body, preset).status_code == 201


def test_a_rater_at_the_end_of_the_queue_begins_again_with_one_query_more(work, django_assert_num_queries):
    me = work("orca")
    Rater.objects.update(cursor=1.0)
    with django_assert_num_queries(8):
        assert me.post("studies/s/next/").json()["assignment"] is not None


def test_a_task_fetched_again_asks_less(work, django_assert_num_queries):
    me = work("orca")
    me.post("studies/s/next/")
    with django_assert_num_queries(6):
        assert me.post("studies/s/next/").json()["assignment"] is not None


def queries(me, path: str) -> int:
    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert me.get(path).status_code == 200
    return len(captured)


def grow(study, n: int) -> None:
    for _ in range(n):
        user = factories.member(study)
        factories.comparison_task(study, f"task-{uuid.uuid4()}")
        _, lease = leases.lease_next(user, study.slug)
        judgments.submit(user, lease.id, comparison())


@pytest.mark.parametrize("path", ["raters", "members", "invitations", "items", "judgments", "audit"])
def test_a_list_asks_as_often_for_many_rows_as_for_few(api, path):
    study = factories.StudyFactory(slug="s", preset="cmi-pref")
    me = api(factories.member(study, "researcher"))
    grow(study, 2)
    few = queries(me, f"studies/s/{path}/")
    grow(study, 4)
    assert queries(me, f"studies/s/{path}/") == few <= 7


@pytest.mark.parametrize("path", ["me/", "studies/"])
def test_the_list_of_studies_asks_as_often_for_many_as_for_few(api, path):
    user = factories.UserFactory()
    me = api(user)
    counts = []
    for _ in range(2):
        for _ in range(3):
            Membership.objects.create(user=user, study=factories.StudyFactory(), role="annotator")
        counts.append(queries(me, path))
    assert counts[0] == counts[1] <= 3
