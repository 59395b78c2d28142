"""What an item's page shows, in a fixed number of queries however much was judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from django.db.models import Q
from django.urls import reverse

from analytics.judgments.evidence import ReadableReason, readable_reasons
from analytics.judgments.readable import Distribution, ReadableJudgment, distributions, readable_judgments
from analytics.judgments.skips import ReadableSkip, readable_skips, skips
from analytics.review.case_votes import TaskVotes, votes_on_tasks
from analytics.review.item_history import ItemHistory, item_history
from annotation.access import ReviewedItem
from annotation.models import (
    Candidate,
    CaseReason,
    Correction,
    Item,
    ItemVersion,
    Judgment,
    ReviewCase,
    Task,
)
from annotation.protocols import Protocol
from annotation.review.rules import CORRECTABLE_FIELDS
from annotation.studies.protocols import load_protocol
from labeling_ui.models.catalogue_texts import scorer_title
from scoring.models import Score

# One page shows this much; the tables of the study's data have the rest.
TASKS_SHOWN = 20
JUDGMENTS_SHOWN = 300
SKIPS_SHOWN = 50


@dataclass(frozen=True)
class TextChange:
    field: str
    before: str
    after: str


@dataclass(frozen=True)
class VersionEntry:
    """A version and what it changed of the one before; of the first, nothing."""

    version: ItemVersion
    is_current: bool
    changes: tuple[TextChange, ...]
    corrections: tuple[Correction, ...]


@dataclass(frozen=True)
class PairScore:
    scorer: str
    output: str
    first: str
    second: str
    value: float | None


@dataclass(frozen=True)
class TaskSection:
    """A task with its judgments, what those that count came to, and the scores of its pairs."""

    task: Task
    version: int
    candidates: tuple[Candidate, ...]
    judgments: tuple[ReadableJudgment, ...]
    distributions: tuple[Distribution, ...]
    pair_scores: tuple[PairScore, ...]

    @property
    def n_counted(self) -> int:
        return sum(judgment.counts for judgment in self.judgments)


@dataclass(frozen=True)
class ScoreRow:
    """One output of one scorer, by the candidates in their order."""

    scorer: str
    digest: str
    output: str
    values: tuple[float | None, ...]


@dataclass(frozen=True)
class CaseEntry:
    case: ReviewCase
    reasons: tuple[ReadableReason, ...]


@dataclass(frozen=True)
class ItemPage:
    """`candidates`, `tasks`, `scores` and `skips` are of versions that the reader may know (`history.hides_votes`)."""

    item: Item
    texts: tuple[tuple[str, str], ...]
    extra: tuple[tuple[str, Any], ...]
    versions: tuple[VersionEntry, ...]
    candidates: tuple[Candidate, ...]
    tasks: tuple[TaskSection, ...]
    next_after: int | None
    has_more_judgments: bool
    scores: tuple[ScoreRow, ...]
    skips: tuple[ReadableSkip, ...]
    cases: tuple[CaseEntry, ...]
    evidence: Mapping[int, ReadableReason]
    history: ItemHistory
    clips_url: str

    @property
    def plays(self) -> bool:
        version = next((one.version for one in self.versions if one.is_current), None)
        own = version is not None and (version.clip_id or version.reference_clip_id)
        return bool(self.clips_url) and bool(own or any(candidate.clip_id for candidate in self.candidates))


def build_item_page(readable: ReviewedItem, *, after: int) -> ItemPage:
    """`after`: the task after which the list of tasks goes on; 0 for its beginning."""
    item, manages = readable.item, readable.access.manages
    protocol = load_protocol(item.study.protocol_version_id).spec
    history = item_history(item, votes_up_to=readable.votes_up_to)
    known = [one for one in history.versions if readable.knows(one)]
    current = next((one for one in history.versions if one.pk == item.current_version_id), None)
    tasks, next_after = _task_page(known, after)
    votes = votes_on_tasks(tasks, about=Judgment.objects.all(), most=JUDGMENTS_SHOWN + 1)
    n_judgments = sum(len(one.votes) for one in votes)
    numbers = {version.pk: version.number for version in history.versions}
    candidates = _candidates(current) if current in known else ()
    cases = list(
        ReviewCase.objects.filter(item=item).select_related("decided_by", "claimed_by").order_by("-pk")
    )
    reasons = _reasons(cases, protocol, known)
    return ItemPage(
        item=item,
        texts=tuple(_texts(current, protocol)) if current else (),
        # What an import brought beside the item's own fields may name the systems.
        extra=tuple((current.extra or {}).items()) if current in known else (),
        versions=tuple(_versions(history.versions, item)),
        candidates=candidates,
        tasks=tuple(_task_sections(votes, numbers)),
        next_after=next_after,
        has_more_judgments=n_judgments > JUDGMENTS_SHOWN,
        scores=tuple(_score_rows(candidates)),
        skips=tuple(_skips(tasks)),
        cases=tuple(
            CaseEntry(case, tuple(one for one in reasons if one.reason.case_id == case.pk)) for case in cases
        ),
        evidence={one.reason.pk: one for one in reasons},
        history=history,
        clips_url=reverse("api_item_clips", args=[item.study.slug, item.pk]) if manages else "",
    )


def _texts(version: ItemVersion, protocol: Protocol) -> Iterator[tuple[str, str]]:
    """What raters see of it first, in their order."""
    names = [name for name in protocol.content if name in CORRECTABLE_FIELDS]
    for name in dict.fromkeys([*names, *CORRECTABLE_FIELDS]):
        if text := getattr(version, name):
            yield name, text


def _versions(versions: Sequence[ItemVersion], item: Item) -> Iterator[VersionEntry]:
    """The newest first."""
    corrections: dict[int, list[Correction]] = {}
    rows = Correction.objects.filter(version_after__in=[one.pk for one in versions])
    for correction in rows.select_related("author").order_by("pk"):
        corrections.setdefault(correction.version_after_id, []).append(correction)
    in_pairs = list(pairwise([None, *versions]))
    for before, version in reversed(in_pairs):
        assert version is not None
        changes = tuple(_changes(before, version)) if before else ()
        made_by = tuple(corrections.get(version.pk, ()))
        yield VersionEntry(version, version.pk == item.current_version_id, changes, made_by)


def _changes(before: ItemVersion, after: ItemVersion) -> Iterator[TextChange]:
    for name in CORRECTABLE_FIELDS:
        old, new = getattr(before, name), getattr(after, name)
        if old != new:
            yield TextChange(name, old, new)


def _candidates(version: ItemVersion) -> tuple[Candidate, ...]:
    rows = version.candidates.select_related("system", "clip").order_by("system__name", "take", "pk")
    return tuple(rows[:100])


def _task_page(known: Sequence[ItemVersion], after: int) -> tuple[list[Task], int | None]:
    """Tasks of the newest version first, each version's by creation; and the `after` of the next page."""
    rows = Task.objects.filter(item_version__in=[one.pk for one in known]).select_related("item_version")
    last = rows.filter(pk=after).first() if after else None
    if last is not None:
        number = last.item_version.number
        rows = rows.filter(
            Q(item_version__number__lt=number) | Q(item_version__number=number, pk__gt=last.pk)
        )
    tasks = list(rows.order_by("-item_version__number", "pk")[: TASKS_SHOWN + 1])
    next_after = tasks[TASKS_SHOWN - 1].pk if len(tasks) > TASKS_SHOWN else None
    return tasks[:TASKS_SHOWN], next_after


def _task_sections(votes: Sequence[TaskVotes], numbers: Mapping[int, int]) -> Iterator[TaskSection]:
    judgments = [vote.judgment for one in votes for vote in one.votes][:JUDGMENTS_SHOWN]
    by_task: dict[int, list[ReadableJudgment]] = {}
    for read in readable_judgments(judgments):
        by_task.setdefault(read.judgment.task_id, []).append(read)
    for one in votes:
        task_judgments = by_task.get(one.task.pk, [])
        yield TaskSection(
            task=one.task,
            version=numbers[one.task.item_version_id],
            candidates=one.candidates,
            judgments=tuple(task_judgments),
            distributions=tuple(distributions(task_judgments)),
            pair_scores=tuple(_pair_scores(one)),
        )


def _pair_scores(votes: TaskVotes) -> Iterator[PairScore]:
    systems = {candidate.pk: candidate.system.name for candidate in votes.candidates}
    for score in votes.scores:
        if score.other_id is not None:
            yield PairScore(
                scorer=scorer_title(score.scorer.key),
                output="" if score.output == "value" else score.output,
                first=systems[score.candidate_id],
                second=systems[score.other_id],
                value=score.value,
            )


def _score_rows(candidates: Sequence[Candidate]) -> Iterator[ScoreRow]:
    """The newest value of each output, scorer by scorer."""
    places = {candidate.pk: place for place, candidate in enumerate(candidates)}
    values_by_output: dict[tuple[int, str], tuple[Score, list[float | None]]] = {}
    rows = Score.objects.filter(candidate__in=places, other=None).select_related("scorer").order_by("-pk")
    for score in rows[:500]:
        _one, values = values_by_output.setdefault(
            (score.scorer_id, score.output), (score, [None] * len(candidates))
        )
        place = places[score.candidate_id]
        if values[place] is None:
            values[place] = score.value
    for score, values in values_by_output.values():
        output = "" if score.output == "value" else score.output
        yield ScoreRow(scorer_title(score.scorer.key), score.scorer.digest[:8], output, tuple(values))


def _skips(tasks: Iterable[Task]) -> list[ReadableSkip]:
    return readable_skips(
        skips().filter(task__in=[one.pk for one in tasks]).order_by("-closed_at")[:SKIPS_SHOWN]
    )


def _reasons(
    cases: Sequence[ReviewCase], protocol: Protocol, known: Sequence[ItemVersion]
) -> list[ReadableReason]:
    """The reasons of cases; without the evidence for versions that the reader has not judged."""
    by_pk, known_pks = {case.pk: case for case in cases}, {version.pk for version in known}
    rows = list(CaseReason.objects.filter(case__in=by_pk).order_by("fired_at", "pk"))
    for row in rows:
        row.case = by_pk[row.case_id]
        if row.case.item_version_id not in known_pks:
            row.evidence = {}
    return readable_reasons(rows, protocol=protocol)
