"""FENSE: which of two captions describes a sound better, by four people each.

Zhou et al., ICASSP 2022. Layout as in the authors' repository (blmoistawinde/fense, branch experiment-code, dataset/):
`audiocaps_eval.json` and `clotho_eval.json` are lists of clips; HC, HI, HM and MM_1 to MM_5 hold caption 0, caption 1,
their two sources and, last, the four votes: 1 for caption 0, -1 for caption 1, 0 for neither. 208 of the AudioCaps
entries have a stray element before the votes, some are null. The sum of the votes decides; 0 is a tie (the authors'
experiment/dataloader.py).

The sounds are not in that repository: Clotho's evaluation split has files of the `raw_name` given; AudioCaps gives a
YouTube id, with a `raw_name` for some, and its files are found by either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analytics.benchmarks.contract import Choice, Folder, Units

PUBLISHED = (
    "FENSE's votes are published in blmoistawinde/fense on GitHub (branch experiment-code, folder dataset); put the "
    "sounds of the evaluation splits of AudioCaps and Clotho into the same folder."
)

SETS = {"audiocaps": "AudioCaps-Eval", "clotho": "Clotho-Eval"}
CATEGORIES = ("HC", "HI", "HM", "MM")


@dataclass(frozen=True)
class CaptionPair:
    """Two captions of one clip and the votes on them."""

    clip: Mapping[str, Any]
    category: str
    captions: tuple[str, str]
    votes: tuple[int, ...]


def fense_pairs(folder: Folder, units: Units, parts: Iterable[str] = SETS) -> Iterator[Choice]:
    for name in parts:
        sounds: dict[str, Path | None] = {}
        for pair in caption_pairs(folder, name):
            clip = _name(pair.clip)
            if clip not in sounds:
                sounds[clip] = _sound(folder, pair.clip)
            if (sound := sounds[clip]) is not None:
                first, second = (units.number(sound, caption) for caption in pair.captions)
                of_parts = f"{SETS[name]}/{pair.category}", f"{SETS[name]}/All"
                yield Choice(first, second, float(sum(pair.votes)), of_parts, cluster=clip)
        folder.check(part=SETS[name])


def caption_pairs(folder: Folder, name: str) -> Iterator[CaptionPair]:
    """The pairs of one set, without needing its sounds."""
    path = folder.file((f"{name}_eval.json", f"dataset/{name}_eval.json"))
    for number, clip in enumerate(folder.json(path)):
        if not _name(clip):
            raise folder.invalid_row(
                path, f"clip {number}", "neither raw_name nor audio_id says which sound it is"
            )
        for key, pair in clip.items():
            category = key.partition("_")[0]
            if category not in CATEGORIES or pair is None:
                continue
            if not _is_pair(pair):
                raise folder.invalid_row(
                    path, f"clip {number}, {key}", "is not two captions, sources and votes"
                )
            yield CaptionPair(clip, category, (pair[0], pair[1]), tuple(pair[-1]))


def _is_pair(pair: Any) -> bool:
    return (
        isinstance(pair, list)
        and len(pair) >= 3
        and all(isinstance(caption, str) for caption in pair[:2])
        and isinstance(pair[-1], list)
        and bool(pair[-1])
        and all(vote in (-1, 0, 1) for vote in pair[-1])
    )


def _name(clip: Mapping[str, Any]) -> str:
    return str(clip.get("raw_name") or clip.get("audio_id") or "")


def _sound(folder: Folder, clip: Mapping[str, Any]) -> Path | None:
    """By the file's own name, or else by the video's."""
    own, video = clip.get("raw_name"), clip.get("audio_id")
    if own and (not video or folder.holds(own)):
        return folder.sound(str(own))
    return folder.video(str(video))
