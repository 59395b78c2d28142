"""Writing imported judgments, and counting them on their tasks and raters."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from django.db import connection
from django.db.models import F

from annotation.importers.records import JudgmentRecord, TaskRecord
from annotation.models import Answer, Judgment, Rater, Study, Task, TaskCandidate
from annotation.rules.exclusions import Places
from annotation.rules.presentation import balance_step
from annotation.services import copying, leases
from annotation.services.import_batches import in_batches
from annotation.services.protocols import LoadedProtocol, loaded

# The columns that `_answers` fills.
ANSWER = (
    "judgment_id", "task_id", "question_id", "candidate_id", "choice", "value", "confidence", "text", "counted",
)  # fmt: skip
# A task that the judgments fill beyond its overlap gets a larger one: nothing that was said is left out.
_COUNT = """
UPDATE annotation_task t
SET n_judgments = t.n_judgments + m.n, order_balance = t.order_balance + m.step,
    overlap = greatest(t.overlap, t.n_judgments + m.n + t.n_leases)
FROM unnest(%s::bigint[], %s::int[], %s::int[]) AS m (id, n, step)
WHERE t.id = m.id
"""


@dataclass(frozen=True)
class _New:
    """A judgment that is not there yet, and where it goes."""

    client_id: uuid.UUID
    task_id: int
    rater: Rater | None
    said: JudgmentRecord


@dataclass
class Tally:
    """What is counted of new judgments once all are in: raters and studies are locked after every task."""

    by_rater: Counter[int] = field(default_factory=Counter)
    n_unnamed: int = 0
    n_filled: int = 0

    def count(self, study: Study) -> None:
        leases.lock_raters(self.by_rater)
        for rater_id, n in self.by_rater.items():
            Rater.objects.filter(pk=rater_id).update(n_judgments=F("n_judgments") + n)
        Study.objects.filter(pk=study.pk).update(
            n_unnamed_judgments=F("n_unnamed_judgments") + self.n_unnamed,
            n_unnamed_tasks_filled=F("n_unnamed_tasks_filled") + self.n_filled,
        )


def write(
    study: Study,
    records: Sequence[TaskRecord],
    tasks: Mapping[str, int],
    raters: Mapping[str, Rater],
    tally: Tally,
) -> list[Judgment]:
    """Add what is not there yet: the new judgments. Their tasks, given by id, are locked and counted then."""
    protocol = loaded(study.protocol_version_id)
    found = [
        _New(_client_id(record, said, raters), tasks[record.external_id], raters.get(said.rater), said)
        for record in records
        for said in record.judgments
    ]
    if not found:
        return []
    there = {(row.task_id, row.client_id) for row in _imported({new.task_id for new in found})}
    added = [new for new in found if (new.task_id, new.client_id) not in there and not _withdrawn(new.rater)]
    _count(added, tally)
    judgments = [_judgment(study, protocol, new) for new in added]
    copying.insert(judgments)
    candidates = _candidates(added)
    answers = (
        answer
        for judgment, new in zip(judgments, added, strict=True)
        for answer in _answers(judgment, new.said, protocol, candidates)
    )
    copying.insert_values(Answer._meta.db_table, ANSWER, answers)
    return judgments


def _withdrawn(rater: Rater | None) -> bool:
    """Whose wish it was to be taken out is not brought back by a source that still has them."""
    return rater is not None and rater.state == Rater.State.WITHDRAWN


def changed(study: Study, records: Sequence[TaskRecord]) -> Iterator[tuple[TaskRecord, JudgmentRecord]]:
    """Judgments that are there already but said something else."""
    people = {said.rater for record in records for said in record.judgments if said.rater}
    raters = {
        rater.external_id: rater
        for rater in in_batches(Rater.objects.filter(study=study), "external_id", sorted(people))
    }
    found = {
        _client_id(record, said, raters): (record, said)
        for record in records
        for said in record.judgments
        if not said.rater or said.rater in raters
    }
    names = [record.external_id for record in records if record.judgments]
    tasks = {
        task.pk for task in in_batches(Task.objects.filter(study=study).only("pk"), "external_id", names)
    }
    for judgment in _imported(tasks):
        record, said = found.get(judgment.client_id, (None, None))
        if said and record and bytes(judgment.payload_sha256) != _content_sha256(said):
            yield record, said


def _imported(task_ids: Collection[int]) -> Iterator[Judgment]:
    rows = Judgment.objects.filter(origin=Judgment.Origin.IMPORTED)
    return in_batches(rows.only("task_id", "client_id", "payload_sha256"), "task_id", sorted(task_ids))


def _content_sha256(said: JudgmentRecord) -> bytes:
    # Field by field, in the order of AnswerRecord: `astuple` takes ten times as long.
    answers = [
        (answer.question, answer.choice, answer.value, answer.confidence, answer.text, answer.slot)
        for answer in said.answers
    ]
    content = [answers, said.codes, said.comment, said.presentation]
    return hashlib.sha256(json.dumps(content).encode()).digest()


def _client_id(record: TaskRecord, said: JudgmentRecord, raters: Mapping[str, Rater]) -> uuid.UUID:
    """The same name whenever the same judgment is imported. Exports carry it, so it is made from the rater's
    pseudonym: made from the source's name for them, which may be an address, it would let that be guessed."""
    who = raters[said.rater].pseudonym if said.rater else said.key
    return uuid.uuid5(uuid.NAMESPACE_OID, f"{record.external_id}\x1f{who}")


def _judgment(study: Study, protocol: LoadedProtocol, new: _New) -> Judgment:
    return Judgment(
        study=study,
        task_id=new.task_id,
        rater=new.rater,
        protocol_version_id=protocol.version_id,
        client_id=new.client_id,
        payload_sha256=_content_sha256(new.said),
        origin=Judgment.Origin.IMPORTED,
        presentation=None if new.said.presentation is None else list(new.said.presentation),
        codes=list(new.said.codes),
        comment=new.said.comment,
    )


def _candidates(added: Sequence[_New]) -> dict[tuple[int, int], int]:
    """Candidate ids by task and slot, of the tasks in which some answer is about one candidate."""
    tasks = sorted({new.task_id for new in added for answer in new.said.answers if answer.slot is not None})
    slots = in_batches(TaskCandidate.objects.all(), "task_id", tasks)
    return {(row.task_id, row.slot): row.candidate_id for row in slots}


def _answers(
    judgment: Judgment,
    said: JudgmentRecord,
    protocol: LoadedProtocol,
    candidates: Mapping[tuple[int, int], int],
) -> Iterator[tuple[object, ...]]:
    for answer in said.answers:
        yield (
            judgment.pk,
            judgment.task_id,
            protocol.question_ids[answer.question],
            None if answer.slot is None else candidates[judgment.task_id, answer.slot],
            answer.choice,
            answer.value,
            answer.confidence,
            answer.text,
            True,
        )


def _filled(before: Places, n: int) -> int:
    """How many more full tasks there are once `n` judgments are in; the overlap grows past live leases."""
    after = before.n_judgments + n
    overlap = max(before.overlap, after + before.n_leases)
    return int(after >= overlap) - int(before.n_judgments >= before.overlap)


def _count(added: Sequence[_New], tally: Tally) -> None:
    by_task: dict[int, list[_New]] = {}
    for new in added:
        by_task.setdefault(new.task_id, []).append(new)
    places = leases.lock_places(set(by_task))
    with connection.cursor() as cursor:
        steps = [sum(balance_step(new.said.presentation or ()) for new in here) for here in by_task.values()]
        cursor.execute(_COUNT, [list(by_task), [len(here) for here in by_task.values()], steps])
    tally.by_rater.update(new.rater.pk for new in added if new.rater)
    tally.n_unnamed += sum(new.rater is None for new in added)
    tally.n_filled += sum(_filled(places[task_id], len(here)) for task_id, here in by_task.items())
