"""What stands both in SQL and in Python says the same of a thousand generated cases."""

from __future__ import annotations

import random

import pytest
from django.db import IntegrityError, connection

from annotation.importing import import_jobs, staged_sql, writing
from annotation.importing.records import (
    TEXT_FIELDS,
    ItemRecord,
    TaskRecord,
    content_digest,
    encode_task,
)
from annotation.models import Candidate, Item, ItemVersion, StagedImport, Study, Task, TaskCandidate
from tests import factories
from tests.annotation.importing.importing import bring, write

pytestmark = pytest.mark.django_db
WRITTEN = (Item, ItemVersion, Candidate, Task, TaskCandidate)
# Each foreign key of a table: its column, and what it refers to.
KEYS = """
SELECT a.attname, k.confrelid::regclass::text FROM pg_constraint k
JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = k.conkey[1]
WHERE k.contype = 'f' AND k.conrelid = %s::regclass
"""

ALPHABET = [
    *'abc "\\/{}[]:,%\'', *"äß語🎵\u2028\u200b\x7f\x80\xa0\ufeff", *map(chr, range(1, 32)), "null", "\\u0041",
]  # fmt: skip


def some_text(dice: random.Random) -> str:
    return "".join(dice.choices(ALPHABET, k=dice.randrange(12)))


def test_the_content_of_an_item_has_one_hash():
    dice = random.Random(18)
    hashes = [None, "a" * 64, "0f" * 32]
    cases = [
        (
            {name: some_text(dice) for name in TEXT_FIELDS if dice.random() < 0.7},
            dice.choice(hashes),
            dice.choice(hashes),
        )
        for _ in range(1000)
    ]
    encoded = [encode_task(TaskRecord("1", "t", ItemRecord("i", texts), ())).item for texts, *_ in cases]
    query = f"""
    SELECT {staged_sql.content_sha256(staged_sql.ITEM_TEXTS)}
    FROM unnest(%s::text[], %s::text[], %s::text[]) WITH ORDINALITY AS given (item, reference, audio, at)
    CROSS JOIN LATERAL (SELECT given.item) AS s
    CROSS JOIN LATERAL (SELECT given.reference AS sha256) AS r CROSS JOIN LATERAL (SELECT given.audio AS sha256) AS a
    ORDER BY at
    """
    with connection.cursor() as cursor:
        cursor.execute(query, [encoded, [case[1] for case in cases], [case[2] for case in cases]])
        hashed = [row[0] for row in cursor.fetchall()]
    assert hashed == [
        content_digest(texts, reference_audio=reference, audio=audio) for texts, reference, audio in cases
    ]


def dangling_keys() -> list[tuple[str, str]]:
    """The tables and columns that refer to rows that are not there."""
    found = []
    with connection.cursor() as cursor:
        for table in (model._meta.db_table for model in WRITTEN):
            cursor.execute(KEYS, [table])
            for column, other in cursor.fetchall():
                cursor.execute(
                    f"SELECT count(*) FROM {table} t WHERE {column} IS NOT NULL"
                    f" AND NOT EXISTS (SELECT FROM {other} o WHERE o.id = t.{column})"
                )
                if cursor.fetchone()[0]:
                    found.append((table, column))
    return found


def contents(study: Study) -> list[tuple[object, ...]]:
    slots = TaskCandidate.objects.filter(task__study=study).order_by("task__external_id", "slot")
    return list(
        slots.values_list(
            "task__external_id", "task__overlap", "task__shuffle_key", "candidate__system__name", "candidate__take",
            "candidate__text", "candidate__item_version__content_sha256", "candidate__item_version__item__external_id",
        )
    )  # fmt: skip


@pytest.mark.parametrize("query", [staged_sql.MAY_CHECK_KEYS_ITSELF, "SELECT false"])
def test_every_reference_is_to_a_row_whoever_checks_it(tmp_path, monkeypatch, query):
    """A server may not let an import check them itself; pages add to items that were there, and share candidates."""
    monkeypatch.setattr(staged_sql, "MAY_CHECK_KEYS_ITSELF", query)
    monkeypatch.setattr(writing, "WRITE_PAGE", 2)
    study = factories.StudyFactory(seed=7)
    first = [{"item_id": f"i{n}", "answer": "Yes", "system": "s1"} for n in range(3)]
    bring(study, write(tmp_path / "1.csv", *first))
    more = [{"item_id": f"i{n}", "answer": answer} for n in range(4) for answer in ("Yes", "No", "Perhaps")]
    bring(study, write(tmp_path / "2.csv", *more, {"item_id": "i0", "system": "s2"}))
    assert dangling_keys() == []
    taken = [(row[0].split(":")[0], row[4], row[5]) for row in contents(study)]
    assert sorted(taken) == sorted(
        [
            (f"i{n} | s1", take, text)
            for n in range(4)
            for take, text in ((1, "Yes"), (2, "No"), (3, "Perhaps"))
        ]
        + [("i0 | s2", 1, "Yes")]
    )


def test_a_row_that_is_referred_to_and_gone_ends_the_writing(study_with_job):
    writer = writing.StudyWriter(*study_with_job, overlap=1, archive=False)
    writer.lock_keys({"annotation_study": "SELECT %(study)s::bigint"})
    with pytest.raises(IntegrityError, match="annotation_clip"):
        writer.lock_keys({"annotation_clip": "SELECT 0::bigint"})


@pytest.fixture
def study_with_job() -> tuple[Study, StagedImport]:
    study = factories.StudyFactory()
    job = import_jobs.Job.objects.create(kind="import", study=study)
    return study, StagedImport(job=job.pk)
