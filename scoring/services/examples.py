"""From rows to what a metric is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from django.core.files.storage import default_storage

from annotation.models import Clip, ItemVersion
from scoring.metrics.contract import Example, Fault, Outcome, Sound
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
    wanted = ScoringRow.objects.filter(pk__in=rows).select_related(
        "candidate__clip", "candidate__item_version__clip", "other__clip"
    )
    peaks = ("candidate__clip__peaks", "candidate__item_version__clip__peaks", "other__clip__peaks")
    found = list(wanted.defer(*peaks).order_by("pk"))
    there = set() if run.again else _scored(run, found)
    loaded = Loaded()
    for row in found:
        if (row.candidate_id, row.other_id) in there:
            loaded.scored.append(row.pk)
        elif isinstance(made := _example(row), Example):
            loaded.examples.append(made)
        else:
            loaded.faults.append(Outcome(row.pk, fault=made))
    return loaded


def _scored(run: ScoringRun, rows: Sequence[ScoringRow]) -> set[tuple[int, int | None]]:
    candidates = [row.candidate_id for row in rows]
    scores = Score.objects.filter(scorer=run.scorer, candidate_id__in=candidates)
    return set(scores.values_list("candidate_id", "other_id"))


def _example(row: ScoringRow) -> Example | Fault:
    version = row.candidate.item_version
    candidates = [row.candidate, *([row.other] if row.other else [])]
    clips = [candidate.clip for candidate in candidates if candidate.clip]
    if not clips:
        clips = [version.clip] if version.clip else []
        texts = [candidate.text for candidate in candidates]
    else:
        # A clip beside a text cannot be compared: it lacks the other's sound.
        clips = clips if len(clips) == len(candidates) else []
        texts = [version.prompt]
    if not clips:
        return Fault("no_sound", NO_SOUND)
    if not all(text.strip() for text in texts):
        return Fault("no_text", NO_TEXT)
    return Example(row.pk, tuple(map(_sound, clips)), tuple(texts), _fields(version))


def _sound(clip: Clip) -> Sound:
    """What was handed in, not the canonical copy: that is what the hash names, and what others have scored."""
    return Sound(clip.sha256, Path(default_storage.path(str(clip.original.name))), clip.duration_s)


def _fields(version: ItemVersion) -> dict[str, str]:
    return {name: text for name in _FIELDS if (text := getattr(version, name))}
