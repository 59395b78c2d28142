"""The tables of a release. The names of their columns are a promise to whoever reads releases."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from analytics.datasets import snapshot_sql
from analytics.datasets.columnar import Column
from analytics.datasets.values import without_paths


def _without_paths(value: str) -> str:
    """JSON of what models wrote, without servers' addresses and folders."""
    return json.dumps(without_paths(json.loads(value)), ensure_ascii=False)


def _extra_without_paths(value: str) -> str:
    """What an import brought beside, as it came; only what was written here names places of this installation."""
    extra = json.loads(value)
    if "written" not in extra:
        return value
    return json.dumps({**extra, "written": without_paths(extra["written"])}, ensure_ascii=False)


@dataclass(frozen=True)
class ReleaseTable:
    """One table. `key` tells its rows apart in every release; `changing` are the columns by which two releases can
    differ in the same row (empty: any)."""

    about: str
    select: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    changing: tuple[str, ...] = ()
    changes: Mapping[str, Callable[[str], str]] = field(default_factory=dict)


def _columns(*rows: tuple[str, str, str]) -> tuple[Column, ...]:
    return tuple(Column(*row) for row in rows)


def _clip(prefix: str, what: str) -> tuple[tuple[str, str, str], ...]:
    return (
        (f"{prefix}_sha256", "text", f"hash of {what} as it was handed in"),
        (f"{prefix}_canonical_sha256", "text", "hash of the 48 kHz FLAC that raters heard"),
        (f"{prefix}_seconds", "real", "its length"),
        (f"{prefix}", "text", "where it lies in this release, if that has audio"),
    )


RELEASE_TABLES: dict[str, ReleaseTable] = {
    "judgments": ReleaseTable(
        "a row per answer of each judgment, whether or not it counts",
        snapshot_sql.JUDGMENTS,
        _columns(
            ("judgment", "text", "the judgment's name; its answers share it"),
            ("item", "text", "what was judged"),
            ("item_version", "int", "in which version"),
            ("task", "text", "the item with the candidates shown"),
            ("task_kind", "word", "regular, training, gold, trap or repeat"),
            ("systems", "texts", "who made each candidate, in the task's own order"),
            ("takes", "ints", "which output of that system"),
            (
                "presentation",
                "ints",
                "which candidate (from 0) stood at each place shown; empty if not known",
            ),
            (
                "rater",
                "word",
                "pseudonym; null for those whom an import did not name, or who were anonymised",
            ),
            (
                "origin",
                "word",
                "rated, imported, simulated or expert (an expert's own, before seeing the votes)",
            ),
            ("revision", "int", "1, and more after changes of mind"),
            ("effective", "flag", "it is the last revision, and came in time"),
            ("excluded", "flag", "it is kept out of analysis"),
            ("exclusion_reason", "word", "why"),
            ("surplus", "flag", "it came when its task was full"),
            ("counted", "flag", "it counts: effective, not excluded, no expert's own"),
            ("protocol_version", "int", "what was asked, by the manifest's protocols"),
            ("question", "word", "its key; null where codes alone were given"),
            ("question_kind", "word", "preference, rating, correctness, events or text"),
            ("slot", "int", "the candidate (from 0) that the answer is about; null for the task as a whole"),
            ("system", "word", "who made that candidate"),
            ("choice", "word", "the system preferred, tie or both_bad"),
            ("choice_slot", "int", "the candidate (from 0) preferred"),
            ("choice_shown", "word", "the side chosen as the rater saw it: A, B, tie or both_bad"),
            ("value", "real", "the rating"),
            ("confidence", "real", "how sure the rater was"),
            ("text", "text", "the answer in words"),
            ("events", "json", "the answer as events in time"),
            ("codes", "texts", "feedback codes"),
            ("comment", "text", "what the rater added"),
            ("hint", "json", "what a model said of the task when it was handed out"),
            ("hint_shown", "flag", "whether the rater saw it"),
            ("ordering_policy", "int", "which of the manifest's policies chose the task"),
            ("inclusion_probability", "real", "the chance that it had then"),
            ("leased_at", "moment", "when the task was handed out"),
            ("started_at", "moment", "when the rater began"),
            ("submitted_at", "moment", "when the answer was stored"),
        ),
        ("judgment", "task", "question", "slot"),
        ("rater", "revision", "origin", "effective", "excluded", "exclusion_reason"),
    ),
    "listening": ReleaseTable(
        "a row per judgment of which something is known about how it was listened to",
        snapshot_sql.LISTENING,
        _columns(
            ("judgment", "text", "as in judgments"),
            (
                "log",
                "json",
                "what the browser observed: heard spans in seconds of each clip, switches, volume",
            ),
            ("gains_db", "json", "playback gain of each candidate, in the order shown"),
        ),
        ("judgment",),
        # What was observed while somebody judged stays as it is; a row is there or not.
        ("gains_db",),
    ),
    "items": ReleaseTable(
        "a row per version of each item",
        snapshot_sql.ITEMS,
        _columns(
            ("item", "text", "its name"),
            ("version", "int", "1 as it was imported; corrections made the others"),
            ("current", "flag", "it is the item's present text"),
            ("retracted", "flag", "the correction that made it was undone"),
            ("state", "word", "active or withdrawn"),
            ("strata", "json", "what results are broken down by"),
            ("prompt", "text", "what the systems were asked for"),
            ("lyrics", "text", "words to be sung"),
            ("question", "text", "what was asked about the sound"),
            ("reference_answer", "text", "the right answer"),
            ("rationale", "text", "why it is right"),
            ("transcript", "text", "what is said in the sound"),
            ("extra", "json", "what else the import brought, and by which models texts were written"),
            *_clip("reference_audio", "the reference clip"),
            *_clip("audio", "the item's own clip"),
        ),
        ("item", "version"),
        changes={"extra": _extra_without_paths},
    ),
    "candidates": ReleaseTable(
        "a row per output of a system for a version of an item",
        snapshot_sql.CANDIDATES,
        _columns(
            ("item", "text", "as in items"),
            ("item_version", "int", "as in items"),
            ("system", "word", "who made it"),
            ("role", "word", "judged, hidden_reference, anchor_3500 or anchor_7000"),
            ("take", "int", "the how-many-eth output of that system"),
            ("text", "text", "the answer in words"),
            ("carried_from", "int", "the version it was taken over from"),
            ("provenance", "json", "which model wrote it here, from what"),
            *_clip("audio", "the clip"),
        ),
        ("item", "item_version", "system", "take"),
        changes={"provenance": _without_paths},
    ),
    "raters": ReleaseTable(
        "a row per rater who has a name and said something or finished a listening check",
        snapshot_sql.RATERS,
        _columns(
            ("rater", "word", "pseudonym"),
            ("origin", "word", "person, imported or simulated"),
            ("judgments", "int", "rows of judgments under their name, revisions among them"),
            ("counted", "int", "those that count"),
            ("excluded", "int", "those kept out"),
            ("surplus", "int", "those that came when the task was full"),
            ("revisions", "int", "changes of mind"),
            ("checks", "int", "listening checks taken to their end"),
            ("checks_passed", "int", "those passed"),
        ),
        ("rater",),
    ),
    "corrections": ReleaseTable(
        "a row per field of an item that an expert changed",
        snapshot_sql.CORRECTIONS,
        _columns(
            ("item", "text", "as in items"),
            ("version_before", "int", "the version that was corrected"),
            ("version_after", "int", "the version that the correction made"),
            ("undone", "flag", "it was taken back"),
            ("case", "int", "the review case, as in cases"),
            ("field", "word", "what was changed"),
            ("before", "text", "what it was"),
            ("after", "text", "what it became"),
            ("reason", "word", "why, as a code"),
            ("comment", "text", "why, in words"),
            ("origin", "word", "expert, draft (a model's, taken as it was) or edited"),
            ("draft_writer", "word", "which model had drafted it"),
            ("draft_text", "text", "what it had written"),
            ("draft_provenance", "json", "with which model and prompt"),
            ("author", "word", "pseudonym; null for those who do not rate, or have withdrawn"),
            ("corrected_at", "moment", "when"),
        ),
        ("item", "version_after", "field"),
        changes={"draft_provenance": _without_paths},
    ),
    "cases": ReleaseTable(
        "a row per version of an item that came before the experts",
        snapshot_sql.CASES,
        _columns(
            ("case", "int", "its number"),
            ("item", "text", "as in items"),
            ("item_version", "int", "as in items"),
            ("rules", "json", "what brought it there, and when"),
            ("state", "word", "open, claimed, returned or resolved"),
            ("decision", "word", "corrected, fine, withdrawn or superseded"),
            ("comment", "text", "what the expert added"),
            ("expert", "word", "pseudonym; null for those who do not rate, or have withdrawn"),
            ("blind_judgment", "text", "the expert's own, given before they saw the votes; as in judgments"),
            ("returns", "int", "how often raters were asked again"),
            ("came_back", "int", "how often that was over"),
            ("opened_at", "moment", "when it was opened"),
            ("claimed_at", "moment", "when it was last taken on"),
            ("decided_at", "moment", "when it was decided"),
        ),
        ("case",),
    ),
    "checks": ReleaseTable(
        "a row per finished listening check",
        snapshot_sql.CHECKS,
        _columns(
            ("rater", "word", "as in raters"),
            ("check", "word", "level, left_right, antiphase or huggins"),
            ("passed", "flag", "whether it was passed"),
            ("n_correct", "int", "right answers; null where none is wrong"),
            ("n_trials", "int", "of how many"),
            ("started_at", "moment", "when it was begun"),
            ("finished_at", "moment", "when it was finished"),
        ),
        ("rater", "check", "finished_at"),
    ),
}
