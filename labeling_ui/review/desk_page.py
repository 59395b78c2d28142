"""What the desk shows of a case once its expert has judged: in a fixed number of queries, however much was said."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from analytics.review import case_votes
from analytics.review.case_votes import CaseVote, TaskVotes
from annotation.access.sign_in import account_key
from annotation.models import (
    Answer,
    CaseReason,
    Correction,
    Draft,
    ItemVersion,
    Judgment,
    Return,
    ReviewCase,
    Task,
    User,
)
from annotation.protocols.schema import Point, Protocol, QuestionSpec, Text
from annotation.rating.rules.counterbalancing import candidate_labels
from annotation.review import adjudication
from annotation.review.labels import CORRECTION_REASON_LABELS, FIELD_LABELS
from annotation.review.rules import CORRECTABLE_FIELDS, ReviewSettings
from annotation.studies.protocols import load_protocol
from labeling_ui.models.catalogue_texts import scorer_title
from labeling_ui.page_responses import url_prefix
from scoring.models import Score, Writer
from scoring.writing import draft_requests

# The votes, distributions and scores of a case in words, as the desk shows them after the expert's own
# judgment.


# How many numbers behind a score are shown.
SCORE_DETAILS_SHOWN = 10


@dataclass(frozen=True)
class AnswerLine:
    """`of`: the label of the candidate it is about, where the task has several. `is_text`: something written."""

    title: str
    of: str
    said: str
    sure: str
    is_text: bool


@dataclass(frozen=True)
class VoteLine:
    judgment: Judgment
    who: str
    is_mine: bool
    is_experts: bool
    at: datetime
    answers: tuple[AnswerLine, ...]
    codes: tuple[tuple[str, str], ...]
    # It came from a rater of this study by an assignment: they can be asked to look once more.
    returnable: bool


@dataclass(frozen=True)
class Bar:
    label: str
    n: int
    length: float
    share: float | None = None


@dataclass(frozen=True)
class Distribution:
    title: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class CandidateLine:
    """`clip`: the name under which the expert's assignment plays it."""

    label: str
    system: str
    take: int
    text: str
    clip: str


@dataclass(frozen=True)
class ScoreLine:
    scorer: str
    version: str
    of: str
    output: str
    value: float | None
    numbers: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class TaskCard:
    task: Task
    candidates: tuple[CandidateLine, ...]
    votes: tuple[VoteLine, ...]
    distributions: tuple[Distribution, ...]
    scores: tuple[ScoreLine, ...]


def task_card(task_votes: TaskVotes, *, protocol: Protocol, own: Judgment | None) -> TaskCard:
    """`mine`: the reader's own blind judgment: its order of the candidates names them for the whole card."""
    order = list(range(len(task_votes.candidates)))
    if own is not None and own.task_id == task_votes.task.pk and own.presentation:
        order = list(own.presentation)
    letters = candidate_labels(protocol.layout)
    by_slot = {slot: letter for letter, slot in zip(letters, order, strict=False)}
    names = {candidate.pk: by_slot.get(slot, "?") for slot, candidate in enumerate(task_votes.candidates)}
    several = len(task_votes.candidates) > 1
    return TaskCard(
        task=task_votes.task,
        candidates=tuple(
            CandidateLine(
                label=by_slot.get(slot, "?") if several else "",
                system=(candidate := task_votes.candidates[slot]).system.name,
                take=candidate.take,
                text=candidate.text,
                clip=by_slot.get(slot, "?").lower() if candidate.clip_id else "",
            )
            for slot in order
        ),
        votes=tuple(
            _vote_line(vote, names=names if several else {}, by_slot=by_slot, own=own)
            for vote in task_votes.votes
        ),
        distributions=tuple(_distributions(task_votes, names=names if several else {}, by_slot=by_slot)),
        scores=tuple(_score_line(score, names=names if several else {}) for score in task_votes.scores),
    )


def _vote_line(
    vote: CaseVote, *, names: Mapping[int, str], by_slot: Mapping[int, str], own: Judgment | None
) -> VoteLine:
    judgment = vote.judgment
    protocol = load_protocol(judgment.protocol_version_id).spec
    titles = {code.key: _in_language(code.title) for code in protocol.codes}
    return VoteLine(
        judgment=judgment,
        who=judgment.rater.pseudonym if judgment.rater else _("an imported rater"),
        is_mine=own is not None and judgment.pk == own.pk,
        is_experts=vote.is_experts,
        at=judgment.submitted_at,
        answers=tuple(
            _answer_line(answer, spec, names=names, by_slot=by_slot)
            for answer in vote.answers
            if (spec := protocol.question(answer.question.key)) is not None
        ),
        codes=tuple((key, titles.get(key, key)) for key in judgment.codes),
        returnable=judgment.origin == Judgment.Origin.RATED
        and judgment.assignment_id is not None
        and not judgment.excluded,
    )


def _answer_line(
    answer: Answer, spec: QuestionSpec, *, names: Mapping[int, str], by_slot: Mapping[int, str]
) -> AnswerLine:
    confidence = spec.confidence.points if spec.confidence else ()
    return AnswerLine(
        title=_in_language(spec.title),
        of=names.get(answer.candidate_id or 0, ""),
        said=_answer_text(answer, spec, by_slot=by_slot),
        sure="" if answer.confidence is None else _scale_point_text(answer.confidence, confidence),
        is_text=spec.kind == "text",
    )


def _answer_text(answer: Answer, spec: QuestionSpec, *, by_slot: Mapping[int, str]) -> str:
    if answer.choice is not None:
        return _choice_text(answer.choice, by_slot=by_slot)
    if answer.value is not None:
        return _scale_point_text(answer.value, spec.points)
    return answer.text


def _choice_text(choice: int, *, by_slot: Mapping[int, str]) -> str:
    if choice == Answer.Choice.TIE:
        return _("Tie")
    if choice == Answer.Choice.BOTH_BAD:
        return _("Both bad")
    return by_slot.get(0 if choice == Answer.Choice.FIRST else 1, "?")


def _scale_point_text(value: float, points: Sequence[Point]) -> str:
    label = next((_in_language(point.label) for point in points if point.value == value), "")
    return f"{value:g} · {label}" if label else f"{value:g}"


def _distributions(
    task_votes: TaskVotes, *, names: Mapping[int, str], by_slot: Mapping[int, str]
) -> Iterator[Distribution]:
    """Of what counts: raters' answers that are neither excluded nor surplus, by question and candidate."""
    counted: dict[tuple[str, int], list[Answer]] = {}
    specs: dict[str, QuestionSpec] = {}
    for vote in task_votes.votes:
        if vote.is_experts or vote.judgment.excluded or vote.judgment.surplus:
            continue
        protocol = load_protocol(vote.judgment.protocol_version_id).spec
        for answer in vote.answers:
            spec = protocol.question(answer.question.key)
            if spec is None or (answer.choice is None and answer.value is None):
                continue
            specs[spec.key] = spec
            counted.setdefault((spec.key, answer.candidate_id or 0), []).append(answer)
    for (key, candidate), answers in counted.items():
        title = _in_language(specs[key].title)
        if of := names.get(candidate):
            title = f"{of}: {title}"
        yield Distribution(title, tuple(_answer_bars(answers, specs[key], by_slot=by_slot)))


def _answer_bars(
    answers: Sequence[Answer], spec: QuestionSpec, *, by_slot: Mapping[int, str]
) -> Iterator[Bar]:
    n_by_text = Counter(_answer_text(answer, spec, by_slot=by_slot) for answer in answers)
    if spec.kind == "preference":
        kinds = [Answer.Choice.FIRST, Answer.Choice.SECOND]
        kinds += [Answer.Choice.TIE] if spec.tie else []
        kinds += [Answer.Choice.BOTH_BAD] if spec.both_bad else []
        faces = [_choice_text(kind, by_slot=by_slot) for kind in kinds]
        faces = sorted(faces[:2]) + faces[2:]
    elif spec.points:
        faces = [_scale_point_text(point.value, spec.points) for point in spec.points]
    else:
        faces = [
            f"{value:g}" for value in sorted({answer.value for answer in answers if answer.value is not None})
        ]
    for face in faces:
        yield Bar(face, n_by_text[face], 100 * n_by_text[face] / len(answers))


def _score_line(score: Score, *, names: Mapping[int, str]) -> ScoreLine:
    of = names.get(score.candidate_id, "")
    if score.other_id is not None:
        of = _("%(one)s against %(other)s") % {"one": of, "other": names.get(score.other_id, "?")}
    return ScoreLine(
        scorer=scorer_title(score.scorer.key),
        version=score.scorer.digest[:8],
        of=of,
        output="" if score.output == "value" else score.output,
        value=score.value,
        numbers=tuple(_score_details(score.distribution))[:SCORE_DETAILS_SHOWN],
    )


def _score_details(distribution: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Whatever a scorer keeps behind its value, as names and numbers."""
    if isinstance(distribution, Mapping):
        for name, part in distribution.items():
            yield from _score_details(part, f"{prefix}.{name}" if prefix else str(name))
    elif isinstance(distribution, list):
        for place, part in enumerate(distribution, start=1):
            yield from _score_details(part, f"{prefix}.{place}" if prefix else str(place))
    elif isinstance(distribution, int | float):
        yield prefix, f"{distribution:.3g}".replace("-", "−")


def _in_language(text: Text) -> str:
    return text.in_language(get_language() or "en")


# Models' drafts of an item's texts as the desk shows them beside the field.


@dataclass(frozen=True)
class DraftLine:
    """`made_by`: what wrote it, as its provenance says: model, prompt, when."""

    draft: Draft
    made_by: tuple[str, ...]


@dataclass(frozen=True)
class FieldDrafts:
    """The drafts of one field, the newest first, and the writers that can be asked for another."""

    name: str
    title: str
    lines: tuple[DraftLine, ...]
    writers: tuple[Writer, ...]

    @property
    def is_awaited(self) -> bool:
        return any(line.draft.state == Draft.State.WAITING for line in self.lines)


def drafts_of_field(case: ReviewCase, field: str) -> FieldDrafts:
    drafts = case.drafts.filter(field=field, item_version_id=case.item_version_id).order_by("-pk")
    return field_drafts(field, drafts, draft_requests.writers_for(case))


def drafts_of_case(case: ReviewCase, fields: Sequence[str]) -> dict[str, FieldDrafts]:
    """By field, in the queries of one."""
    drafts = list(case.drafts.filter(item_version_id=case.item_version_id).order_by("-pk"))
    writers = draft_requests.writers_for(case)
    return {
        field: field_drafts(field, [draft for draft in drafts if draft.field == field], writers)
        for field in fields
    }


def field_drafts(field: str, drafts: Iterable[Draft], writers: Iterable[Writer]) -> FieldDrafts:
    return FieldDrafts(
        name=field,
        title=str(FIELD_LABELS.get(field, field)),
        lines=tuple(DraftLine(draft, tuple(_draft_provenance(draft))) for draft in drafts),
        writers=tuple(writer for writer in writers if writer.writes == field),
    )


def _draft_provenance(draft: Draft) -> Iterable[str]:
    """What people can tell a draft's origin by; the rest of its provenance is kept with it."""
    for name in ("model", "backbone", "prompt"):
        origin = draft.provenance.get(name)
        if isinstance(origin, dict):
            origin = origin.get("name")
        if isinstance(origin, str) and origin:
            yield origin


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


def build_desk_page(case: ReviewCase, *, reader: User, decides: bool) -> DeskPage:
    protocol = load_protocol(case.study.protocol_version_id).spec
    own = _own_blind_judgment(case, reader)
    tasks = case_votes.votes_on_version(case.item_version, first=case.task)
    writes = Writer.Writes
    can_rewrite = (
        decides and Writer.objects.filter(study=case.study, writes=writes.ANSWER, retired=False).exists()
    )
    return DeskPage(
        case=case,
        reasons=tuple(case.reasons.order_by("fired_at", "pk")),
        tasks=tuple(task_card(task, protocol=protocol, own=own) for task in tasks),
        versions=tuple(_version_lines(case)),
        returns=tuple(case.returns.select_related("rater", "created_by").order_by("pk")),
        fields=tuple(_field_lines(case, protocol, decides=decides)),
        correction_reasons=CORRECTION_REASON_LABELS,
        settings=ReviewSettings.of(case.study.rules),
        can_rewrite=can_rewrite,
    )


def _own_blind_judgment(case: ReviewCase, reader: User) -> Judgment | None:
    judgment = case.blind_judgment
    if judgment is None or judgment.rater is None or judgment.rater.user_id != reader.pk:
        return None
    return judgment


def _field_lines(case: ReviewCase, protocol: Protocol, *, decides: bool) -> list[FieldLine]:
    """What raters see of the item, and whatever else of it has a text; in the order of the desk."""
    version = case.item_version
    names = [name for name in CORRECTABLE_FIELDS if name in protocol.content or getattr(version, name)]
    drafts = drafts_of_case(case, names) if decides else {}
    return [
        FieldLine(
            name=name,
            number=number,
            title=str(FIELD_LABELS[name]),
            text=getattr(version, name),
            drafts=drafts.get(name) or FieldDrafts(name, str(FIELD_LABELS[name]), (), ()),
        )
        for number, name in enumerate(names, start=1)
    ]


def _version_lines(case: ReviewCase) -> list[VersionLine]:
    """Every version of the item, the newest first."""
    corrections: dict[int, list[Correction]] = {}
    for correction in (
        Correction.objects.select_related("author").filter(version_after__item=case.item_id).order_by("pk")
    ):
        corrections.setdefault(correction.version_after_id, []).append(correction)
    versions = ItemVersion.objects.filter(item=case.item_id).order_by("-number")
    return [VersionLine(version, tuple(corrections.get(version.pk, ()))) for version in versions]


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
