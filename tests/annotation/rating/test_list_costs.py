"""What lists cost: as many queries for many rows as for few, and no look at what other studies hold."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from analytics.overview import scorers
from annotation.models import Correction, Item, ItemVersion, Judgment
from annotation.rating import exclusions
from tests import factories
from tests.annotation.importing.reviewing import vote
from tests.annotation.world import make_world

pytestmark = pytest.mark.django_db


def plan_of(sql: str) -> str:
    """With an index wherever one will do: a test's tables are so small that PostgreSQL would read them whole."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"EXPLAIN {sql}")
        return "\n".join(row[0] for row in cursor.fetchall())


def statements(ask) -> list[str]:
    with CaptureQueriesContext(connection) as queries:
        ask()
    return [query["sql"] for query in queries]


@pytest.mark.parametrize("what", ["items", "tasks", "judgments", "exclusions", "corrections", "audit"])
def test_a_list_asks_as_often_for_many_rows_as_for_one(api, world, what):
    author = world.researcher
    for number in range(3):
        task = factories.rating_task(world.study, f"more-{number}", question="What is heard?")
        vote(task, 2, origin=Judgment.Origin.IMPORTED)
        version = task.item_version
        Correction.objects.create(
            study=world.study, version_before=version, version_after=version, field="question", reason="x",
            author=author,
        )  # fmt: skip
        factories.Task.objects.filter(pk=task.pk).update(n_judgments=1)
    everything = Judgment.objects.filter(study=world.study)
    exclusions.exclude_or_restore(everything, study=world.study, action="exclude", reason="x", actor=author)
    client = api(author)
    one = statements(lambda: client.get(f"studies/here/{what}/?limit=1"))
    many = client.get(f"studies/here/{what}/").json()["results"]
    if what != "audit":
        assert len(many) >= 3
    assert len(statements(lambda: client.get(f"studies/here/{what}/"))) == len(one)


@pytest.mark.parametrize(
    ("what", "index"), [("exclusions", "exclusion_study_keyset"), ("corrections", "correction_study_keyset")]
)
def test_marks_are_found_by_their_study(api, world, what, index):
    client = api(world.researcher)
    table = f'FROM "annotation_{what[:-1]}"'
    (asked,) = [sql for sql in statements(lambda: client.get(f"studies/here/{what}/")) if table in sql]
    assert index in plan_of(asked)


def test_marks_of_another_study_are_not_listed(api, world):
    there = make_world("there")
    marked = Judgment.objects.filter(study=there.study)
    exclusions.exclude_or_restore(marked, study=there.study, action="exclude", reason="x", actor=there.admin)
    version = ItemVersion.objects.filter(item__study=there.study).first()
    Correction.objects.create(
        study=there.study, version_before=version, version_after=version, field="prompt", reason="x",
        author=there.admin,
    )  # fmt: skip
    for what in ("exclusions", "corrections"):
        assert api(world.researcher).get(f"studies/here/{what}/").json()["results"] == []
        assert len(api(there.researcher).get(f"studies/there/{what}/").json()["results"]) == 1


def test_items_without_strata_are_not_looked_through_for_them():
    study = factories.StudyFactory()
    Item.objects.bulk_create(Item(study=study, external_id=f"bare-{n}") for n in range(300))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE annotation_item")
    asked = next(sql for sql in statements(lambda: scorers.study_parts(study)) if "strata" in sql)
    assert "item_with_strata" in plan_of(asked)
