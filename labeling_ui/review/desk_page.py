"""What the desk shows of a case once its expert has judged: in a fixed number of queries, however much was said."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from analytics.judgments.evidence import ReadableReason, readable_reasons
from analytics.judgments.readable import Distribution, ReadableJudgment, distributions, readable_judgments
from analytics.review import case_votes
from analytics.review.case_votes import TaskVotes
from annotation.access.sign_in import account_key
from annotation.models import (
    Candidate,
    Correction,
    Draft,
    ItemVersion,
    Judgment,
    Return,
    ReviewCase,
    Task,
    User,
)
from annotation.protocols.schema import Protocol
from annotation.rating.rules.counterbalancing import candidate_labels
from annotation.review import adjudication
from annotation.review.labels import CORRECTION_REASON_LABELS, FIELD_LABELS
from annotation.review.rules import CORRECTABLE_FIELDS, ReviewSettings
from annotation.studies.protocols import load_protocol
from labeling_ui.models.catalogue_texts import scorer_title
from labeling_ui.page_responses import url_prefix
from labeling_ui.study.page_data import Bar
from scoring.models import Score, Writer
from scoring.policies import second_opinions
from scoring.policies.second_opinions import Opinion, OpinionRun
from scoring.writing import draft_requests

# The votes, distributions and scores of a case in words, as the desk shows them after the expert's own
# judgment.


# How many numbers behind a score are shown.
SCORE_DETAILS_SHOWN = 10


@dataclass(frozen=True)
class VoteLine:
    """A judgment of the case, and whether it is the reader's own."""

    read: ReadableJudgment
    is_mine: bool

    @property
    def judgment(self) -> Judgment:
        return self.read.judgment

    @property
    def returnable(self) -> bool:
        """It came from a rater of this study by an assignment: they can be asked to look once more."""
        rated = self.judgment.origin == Judgment.Origin.RATED and self.judgment.assignment_id is not None
        return rated and not self.judgment.excluded


@dataclass(frozen=True)
class ScoreLine:
    scorer: str
    version: str
    of: str
    output: str
    value: float | None
    numbers: list[tuple[str, str]]


@dataclass(frozen=True)
class TaskCard:
    """Candidates with their labels, empty where there is only one; distributions with their titles."""

    task: Task
    candidates: list[tuple[str, Candidate]]
    votes: list[VoteLine]
    distributions: list[tuple[str, list[Bar]]]
    scores: list[ScoreLine]


def task_cards(
    tasks: Sequence[TaskVotes], *, protocol: Protocol, own: Judgment | None = None
) -> list[TaskCard]:
    """`own`: the reader's own blind judgment: its order of the candidates names them for the whole card."""
    orders = {one.task.pk: list(range(len(one.candidates))) for one in tasks}
    if own is not None and own.presentation and own.task_id in orders:
        orders[own.task_id] = list(own.presentation)
    votes = [vote.judgment for one in tasks for vote in one.votes]
    read = {one.judgment.pk: one for one in readable_judgments(votes, orders=orders)}
    return [
        _task_card(
            one,
            votes=[read[vote.judgment.pk] for vote in one.votes],
            order=orders[one.task.pk],
            letters=candidate_labels(protocol.layout),
            own=own,
        )
        for one in tasks
    ]


def _task_card(
    task_votes: TaskVotes,
    *,
    votes: Sequence[ReadableJudgment],
    order: Sequence[int],
    letters: str,
    own: Judgment | None,
) -> TaskCard:
    candidates = task_votes.candidates
    # The X of an ABX test is one of the first two again.
    named = list(dict.fromkeys(order))
    by_slot = dict(zip(named, letters, strict=False)) if len(candidates) > 1 else {}
    names = {candidate.pk: by_slot.get(slot, "") for slot, candidate in enumerate(candidates)}
    return TaskCard(
        task=task_votes.task,
        candidates=[(by_slot.get(slot, ""), candidates[slot]) for slot in named],
        votes=[VoteLine(vote, own is not None and vote.judgment.pk == own.pk) for vote in votes],
        distributions=[distribution_bars(one) for one in distributions(votes, order=order)],
        scores=[_score_line(score, names) for score in task_votes.scores],
    )


def distribution_bars(distribution: Distribution) -> tuple[str, list[Bar]]:
    """Title and bars, as `study/bars.html` draws them."""
    title = f"{distribution.of.title}: {distribution.title}" if distribution.of else distribution.title
    bars = [
        Bar(f"{row.text} = {row.system}" if row.system else row.text, row.n, None, 100 * row.share)
        for row in distribution.rows
    ]
    return title, bars


def _score_line(score: Score, names: Mapping[int, str]) -> ScoreLine:
    of = names.get(score.candidate_id, "")
    if score.other_id is not None:
        of = _("%(one)s against %(other)s") % {"one": of, "other": names.get(score.other_id, "?")}
    return ScoreLine(
        scorer=scorer_title(score.scorer.key),
        version=score.scorer.digest[:8],
        of=of,
        output="" if score.output == "value" else score.output,
        value=score.value,
        numbers=list(islice(_score_details(score.distribution), SCORE_DETAILS_SHOWN)),
    )


def _score_details(distribution: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Whatever a scorer keeps behind its value, as names and numbers."""
    if isinstance(distribution, int | float):
        yield prefix, f"{distribution:.3g}".replace("-", "−")
        return
    parts = distribution.items() if isinstance(distribution, Mapping) else ()
    if isinstance(distribution, list):
        parts = enumerate(distribution, start=1)
    for name, part in parts:
        yield from _score_details(part, f"{prefix}.{name}" if prefix else str(name))


# Models' drafts of an item's texts as the desk shows them beside the field.


@dataclass(frozen=True)
class FieldDrafts:
    """The drafts of one field, the newest first, each with what wrote it as its provenance says (model, prompt); and
    the writers that can be asked for another."""

    name: str
    drafts: list[tuple[Draft, list[str]]]
    writers: list[Writer]

    @property
    def title(self) -> Promise | str:
        return FIELD_LABELS.get(self.name, self.name)

    @property
    def is_awaited(self) -> bool:
        return any(draft.state == Draft.State.WAITING for draft, _origins in self.drafts)


def drafts_by_field(case: ReviewCase, fields: Iterable[str]) -> dict[str, FieldDrafts]:
    """In as many queries for many fields as for one."""
    drafts = list(case.drafts.filter(item_version_id=case.item_version_id).order_by("-pk"))
    writers = draft_requests.writers_for(case)
    return {
        field: FieldDrafts(
            field,
            [(draft, list(_draft_provenance(draft))) for draft in drafts if draft.field == field],
            [writer for writer in writers if writer.writes == field],
        )
        for field in fields
    }


def _draft_provenance(draft: Draft) -> Iterable[str]:
    """What people can tell a draft's origin by; the rest of its provenance is kept with it."""
    for name in ("model", "backbone", "prompt"):
        origin = draft.provenance.get(name)
        if isinstance(origin, dict):
            origin = origin.get("name")
        if isinstance(origin, str) and origin:
            yield origin


# Judges' second opinions beside the expert's own judgment.


@dataclass(frozen=True)
class OpinionsCard:
    """own: the reader's blind judgment. opinions, runs and judges are each with the title of the judge; judges, which
    can be asked, also with their version and the name that the request takes."""

    own: ReadableJudgment | None
    opinions: list[tuple[str, Opinion]]
    runs: list[tuple[str, OpinionRun]]
    judges: list[tuple[str, str, str]]
    is_awaited: bool

    @property
    def names_systems(self) -> bool:
        return len({one.candidate_id for _title, one in self.opinions}) > 1


def own_readable(case: ReviewCase, *, reader: User) -> ReadableJudgment | None:
    own = _own_judgment(case, reader)
    if own is None:
        return None
    return readable_judgments([own], orders={own.task_id: list(own.presentation or ())})[0]


def opinions_card(case: ReviewCase, *, own: ReadableJudgment | None) -> OpinionsCard:
    given = second_opinions.case_opinions(case)
    return OpinionsCard(
        own=own,
        opinions=[(scorer_title(one.scorer.key), one) for one in given.opinions],
        runs=[(scorer_title(run.metric), run) for run in given.runs],
        judges=[
            (scorer_title(run.metric), str(run.scorer), second_opinions.judge_name(run))
            for run in given.judges
        ],
        is_awaited=given.is_awaited,
    )


def _own_judgment(case: ReviewCase, reader: User) -> Judgment | None:
    """The reader's blind judgment of the case; None where it is another expert's, or there is none."""
    own = case.blind_judgment
    return own if own is not None and own.rater is not None and own.rater.user_id == reader.pk else None


@dataclass(frozen=True)
class DeskPage:
    """`tasks` are all of the version's, the case's own first; `fields` are the texts of its item with their drafts;
    `versions` are all of the item's with the corrections that made them."""

    case: ReviewCase
    reasons: list[ReadableReason]
    tasks: list[TaskCard]
    opinions: OpinionsCard
    versions: list[tuple[ItemVersion, list[Correction]]]
    returns: list[Return]
    fields: list[tuple[str, FieldDrafts]]
    can_rewrite: bool

    correction_reasons = CORRECTION_REASON_LABELS

    @property
    def settings(self) -> ReviewSettings:
        return ReviewSettings.of(self.case.study.rules)

    @property
    def returnable(self) -> list[VoteLine]:
        return [vote for task in self.tasks for vote in task.votes if vote.returnable]

    @property
    def has_opinions(self) -> bool:
        given = self.opinions
        return bool(given.opinions or given.runs or given.judges)

    @property
    def is_past(self) -> bool:
        """The item has a later version than the one that this case is about."""
        return self.case.item.current_version_id != self.case.item_version_id


def build_desk_page(case: ReviewCase, *, reader: User, decides: bool) -> DeskPage:
    protocol = load_protocol(case.study.protocol_version_id).spec
    own = _own_judgment(case, reader)
    tasks = case_votes.votes_on_version(case.item_version, first=case.task)
    answer_writers = Writer.objects.filter(study=case.study, writes=Writer.Writes.ANSWER, retired=False)
    cards = task_cards(tasks, protocol=protocol, own=own)
    mine = next((vote.read for card in cards for vote in card.votes if vote.is_mine), None)
    return DeskPage(
        case=case,
        reasons=readable_reasons(
            list(case.reasons.select_related("case").order_by("fired_at", "pk")), protocol=protocol
        ),
        tasks=cards,
        opinions=opinions_card(case, own=mine),
        versions=list(_versions(case)),
        returns=list(case.returns.select_related("rater", "created_by").order_by("pk")),
        fields=list(_fields(case, protocol, decides=decides)),
        can_rewrite=decides and answer_writers.exists(),
    )


def _fields(case: ReviewCase, protocol: Protocol, *, decides: bool) -> Iterator[tuple[str, FieldDrafts]]:
    """What raters see of the item, and whatever else of it has a text; in the order of the desk."""
    version = case.item_version
    names = [name for name in CORRECTABLE_FIELDS if name in protocol.content or getattr(version, name)]
    drafts = drafts_by_field(case, names) if decides else {}
    for name in names:
        yield getattr(version, name), drafts.get(name) or FieldDrafts(name, [], [])


def _versions(case: ReviewCase) -> Iterator[tuple[ItemVersion, list[Correction]]]:
    """The newest first."""
    corrections: dict[int, list[Correction]] = {}
    rows = Correction.objects.select_related("author").filter(version_after__item=case.item_id)
    for correction in rows.order_by("pk"):
        corrections.setdefault(correction.version_after_id, []).append(correction)
    for version in ItemVersion.objects.filter(item=case.item_id).order_by("-number"):
        yield version, corrections.get(version.pk, [])


# What the desk says after a decision: what was decided, and for how long it can be taken back.


@dataclass(frozen=True)
class Toast:
    """`minutes`: how much longer the decision can be taken back; 0 where it cannot."""

    case_id: int
    text: str
    minutes: int


def decision_toast(user: User, case_id: int) -> Toast | None:
    """Of a case that this account has just decided or returned; None of any other."""
    case = ReviewCase.objects.select_related("study", "item").filter(pk=case_id).first()
    if case is None:
        return None
    if case.state == ReviewCase.State.RETURNED:
        text = _return_text(case, user)
        return Toast(case.pk, text, 0) if text else None
    if case.state != ReviewCase.State.RESOLVED or case.decided_by_id != user.pk:
        return None
    until = adjudication.undo_deadline(case)
    minutes = math.ceil((until - timezone.now()).total_seconds() / 60) if until else 0
    return Toast(case.pk, _decision_text(case), max(0, minutes))


def _decision_text(case: ReviewCase) -> str:
    name = case.item.external_id
    if case.decision == ReviewCase.Decision.CORRECTED:
        corrected = Correction.objects.filter(case=case, version_after__retracted=False).values_list(
            "field", flat=True
        )
        fields = ", ".join(str(title) for field, title in FIELD_LABELS.items() if field in set(corrected))
        return _("%(item)s corrected: %(fields)s.") % {"item": name, "fields": fields}
    if case.decision == ReviewCase.Decision.FINE:
        return _("%(item)s: fine as it is.") % {"item": name}
    return f"{name}: {case.get_decision_display()}."


def _return_text(case: ReviewCase, user: User) -> str:
    requests = list(Return.objects.filter(case=case, created_by=user, state=Return.State.WAITING))
    raters = sum(request.rater_id is not None for request in requests)
    if not requests:
        return ""
    if not raters:
        return _("%(item)s returned to the pool.") % {"item": case.item.external_id}
    sentence = ngettext("%(item)s returned to %(n)d rater.", "%(item)s returned to %(n)d raters.", raters)
    return sentence % {"item": case.item.external_id, "n": raters}


# The page data of the desk's scripts, as JSON.


def blind_review_data(request: HttpRequest, case: ReviewCase) -> dict[str, Any]:
    """The first stage: nothing but what a rater's page knows, and the addresses of the case's task."""
    return {
        "account": account_key(request.user),
        "study": case.study.slug,
        "caseId": case.pk,
        "language": get_language(),
        "urls": {
            "protocol": reverse("api_protocol", args=[case.study.slug]),
            "cases": url_prefix("api_keep_case", placeholder=0),
            "assignments": url_prefix("api_assignment"),
            "sign_in": f"{reverse('sign_in')}?next={request.path}",
        },
    }


def review_desk_data(request: HttpRequest, case: ReviewCase, *, decides: bool, plays: bool) -> dict[str, Any]:
    """`plays`: the reader has an assignment of their own, which plays the clips of the case's task."""
    return blind_review_data(request, case) | {
        "item": case.item_id,
        "version": case.item_version_id,
        "decides": decides,
        "plays": plays,
    }
