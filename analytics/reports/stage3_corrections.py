"""What was corrected: by field, stratum, reason and origin (ORCA, table 1), and what became of models' drafts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from analytics import case_frames
from analytics.case_frames import CorrectionRow
from annotation.models import Draft, Study
from annotation.rules.review import CORRECTABLE

# A person has said what becomes of these; the others wait, failed, or came too late.
SETTLED = (Draft.State.ACCEPTED, Draft.State.EDITED, Draft.State.REJECTED, Draft.State.UNUSED)


@dataclass(frozen=True)
class FieldCorrections:
    """Corrections of one field that stand, by reason and by origin; `undone` are apart."""

    field: str
    n: int
    undone: int
    reasons: Mapping[str, int]
    origins: Mapping[str, int]


@dataclass(frozen=True)
class StratumCorrections:
    """Corrections that stand by field and value of one stratum (a benchmark, a modality); `items` are all there are."""

    stratum: str
    items: Mapping[str, int]
    fields: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Corrections:
    """`items`: how many items have a correction that stands."""

    n: int
    undone: int
    items: int
    fields: tuple[FieldCorrections, ...]
    strata: tuple[StratumCorrections, ...]


@dataclass(frozen=True)
class DraftShare:
    """A writer's drafts for one field by state, or `drafts.LATE`. `share` is of drafts accepted unedited among those
    settled, 0 to 1."""

    field: str
    writer: str
    states: Mapping[str, int]
    settled: int
    share: float | None


def corrections(study: Study) -> Corrections:
    rows = case_frames.corrections(study)
    standing = [row for row in rows if not row.undone]
    return Corrections(
        n=len(standing),
        undone=len(rows) - len(standing),
        items=len({row.item_id for row in standing}),
        fields=tuple(_of_field(field, rows) for field in _fields(rows)),
        strata=tuple(
            _of_stratum(stratum, items, standing)
            for stratum, items in case_frames.items_by_stratum(study).items()
        )
        if standing
        else (),
    )


def drafts(study: Study) -> tuple[DraftShare, ...]:
    by_writer: defaultdict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for field, writer, state, n in case_frames.draft_states(study):
        by_writer[field, writer][state] = n
    return tuple(_share(field, writer, states) for (field, writer), states in by_writer.items())


def _share(field: str, writer: str, states: Mapping[str, int]) -> DraftShare:
    settled = sum(states.get(state, 0) for state in SETTLED)
    accepted = states.get(Draft.State.ACCEPTED, 0)
    return DraftShare(field, writer, states, settled, accepted / settled if settled else None)


def _of_field(field: str, rows: Iterable[CorrectionRow]) -> FieldCorrections:
    own = [row for row in rows if row.field == field]
    standing = [row for row in own if not row.undone]
    return FieldCorrections(
        field=field,
        n=len(standing),
        undone=len(own) - len(standing),
        reasons=dict(Counter(row.reason for row in standing)),
        origins=dict(Counter(row.origin for row in standing)),
    )


def _of_stratum(
    stratum: str, items: Mapping[str, int], standing: Sequence[CorrectionRow]
) -> StratumCorrections:
    return StratumCorrections(
        stratum=stratum,
        items=items,
        fields={
            field: dict(
                Counter(
                    str(row.strata[stratum])
                    for row in standing
                    if row.field == field and stratum in row.strata
                )
            )
            for field in _fields(standing)
        },
    )


def _fields(rows: Iterable[CorrectionRow]) -> list[str]:
    """In the order of the desk."""
    return sorted({row.field for row in rows}, key=lambda field: (_place(field), field))


def _place(field: str) -> int:
    return CORRECTABLE.index(field) if field in CORRECTABLE else len(CORRECTABLE)
