"""Joining what a source says of one task in several places: deterministic, whatever pieces it was read in.

A fragment's judgments say by their `key` how they join. PART is one row of what somebody said: rows of one rater are
one judgment, and without a rater a row that answers a question anew begins the judgment of the next unnamed one. WHOLE
is all that somebody said, known by its rater or by its place among the unnamed. Any other key is a judgment's name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from annotation.importers.records import PART, WHOLE, JudgmentRecord, Note, RowProblem, TaskRecord


def joined(entries: Iterable[TaskRecord | RowProblem | Note]) -> Iterator[TaskRecord | RowProblem | Note]:
    """Whole tasks of fragments, in memory: for sources that are small."""
    tasks: dict[str, TaskRecord] = {}
    for entry in entries:
        if not isinstance(entry, TaskRecord):
            yield entry
        elif (first := tasks.setdefault(entry.external_id, entry)) is entry:
            continue
        elif problem := contradiction(first, entry):
            yield problem
        else:
            first.judgments += entry.judgments
    for task in tasks.values():
        yield from settle(task)
    yield from tasks.values()


def contradiction(first: TaskRecord, other: TaskRecord) -> RowProblem | None:
    """What a later fragment says otherwise of its item or its candidates."""
    if (differing := _differing(first, other)) == []:
        return None
    problem = f"differs from row {first.row}, which is about the same"
    return RowProblem(
        other.row, ", ".join(differing), problem, "Give it another id, or make it the same on every row."
    )


def _differing(first: TaskRecord, other: TaskRecord) -> list[str]:
    if first.item == other.item and first.candidates == other.candidates:
        return []
    one, two = first.item, other.item
    names = sorted(
        name for name in {**one.texts, **two.texts} if one.texts.get(name, "") != two.texts.get(name, "")
    )
    names += ["audio"] if one.audio != two.audio else []
    names += ["reference_audio"] if one.reference_audio != two.reference_audio else []
    names += ["item"] if one.external_id != two.external_id else []
    return names or (["candidates"] if first.candidates != other.candidates else [])


def settle(task: TaskRecord) -> list[RowProblem]:
    """Make one judgment of what one rater said, and name each; what was said twice is left out and told.

    A task that was settled stays as it is.
    """
    said, task.judgments = task.judgments, []
    return [problem for judgment in said if (problem := _add(task, judgment))]


def _add(task: TaskRecord, judgment: JudgmentRecord) -> RowProblem | None:
    if judgment.key == PART:
        return _add_part(task, judgment)
    earlier = next((one for one in task.judgments if _is_same(one, judgment)), None)
    if earlier is None:
        task.judgments.append(replace(judgment, key=_name(task, judgment)))
        return None
    if judgment.rater:
        problem = f"{judgment.rater} answered this on row {earlier.row} before"
        return RowProblem(judgment.row, judgment.column, problem, "Keep one answer per rater and task.")
    problem = f"{task.external_id!r} is on row {earlier.row} as well"
    return RowProblem(judgment.row, "id", problem, "Keep one of the two, or give one another id.")


def _is_same(one: JudgmentRecord, other: JudgmentRecord) -> bool:
    if one.rater or other.rater:
        return one.rater == other.rater
    return other.key != WHOLE and one.key == other.key


def _add_part(task: TaskRecord, part: JudgmentRecord) -> RowProblem | None:
    """Add a row's part to the judgment it belongs to, or begin a new one."""
    index = _belongs_to(task, part)
    if index is None:
        task.judgments.append(replace(part, key=_name(task, part)))
        return None
    earlier = task.judgments[index]
    if _asked(earlier) & _asked(part):
        problem = f"{part.rater} answered this on row {earlier.row} before"
        return RowProblem(part.row, part.column, problem, "Keep one answer per rater, task and question.")
    task.judgments[index] = replace(
        earlier,
        answers=earlier.answers + part.answers,
        codes=tuple(sorted({*earlier.codes, *part.codes})),
        comment="\n".join(dict.fromkeys(filter(None, (earlier.comment, part.comment)))),
    )
    return None


def _belongs_to(task: TaskRecord, part: JudgmentRecord) -> int | None:
    """The place of the judgment that this row goes on with: the named rater's, or the unnamed one just begun."""
    same = [index for index, earlier in enumerate(task.judgments) if earlier.rater == part.rater]
    if part.rater or not same:
        return same[0] if same else None
    last = task.judgments[same[-1]]
    goes_on = part.answers and last.answers and not _asked(last) & _asked(part)
    return same[-1] if goes_on else None


def _name(task: TaskRecord, judgment: JudgmentRecord) -> str:
    """Somebody unnamed is known by their place among the unnamed: rows about other tasks move nothing."""
    if judgment.key not in (PART, WHOLE):
        return judgment.key
    return judgment.rater or f"{WHOLE}{sum(1 for earlier in task.judgments if not earlier.rater)}"


def _asked(judgment: JudgmentRecord) -> set[tuple[str, int | None]]:
    return {(answer.question, answer.slot) for answer in judgment.answers}
