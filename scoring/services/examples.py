"""From rows to what a metric is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from annotation.models import Candidate, Clip, ItemVersion
from annotation.services import local_copies
from scoring.metrics import registry
from scoring.metrics.contract import Example, Fault, Outcome, Sound
from scoring.metrics.entries import Entry
from scoring.models import Score, ScoringRow, ScoringRun

NO_SOUND = "There is no sound: neither the candidate nor its item has a clip."
NO_TEXT = "There is no text: the item has no prompt, or the candidate's text is empty."
_FIELDS = ("prompt", "question", "reference", "rationale", "transcript", "lyrics")


@dataclass
class Loaded:
    """What became of a batch's rows: those to score, those that cannot be, and those that have their score by now."""

    examples: list[Example] = field(default_factory=list)
    faults: list[Outcome] = field(default_factory=list)
    scored: list[int] = field(default_factory=list)


def load(run: ScoringRun, rows: Sequence[int]) -> Loaded:
    """The examples of these rows, by two queries. Another run may have scored some of them since this one began."""
    clips = (
        "candidate__clip",
        "candidate__item_version__clip",
        "candidate__item_version__reference_clip",
        "other__clip",
    )
    wanted = ScoringRow.objects.filter(pk__in=rows).select_related(*clips)
    found = list(wanted.defer(*(f"{clip}__peaks" for clip in clips)).order_by("pk"))
    there = set() if run.again else _scored(run, found)
    loaded, entry = Loaded(), registry.entry(run.metric)
    for row in found:
        if (row.candidate_id, row.other_id) in there:
            loaded.scored.append(row.pk)
        elif isinstance(made := _example(row, entry), Example):
            loaded.examples.append(made)
        else:
            loaded.faults.append(Outcome(row.pk, fault=made))
    return loaded


def _scored(run: ScoringRun, rows: Sequence[ScoringRow]) -> set[tuple[int, int | None]]:
    candidates = [row.candidate_id for row in rows]
    scores = Score.objects.filter(scorer=run.scorer, candidate_id__in=candidates)
    return set(scores.values_list("candidate_id", "other_id"))


def _example(row: ScoringRow, entry: Entry) -> Example | Fault:
    version = row.candidate.item_version
    candidates = [row.candidate, *([row.other] if row.other else [])]
    clips, texts = _judged(version, candidates, entry)
    if entry.hears and not clips:
        return Fault("no_sound", NO_SOUND)
    if entry.reads_text and not (texts and all(text.strip() for text in texts)):
        return Fault("no_text", NO_TEXT)
    reference = _sound(version.reference_clip) if version.reference_clip else None
    return Example(row.pk, tuple(map(_sound, clips)), tuple(texts), _fields(version), reference)


def _judged(
    version: ItemVersion, candidates: Sequence[Candidate], entry: Entry
) -> tuple[list[Clip], list[str]]:
    """The candidates' clips and the text to judge them by; or their texts, and the clip that those are about."""
    clips = [candidate.clip for candidate in candidates if candidate.clip]
    if not entry.hears:
        return [], [candidate.text for candidate in candidates if candidate.is_words]
    if clips or not entry.reads_text:
        # A clip beside a text cannot be compared: it lacks the other's sound.
        return clips if len(clips) == len(candidates) else [], [version.prompt]
    return [version.clip] if version.clip else [], [candidate.text for candidate in candidates]


def _sound(clip: Clip) -> Sound:
    """What was handed in, not the canonical copy: that is what the hash names, and what others have scored."""
    return Sound(clip.sha256, local_copies.original(clip), clip.duration_s)


def _fields(version: ItemVersion) -> dict[str, str]:
    return {name: text for name in _FIELDS if (text := getattr(version, name))}
