"""What stands both in SQL and in Python says the same of a thousand generated cases."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from django.db import IntegrityError, connection
from django.db.models import F, Prefetch

from annotation.importing import import_jobs, merging, staged_sql, staging, writing
from annotation.importing.records import (
    COMPLETE,
    PARTIAL,
    TEXT_FIELDS,
    AnswerRecord,
    ItemRecord,
    JudgmentRecord,
    TaskRecord,
    content_digest,
    encode_task,
)
from annotation.models import (
    Answer,
    Candidate,
    Item,
    ItemVersion,
    Judgment,
    StagedImport,
    Study,
    Task,
    TaskCandidate,
)
from annotation.rating.rules.counterbalancing import order_balance_step
from annotation.studies.protocols import load_protocol
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


def some_answer(dice: random.Random, question: str, slot: int | None) -> AnswerRecord:
    number = dice.choice([None, 0.0, 4.0, -2.5, 1e-7, 1e21, 0.1 + 0.2, 3])
    selected = dice.choice([None, None, (), (1, 3, 2)])
    event = {"start": 1.50, "end": None, "label": "", "note": some_text(dice)}
    events = dice.choice([None, None, (), (event, {**event, "end": 1e-9})])
    confidence = dice.choice([None, 0.25])
    choice = dice.choice([None, 1, 4])
    return AnswerRecord(question, choice, number, confidence, some_text(dice), slot, selected, events)


def some_judgment(dice: random.Random, questions: Sequence[str]) -> JudgmentRecord:
    """Whole or a part, named or not, of a rater or of nobody in particular: as readers yield them."""
    rater = dice.choice(["", f'ç"e\\m {dice.randrange(40)}'])
    asked = dice.sample([(key, slot) for key in questions for slot in (None, 0, 1)], dice.randrange(4))
    return JudgmentRecord(
        dice.choice([PARTIAL, COMPLETE, COMPLETE, f"vote {dice.randrange(40)}"]),
        "7",
        rater,
        tuple(some_answer(dice, *one) for one in asked),
        tuple(dice.sample(["noise", 'é,"', "{}", "NULL"], dice.randrange(3))),
        some_text(dice),
        dice.choice([None, (), (0,), (0, 1), (1, 0), (2, 0, 1)]),
    )


Rows = dict[tuple[int, uuid.UUID], tuple[object, ...]]


def decoded(tasks: Sequence[Task], records: Sequence[TaskRecord]) -> Rows:
    """What is to be written of each judgment, by its task and id."""
    study = tasks[0].study
    pseudonyms = dict(study.raters.values_list("external_id", "pseudonym"))
    ids = load_protocol(study.protocol_version_id).question_ids
    slots = TaskCandidate.objects.values_list("task_id", "slot", "candidate_id")
    candidates = {(task, slot): candidate for task, slot, candidate in slots}
    rows: Rows = {}
    for task, record in zip(tasks, records, strict=True):
        for one in record.judgments:
            answers = [
                (ids[a.question], candidates.get((task.pk, a.slot)), a.choice, a.value, a.confidence, a.text,
                 None if a.selected is None else list(a.selected), None if a.events is None else list(a.events))
                for a in one.answers
            ]  # fmt: skip
            name = pseudonyms[one.rater] if one.rater else one.key
            shown = None if one.presentation is None else list(one.presentation)
            content = writing._content_sha256(*writing._content(one))
            rows[task.pk, writing._client_id(record.external_id, name)] = (
                content, one.rater, shown, list(one.codes), one.comment, answers
            )  # fmt: skip
    return rows


def written() -> Rows:
    answers = Prefetch("answers", Answer.objects.order_by("pk"))
    return {
        (one.task_id, one.client_id): (
            bytes(one.payload_sha256), one.rater.external_id if one.rater else "", one.presentation, one.codes,
            one.comment,
            [(a.question_id, a.candidate_id, a.choice, a.value, a.confidence, a.text, a.selected, a.events)
             for a in one.answers.all()],
        )
        for one in Judgment.objects.select_related("rater").prefetch_related(answers)
    }  # fmt: skip


def test_a_thousand_judgments_are_written_as_they_are_decoded_and_counted(study_with_job):
    study, staged = study_with_job
    dice, questions = random.Random(18), list(load_protocol(study.protocol_version_id).question_ids)
    tasks = [
        factories.panel_task(study, f"t{n}", ["Yes", "No"], overlap=dice.randrange(1, 40)) for n in range(50)
    ]
    Task.objects.filter(pk=tasks[0].pk).update(kind=Task.Kind.GOLD)
    for full in tasks[1:4]:
        full.n_judgments = full.overlap
        full.save(update_fields=["n_judgments"])
    records = [
        TaskRecord("1", task.external_id, ItemRecord("i"), (), [some_judgment(dice, questions) for _ in range(30)])
        for task in tasks
    ]  # fmt: skip
    staging.stage_tasks(staged, [encode_task(record) for record in records], first=0)
    for record in records:
        merging.merge_judgments(record)
    # As the check of a page does.
    shorter = {at: one.judgments for at, one in enumerate(records) if len(one.judgments) < 30}
    staging.replace_judgments(staged, shorter)
    writer = writing.StudyWriter(study, staged, overlap=1, archive=False)
    writer.write_judgments(-1, len(records))

    expected = decoded(tasks, records)
    assert len(expected) > 900
    assert written() == expected
    for before, record in zip(tasks[1:], records[1:], strict=True):
        task = Task.objects.get(pk=before.pk)
        steps = [order_balance_step(one.presentation or ()) for one in record.judgments]
        n_judgments = before.n_judgments + len(steps)
        assert (task.n_judgments, task.order_balance) == (n_judgments, sum(steps))
        assert task.overlap == max(before.overlap, n_judgments)
    assert Task.objects.get(pk=tasks[0].pk).n_judgments == 0
    n_full = Task.objects.filter(kind=Task.Kind.REGULAR, n_judgments__gte=F("overlap")).count()
    assert writer.tally.n_filled == n_full - 3 > 10


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


def steps_of(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from steps_of(part)


def test_names_are_looked_up_by_their_index_in_a_study_that_the_planner_has_not_heard_of(tmp_path):
    said = {"rater_id": "ann", "question": "correctness", "value": 4}
    source = write(tmp_path / "1.csv", *({"item_id": f"i{n}", "answer": "Yes", **said} for n in range(300)))
    bring(factories.StudyFactory(), source)  # which tells the planner that all there is is of this study
    looked_up = []

    def explain(execute, statement, params, many, context):
        if (
            isinstance(statement, str)
            and "external_id = " in statement
            and not statement.startswith("EXPLAIN")
        ):
            with connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN (FORMAT JSON) {statement}", params)
                looked_up.append(list(steps_of(cursor.fetchone()[0][0]["Plan"])))
        return execute(statement, params, many, context)

    study = factories.StudyFactory()
    with connection.execute_wrapper(explain):
        bring(study, source)
        bring(study, source)
    assert len(looked_up) > 8
    for step in (step for steps in looked_up for step in steps):
        # A row is found by its name, not by reading every row of a study to see which has it.
        assert "external_id" not in step.get("Filter", "") + step.get("Join Filter", ""), step


@pytest.fixture
def study_with_job() -> tuple[Study, StagedImport]:
    study = factories.StudyFactory()
    job = import_jobs.Job.objects.create(kind="import", study=study)
    return study, StagedImport(job=job.pk)
