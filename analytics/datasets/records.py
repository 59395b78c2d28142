"""Export records: judgments with their answers, items with their candidates, listening checks, corrections and cases.

Judgments of withdrawn raters are left out, or come at the end under other names, without what identifies the rater
(`RaterWithdrawal.Mode`). Members are named by pseudonym and role, never by account; those who have withdrawn have
neither name nor words.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from django.db.models import F, OuterRef, Prefetch, QuerySet, Subquery

from analytics.data import known_answer_trials
from analytics.datasets.values import (
    TEXT_FIELDS,
    Record,
    extra_without_paths,
    grouped,
    plain_number,
    utc_text,
    without_paths,
)
from annotation.items.corrections import holds_correction
from annotation.listening.rules.checks import KINDS
from annotation.listening.rules.coverage import read_playback_log, unique_seconds
from annotation.models import (
    Answer,
    Assignment,
    Candidate,
    CaseEvent,
    CaseReason,
    Correction,
    Exclusion,
    ItemVersion,
    Judgment,
    ListeningCheck,
    Membership,
    Rater,
    RaterWithdrawal,
    Return,
    ReviewCase,
    Study,
    Task,
    TaskCandidate,
)
from annotation.raters.rules import anonymised_judgment_id
from annotation.rating.rules.answers import shown_choice
from annotation.rating.rules.counterbalancing import candidate_labels

Row = Mapping[str, Any]

JUDGMENT_BATCH = 2000
ITEM_BATCH = 500


def batches(rows: QuerySet[Any], *fields: str, size: int) -> Iterator[Sequence[Row]]:
    """Values of the rows by age, so many at a time, each batch by a query of its own."""
    last = 0
    while batch := list(rows.filter(pk__gt=last).order_by("pk").values("id", *fields)[:size]):
        yield batch
        last = batch[-1]["id"]


def candidates_by_task(task_ids: Collection[int]) -> Mapping[int, list[Row]]:
    """The candidates of each task by slot: system, role, take, text, and clip by its hash with its seconds."""
    candidate = "candidate__"
    rows = TaskCandidate.objects.filter(task_id__in=task_ids).order_by("task_id", "slot")
    values: Iterable[Row] = rows.values(
        "task_id",
        "candidate_id",
        system=F(f"{candidate}system__name"),
        role=F(f"{candidate}system__role"),
        take=F(f"{candidate}take"),
        text=F(f"{candidate}text"),
        clip=F(f"{candidate}clip__canonical_sha256"),
        seconds=F(f"{candidate}clip__duration_s"),
    )
    return grouped((row["task_id"], row) for row in values)


def answers_by_judgment(judgment_ids: Collection[int], **filters: Any) -> Mapping[int, list[Row]]:
    """The answers of each judgment that pass the filters, in the order of the protocol's questions."""
    # As one parameter: of tasks that many judged there are more judgments than a statement may have parameters.
    rows = Answer.objects.filter(judgment__any_of=judgment_ids, **filters).order_by("question_id", "pk")
    fields = ("candidate_id", "choice", "value", "selected", "confidence", "text", "events")
    question_columns = {
        "key": F("question__key"),
        "kind": F("question__kind"),
        "keys": F("question__options"),
    }
    values: Iterable[Row] = rows.values("judgment_id", *fields, **question_columns)
    return grouped((row["judgment_id"], row) for row in values)


# Items.


def original_version(item: str) -> Subquery:
    """The key of the last version before any correction, of the item at this path, with the texts that models wrote
    into it: as raters judged it before the review."""
    versions = ItemVersion.objects.filter(~holds_correction(), item=OuterRef(item), retracted=False)
    return Subquery(versions.order_by("-number").values("pk")[:1])


# Which versions: the last before any correction, as they are now (both without the others), or each with its number.
TEXT_VERSIONS: dict[str, dict[str, Any]] = {
    "original": {"pk": original_version("item")},
    "corrected": {"item__current_version": F("pk")},
    "both": {},
}
_ITEM_CLIPS = ("reference_clip", "clip")
_CLIP_FIELDS = ("sha256", "canonical_sha256", "duration_s")


def item_records(study: Study, *, texts: str = "both") -> Iterator[Record]:
    """One record per version that `texts` names, by age. `retracted`: the correction that made it was undone."""
    item = ("item__external_id", "item__state", "item__strata", "item__current_version_id")
    fields = ("number", "retracted", "extra", *item, *TEXT_FIELDS, *_clip_fields(*_ITEM_CLIPS))
    versions = ItemVersion.objects.filter(item__study=study, **TEXT_VERSIONS[texts])
    for batch in batches(versions, *fields, size=ITEM_BATCH):
        candidates = _item_candidates([row["id"] for row in batch])
        for row in batch:
            yield {
                "study": study.slug,
                "item": row["item__external_id"],
                "state": row["item__state"],
                "strata": row["item__strata"],
                "version": row["number"],
                "current": row["id"] == row["item__current_version_id"],
                "retracted": row["retracted"],
                **{name: row[name] for name in TEXT_FIELDS},
                **{name: _clip(row, name) for name in _ITEM_CLIPS},
                "extra": extra_without_paths(row["extra"]),
                "candidates": candidates[row["id"]],
            }


def _item_candidates(version_ids: Collection[int]) -> Mapping[int, list[Record]]:
    rows = Candidate.objects.filter(item_version_id__in=version_ids).order_by("pk")
    carried_from = "carried_from__item_version__number"
    fields = ("item_version_id", "system__name", "take", "text", carried_from, "provenance")
    return grouped(
        (
            row["item_version_id"],
            {
                "system": row["system__name"],
                "take": row["take"],
                "text": row["text"],
                "clip": _clip(row, "clip"),
                "carried_from": row[carried_from],
                "provenance": without_paths(row["provenance"]),
            },
        )
        for row in rows.values(*fields, *_clip_fields("clip"))
    )


def _clip_fields(*names: str) -> list[str]:
    fields = [f"{name}__{field}" for name in names for field in _CLIP_FIELDS]
    return [*fields, *(f"{name}_file" for name in names)]


def _clip(row: Row, name: str) -> Record | None:
    """The hash of the file that was handed in, and of the canonical FLAC that raters hear; and the file's name."""
    sha256, canonical_sha256, seconds = (row[f"{name}__{field}"] for field in _CLIP_FIELDS)
    if sha256 is None:
        return None
    return {
        "sha256": sha256,
        "canonical_sha256": canonical_sha256,
        "seconds": seconds,
        "file": row[f"{name}_file"],
    }


# Judgments.


def listening_record(
    telemetry: Mapping[str, Any] | None,
    *,
    gains: Sequence[float | None] | None,
    presentation: Sequence[int] | None,
    layout: str,
) -> dict[str, Any]:
    """`gains_db` and `heard_s` are by position, as in `presentation`; `heard_item_s` is of the item's own clips.

    Seconds are unique coverage: what was heard twice counts once. None where nothing was logged, or nonsense was.
    """
    log = read_playback_log(telemetry)
    logged = {} if log.problems or telemetry is None else telemetry
    names = candidate_labels(layout).lower()[: len(presentation or ())]
    heard = {name: plain_number(round(unique_seconds(spans), 2)) for name, spans in log.heard.items()}
    has_spans = "heard" in logged and bool(names)
    return {
        "gains_db": None if gains is None else list(gains),
        "heard_s": [heard.get(name, 0) for name in names] if has_spans else None,
        "heard_item_s": {name: heard[name] for name in heard if name not in names} if has_spans else None,
        "switches": log.switches if "switches" in logged else None,
        "session_s": _seconds(logged.get("session_s")),
    }


def _seconds(value: Any) -> float | int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return plain_number(float(value)) if 0 <= value < 1e9 else None


_UNDECIDED = {int(Answer.Choice.TIE): "tie", int(Answer.Choice.BOTH_BAD): "both_bad"}
_JUDGMENT_FIELDS = (
    "client_id", "task_id", "task__external_id", "task__kind", "task__item_version__number",
    "task__item_version__item__external_id", "rater__pseudonym", "protocol_version__number",
    "protocol_version__preset", "assignment__policy__number", "assignment__inclusion_probability",
    "assignment__leased_at", "started_at", "submitted_at", "origin", "revision", "effective", "excluded", "surplus",
    "presentation", "codes", "comment", "gains", "telemetry", "protocol_version_id", "assignment__hint",
    "assignment__hint_shown", "rater__withdrawal__mode",
)  # fmt: skip
# The cells of a judgment whose rater was anonymised: nothing by which it could be laid beside another of theirs.
_ANONYMISED = {
    "rater__pseudonym": None, "comment": "", "gains": None, "telemetry": None, "assignment__leased_at": None,
    "started_at": None, "submitted_at": None, "assignment__hint_shown": None,
}  # fmt: skip
_WITHOUT_TEXT = {"text": "", "events": None}


def judgment_records(study: Study) -> Iterator[Record]:
    """In the order in which they were stored, with the superseded, surplus and excluded ones among them; then those of
    the anonymised."""
    layouts = dict(study.protocol_versions.values_list("pk", "definition__layout"))
    marks = {rater: list(one.marks) for rater, one in known_answer_trials.screened_raters(study).items()}
    named = Judgment.objects.filter(study=study, rater__withdrawal=None)
    stored = batches(named, *_JUDGMENT_FIELDS, size=JUDGMENT_BATCH)
    for batch in chain(stored, _anonymised_judgments(study)):
        candidates = candidates_by_task({row["task_id"] for row in batch})
        answers = answers_by_judgment([row["id"] for row in batch])
        reasons = _exclusion_reasons([row["id"] for row in batch if row["excluded"]])
        for row in batch:
            slots, hidden = (
                candidates[row["task_id"]],
                _WITHOUT_TEXT if row["rater__withdrawal__mode"] else {},
            )
            yield {
                "study": study.slug,
                **_judgment(row, slots, exclusion_reason=reasons.get(row["id"], "")),
                "rater_marks": marks.get(row["rater__pseudonym"], []),
                **listening_record(
                    row["telemetry"],
                    gains=row["gains"],
                    presentation=row["presentation"],
                    layout=layouts[row["protocol_version_id"]],
                ),
                "answers": [
                    _answer({**answer, **hidden}, row["presentation"], slots) for answer in answers[row["id"]]
                ],
            }


def _anonymised_judgments(study: Study) -> Iterator[list[Row]]:
    """In the order of their other names: among their neighbours they would tell when they were said."""
    judgments = Judgment.objects.filter(study=study, rater__withdrawal__mode=RaterWithdrawal.Mode.ANONYMISED)
    salted = judgments.values_list("pk", "client_id", "rater__withdrawal__salt")
    names = sorted((anonymised_judgment_id(client_id, bytes(salt)), pk) for pk, client_id, salt in salted)
    for start in range(0, len(names), JUDGMENT_BATCH):
        part = names[start : start + JUDGMENT_BATCH]
        values = judgments.filter(pk__in=[pk for _, pk in part]).values("id", *_JUDGMENT_FIELDS)
        rows = {row["id"]: row for row in values}
        yield [{**rows[pk], **_ANONYMISED, "client_id": name} for name, pk in part]


def _judgment(row: Row, slots: Sequence[Row], *, exclusion_reason: str) -> Record:
    return {
        "item": row["task__item_version__item__external_id"],
        "item_version": row["task__item_version__number"],
        "task": row["task__external_id"],
        "task_kind": Task.Kind(row["task__kind"]).name.lower(),
        "systems": [slot["system"] for slot in slots],
        "takes": [slot["take"] for slot in slots],
        "roles": [slot["role"] for slot in slots],
        "presentation": row["presentation"],
        "client_id": str(row["client_id"]),
        "rater": row["rater__pseudonym"] or "",
        "origin": Judgment.Origin(row["origin"]).name.lower(),
        "revision": row["revision"],
        "effective": row["effective"],
        "excluded": row["excluded"],
        "exclusion_reason": exclusion_reason,
        "surplus": row["surplus"],
        "protocol_version": row["protocol_version__number"],
        "preset": row["protocol_version__preset"],
        "codes": row["codes"],
        "comment": row["comment"],
        "hint": row["assignment__hint"],
        "hint_shown": row["assignment__hint_shown"],
        "ordering_policy": row["assignment__policy__number"],
        "inclusion_probability": row["assignment__inclusion_probability"],
        "leased_at": utc_text(row["assignment__leased_at"]),
        "started_at": utc_text(row["started_at"]),
        "submitted_at": utc_text(row["submitted_at"]),
    }


def _answer(row: Row, presentation: Sequence[int] | None, slots: Sequence[Row]) -> Record:
    """`slot` and `system` say what the answer is about: a candidate, or None for the task as a whole.

    `option` and `options` are keys of what can be chosen; of a choice, `value` is the option's number.

    `choice` names the preferred system, `choice_slot` which of the task's candidates that is (both may be of one
    system), `choice_shown` the side that the rater saw it on; None where an import does not tell.
    """
    choice, slot = row["choice"], 0 if len(slots) == 1 else None
    if row["candidate_id"] is not None:
        slot = next(
            i for i, candidate in enumerate(slots) if candidate["candidate_id"] == row["candidate_id"]
        )
    preferred = choice - 1 if choice in (Answer.Choice.FIRST, Answer.Choice.SECOND) else None
    return {
        "question": row["key"],
        "slot": slot,
        "system": None if slot is None else slots[slot]["system"],
        "choice": _UNDECIDED.get(choice) if preferred is None else slots[preferred]["system"],
        "choice_slot": preferred,
        "choice_shown": None if choice is None or not presentation else shown_choice(choice, presentation),
        "value": plain_number(row["value"]),
        "option": row["keys"][int(row["value"]) - 1] if row["kind"] == "choice" else None,
        "options": None if row["selected"] is None else [row["keys"][n - 1] for n in row["selected"]],
        "confidence": plain_number(row["confidence"]),
        "text": row["text"],
        "events": row["events"],
    }


def _exclusion_reasons(judgment_ids: Collection[int]) -> dict[int, str]:
    """The reason of the mark that stands."""
    if not judgment_ids:
        return {}
    rows = Exclusion.objects.filter(judgment_id__in=judgment_ids).order_by("pk")
    return dict(rows.values_list("judgment_id", "reason"))


def check_records(study: Study) -> Iterator[Record]:
    """Finished listening checks, rater by rater, oldest first, without those of withdrawn raters. `n_correct` is None
    where no answer is wrong."""
    runs = ListeningCheck.objects.filter(
        rater__study=study, finished_at__isnull=False, rater__withdrawal=None
    )
    fields = ("rater__pseudonym", "kind", "state", "n_correct", "started_at", "finished_at")
    rows = runs.order_by("rater__pseudonym", "finished_at", "pk").values(*fields)
    for row in rows.iterator(chunk_size=JUDGMENT_BATCH):
        yield {
            "study": study.slug,
            "rater": row["rater__pseudonym"],
            "check": row["kind"],
            "passed": row["state"] == ListeningCheck.State.PASSED,
            "n_correct": row["n_correct"],
            "n_trials": KINDS[row["kind"]].n_trials,
            "started_at": utc_text(row["started_at"]),
            "finished_at": utc_text(row["finished_at"]),
        }


def skip_records(study: Study) -> Iterator[Record]:
    """Tasks that raters declined, rater by rater, oldest first, without those of withdrawn raters."""
    rows = Assignment.objects.filter(
        rater__study=study, state=Assignment.State.SKIPPED, rater__withdrawal=None
    )
    fields = (
        "rater__pseudonym", "task__external_id", "task__item_version__item__external_id",
        "task__item_version__number", "protocol_version__number", "skip_reason", "skip_comment", "leased_at",
        "closed_at",
    )  # fmt: skip
    ordered = rows.order_by("rater__pseudonym", "closed_at", "pk").values(*fields)
    for row in ordered.iterator(chunk_size=JUDGMENT_BATCH):
        yield {
            "study": study.slug,
            "item": row["task__item_version__item__external_id"],
            "item_version": row["task__item_version__number"],
            "task": row["task__external_id"],
            "rater": row["rater__pseudonym"],
            "reason": row["skip_reason"],
            "comment": row["skip_comment"],
            "protocol_version": row["protocol_version__number"],
            "leased_at": utc_text(row["leased_at"]),
            "skipped_at": utc_text(row["closed_at"]),
        }


# Review cases and corrections.


class Person(NamedTuple):
    """`pseudonym` is empty for those who do not rate, `role` for those who are no longer members."""

    pseudonym: str = ""
    role: str = ""


def people_by_account(study: Study) -> dict[int, Person]:
    raters = Rater.objects.filter(study=study, user__isnull=False, withdrawal=None)
    roles = dict(Membership.objects.filter(study=study).values_list("user_id", "role"))
    pseudonyms = dict(raters.values_list("user_id", "pseudonym"))
    return {
        user: Person(pseudonyms.get(user, ""), roles.get(user, ""))
        for user in pseudonyms.keys() | roles.keys()
    }


def is_withdrawn(rater: Rater | None) -> bool:
    """Read with `select_related("withdrawal")`."""
    return rater is not None and hasattr(rater, "withdrawal")


def withdrawn_accounts(study: Study) -> set[int]:
    """Accounts of those who have withdrawn: as experts they may have left words elsewhere than in judgments."""
    gone = Rater.objects.filter(study=study, user__isnull=False, withdrawal__isnull=False)
    return {user for user in gone.values_list("user_id", flat=True) if user is not None}


def case_records(study: Study) -> Iterator[Record]:
    """In the order opened. `blind_judgment` is the `client_id` of a judgment of origin `expert`. Of an expert who has
    withdrawn, comments and times are not told; how the case stands is."""
    known, gone = people_by_account(study), withdrawn_accounts(study)
    rows = ReviewCase.objects.filter(study=study).order_by("pk")
    rows = rows.select_related(
        "item", "item_version", "task", "blind_judgment__rater__withdrawal"
    ).prefetch_related(
        Prefetch("reasons", CaseReason.objects.order_by("fired_at", "pk")),
        Prefetch("returns", Return.objects.order_by("pk").select_related("task", "rater__withdrawal")),
    )
    claims = CaseEvent.objects.filter(case=OuterRef("pk"), kind=CaseEvent.Kind.CLAIMED).order_by("-at")
    rows = rows.annotate(
        claimed_at=Subquery(claims.values("at")[:1]), claimant=Subquery(claims.values("actor")[:1])
    )
    for row in rows.iterator(chunk_size=ITEM_BATCH):
        claimed_at = None if row.claimant in gone else utc_text(row.claimed_at)
        yield {"study": study.slug, **_case(row, known, gone, claimed_at=claimed_at)}


def _case(
    row: ReviewCase, known: Mapping[int, Person], gone: Collection[int], *, claimed_at: str | None
) -> Record:
    expert, has_gone = known.get(row.decided_by_id or 0, Person()), row.decided_by_id in gone
    blind = row.blind_judgment
    if blind is not None and is_withdrawn(blind.rater):
        blind = None
    return {
        "case": row.pk,
        "item": row.item.external_id,
        "item_version": row.item_version.number,
        "task": row.task.external_id if row.task else None,
        "rules": [{"rule": one.rule, "fired_at": utc_text(one.fired_at)} for one in row.reasons.all()],
        "state": row.state,
        "decision": row.decision,
        "comment": "" if has_gone else row.comment,
        "expert": expert.pseudonym,
        "expert_role": expert.role,
        "blind_judgment": str(blind.client_id) if blind else None,
        "blind_at": utc_text(blind.submitted_at) if blind else None,
        "opened_at": utc_text(row.created_at),
        "claimed_at": claimed_at,
        "decided_at": None if has_gone else utc_text(row.resolved_at),
        "returns": [_return(one, gone) for one in row.returns.all()],
    }


def _return(row: Return, gone: Collection[int]) -> Record:
    """`to` is the rater's pseudonym, empty for one who has withdrawn, or "pool"."""
    asker_gone, asked_gone = row.created_by_id in gone, is_withdrawn(row.rater)
    return {
        "to": "" if asked_gone else row.rater.pseudonym if row.rater else "pool",
        "task": row.task.external_id,
        "wanted": row.n_wanted,
        "comment": "" if asker_gone else row.comment,
        "state": row.state,
        "reply": "" if asked_gone else row.reply,
        "returned_at": None if asker_gone else utc_text(row.created_at),
        "closed_at": None if asked_gone else utc_text(row.closed_at),
    }


def correction_records(study: Study) -> Iterator[Record]:
    """In the order made. `undone`: the version it made was taken back, and is not the item's text. Of an author who has
    withdrawn, comment and time are not told; what they made of the item is."""
    known, gone = people_by_account(study), withdrawn_accounts(study)
    rows = Correction.objects.filter(version_after__item__study=study).order_by("pk")
    rows = rows.select_related("version_before", "version_after__item", "draft")
    for row in rows.iterator(chunk_size=JUDGMENT_BATCH):
        author, has_gone = known.get(row.author_id, Person()), row.author_id in gone
        yield {
            "study": study.slug,
            "item": row.version_after.item.external_id,
            "version_before": row.version_before.number,
            "version_after": row.version_after.number,
            "undone": row.version_after.retracted,
            "case": row.case_id,
            "field": row.field,
            "before": row.before,
            "after": row.after,
            "reason": row.reason,
            "comment": "" if has_gone else row.comment,
            "origin": row.origin,
            "draft_writer": row.draft.writer if row.draft else "",
            "draft_text": row.draft.text if row.draft else "",
            "draft_provenance": without_paths(row.draft.provenance) if row.draft else None,
            "author": author.pseudonym,
            "author_role": author.role,
            "corrected_at": None if has_gone else utc_text(row.created_at),
        }
