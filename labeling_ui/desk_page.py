"""What the desk shows of a case once its expert has judged: in a fixed number of queries, however much was said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from analytics.reports import case_votes
from annotation.models import CaseReason, Correction, ItemVersion, Judgment, Return, ReviewCase, User
from annotation.protocols.schema import Protocol
from annotation.rules.review import CORRECTABLE, ReviewSettings
from annotation.services.protocols import loaded
from labeling_ui.desk_drafts import FieldDrafts, of_case
from labeling_ui.desk_votes import TaskCard, VoteLine, task_card
from labeling_ui.review_words import FIELDS, REASONS
from scoring.models import Writer


@dataclass(frozen=True)
class FieldLine:
    """A field of the item in the editor: `text` as it is."""

    name: str
    number: int
    title: str
    text: str
    drafts: FieldDrafts


@dataclass(frozen=True)
class VersionLine:
    """An earlier version, or this one, with the corrections that made it."""

    version: ItemVersion
    corrections: tuple[Correction, ...]


@dataclass(frozen=True)
class DeskPage:
    """`tasks` are all of the version's, the case's own first; `fields` are the texts of its item."""

    case: ReviewCase
    reasons: tuple[CaseReason, ...]
    tasks: tuple[TaskCard, ...]
    versions: tuple[VersionLine, ...]
    returns: tuple[Return, ...]
    fields: tuple[FieldLine, ...]
    correction_reasons: Mapping[str, object]
    settings: ReviewSettings
    can_rewrite: bool

    @property
    def returnable(self) -> list[VoteLine]:
        """The judgments whose raters can be asked to look once more."""
        return [vote for task in self.tasks for vote in task.votes if vote.returnable]

    @property
    def is_past(self) -> bool:
        """The item has a later version than the one that this case is about."""
        return self.case.item.current_version_id != self.case.item_version_id


def page(case: ReviewCase, *, reader: User, decides: bool) -> DeskPage:
    protocol = loaded(case.study.protocol_version_id).spec
    mine = _own(case, reader)
    found = case_votes.votes_on(case.item_version, first=case.task)
    writes = Writer.Writes
    can_rewrite = (
        decides and Writer.objects.filter(study=case.study, writes=writes.ANSWER, retired=False).exists()
    )
    return DeskPage(
        case=case,
        reasons=tuple(case.reasons.order_by("fired_at", "pk")),
        tasks=tuple(task_card(task, protocol=protocol, mine=mine) for task in found),
        versions=tuple(_versions(case)),
        returns=tuple(case.returns.select_related("rater", "created_by").order_by("pk")),
        fields=tuple(_fields(case, protocol, decides=decides)),
        correction_reasons=REASONS,
        settings=ReviewSettings.of(case.study.rules),
        can_rewrite=can_rewrite,
    )


def _own(case: ReviewCase, reader: User) -> Judgment | None:
    judgment = case.blind_judgment
    if judgment is None or judgment.rater is None or judgment.rater.user_id != reader.pk:
        return None
    return judgment


def _fields(case: ReviewCase, protocol: Protocol, *, decides: bool) -> list[FieldLine]:
    """What raters see of the item, and whatever else of it has a text; in the order of the desk."""
    version = case.item_version
    names = [name for name in CORRECTABLE if name in protocol.content or getattr(version, name)]
    drafts = of_case(case, names) if decides else {}
    return [
        FieldLine(
            name=name,
            number=number,
            title=str(FIELDS[name]),
            text=getattr(version, name),
            drafts=drafts.get(name) or FieldDrafts(name, str(FIELDS[name]), (), ()),
        )
        for number, name in enumerate(names, start=1)
    ]


def _versions(case: ReviewCase) -> list[VersionLine]:
    """Every version of the item, the newest first."""
    made: dict[int, list[Correction]] = {}
    for correction in (
        Correction.objects.select_related("author").filter(version_after__item=case.item_id).order_by("pk")
    ):
        made.setdefault(correction.version_after_id, []).append(correction)
    versions = ItemVersion.objects.filter(item=case.item_id).order_by("-number")
    return [VersionLine(version, tuple(made.get(version.pk, ()))) for version in versions]
