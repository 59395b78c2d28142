"""Merging of task fragments and duplicate judgments: deterministic, whatever pieces the source was read in.

The `key` of a fragment's judgment says how it merges. PARTIAL is one row of a judgment: rows of one rater are one
judgment; without a rater, a row that answers a question again begins the judgment of the next unnamed rater. COMPLETE
is a whole judgment, identified by its rater or by its position among the unnamed. Any other key is a judgment's name.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from annotation.importing.records import COMPLETE, PARTIAL, JudgmentRecord, RowProblem, TaskRecord


def find_contradiction(first: TaskRecord, other: TaskRecord) -> RowProblem | None:
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


def merge_judgments(task: TaskRecord) -> list[RowProblem]:
    """Make one judgment of what one rater said, and name each; what was said twice is left out and told.

    A task that was settled stays as it is.
    """
    merged = _MergedJudgments(task.external_id)
    problems = [problem for judgment in task.judgments if (problem := merged.add(judgment))]
    task.judgments = merged.judgments
    return problems


@dataclass
class _MergedJudgments:
    """A task's judgments, in the order in which they were begun, and where each is found again: there may be many.

    of_rater: the place of each named rater's; of_name: of those without a rater, by what they are called; unnamed: of
    the last of these.
    """

    task_name: str
    judgments: list[JudgmentRecord] = field(default_factory=list)
    of_rater: dict[str, int] = field(default_factory=dict)
    of_name: dict[str, int] = field(default_factory=dict)
    unnamed: int | None = None
    n_unnamed: int = 0

    def add(self, judgment: JudgmentRecord) -> RowProblem | None:
        if judgment.key == PARTIAL:
            return self._add_part(judgment)
        index = self._same_as(judgment)
        if index is None:
            self._begin(judgment)
            return None
        earlier = self.judgments[index]
        if judgment.rater:
            problem = f"{judgment.rater} answered this on row {earlier.row} before"
            return RowProblem(judgment.row, judgment.column, problem, "Keep one answer per rater and task.")
        problem = f"{self.task_name!r} is on row {earlier.row} as well"
        return RowProblem(judgment.row, "id", problem, "Keep one of the two, or give one another id.")

    def _same_as(self, judgment: JudgmentRecord) -> int | None:
        if judgment.rater:
            return self.of_rater.get(judgment.rater)
        return None if judgment.key == COMPLETE else self.of_name.get(judgment.key)

    def _begin(self, judgment: JudgmentRecord) -> None:
        named, index = replace(judgment, key=self._name(judgment)), len(self.judgments)
        self.judgments.append(named)
        if named.rater:
            self.of_rater[named.rater] = index
        else:
            self.of_name.setdefault(named.key, index)
            self.unnamed = index
            self.n_unnamed += 1

    def _name(self, judgment: JudgmentRecord) -> str:
        """Somebody unnamed is known by their place among the unnamed: rows about other tasks move nothing."""
        if judgment.key not in (PARTIAL, COMPLETE):
            return judgment.key
        return judgment.rater or f"{COMPLETE}{self.n_unnamed}"

    def _add_part(self, part: JudgmentRecord) -> RowProblem | None:
        """Add a row's part to the judgment it belongs to, or begin a new one."""
        index = self._belongs_to(part)
        if index is None:
            self._begin(part)
            return None
        earlier = self.judgments[index]
        if _answered_questions(earlier) & _answered_questions(part):
            problem = f"{part.rater} answered this on row {earlier.row} before"
            return RowProblem(part.row, part.column, problem, "Keep one answer per rater, task and question.")
        self.judgments[index] = replace(
            earlier,
            answers=earlier.answers + part.answers,
            codes=tuple(sorted({*earlier.codes, *part.codes})),
            comment="\n".join(dict.fromkeys(filter(None, (earlier.comment, part.comment)))),
        )
        return None

    def _belongs_to(self, part: JudgmentRecord) -> int | None:
        """The place of the judgment that this row goes on with: the named rater's, or the unnamed one just begun."""
        if part.rater:
            return self.of_rater.get(part.rater)
        if self.unnamed is None:
            return None
        last = self.judgments[self.unnamed]
        goes_on = part.answers and last.answers and not _answered_questions(last) & _answered_questions(part)
        return self.unnamed if goes_on else None


def _answered_questions(judgment: JudgmentRecord) -> set[tuple[str, int | None]]:
    return {(answer.question, answer.slot) for answer in judgment.answers}
