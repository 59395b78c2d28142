"""BRACE: which of two captions fits a sound better (Main), and which of them hallucinates (Hallucination).

Guo et al., NeurIPS 2025 (datasets and benchmarks). Layout as the authors' README and their src/data.py describe it: a
JSON list of clips for each of AudioCaps and Clotho, Main and Hallu, each with `file_name` and

    Main     "Human-Human", "Human-Machine_1", …: caption 0, caption 1, their types and, last, the votes: 1 for caption
             0, -1 for caption 1; their sum decides, 0 is a tie
    Hallu    "caption_1", …: caption 0, caption 1 and their types; the one of type "human" is faithful

and the sounds in folders of their own. The processed form of the same files (`audio_path`, `caption_0`, `caption_1`,
`answer` 0, 1 or "tie", `pair_type`) is read as well. The README warns that folders and file names may differ, so the
four files are known by the words in their names and sounds by their names, wherever they lie.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from analytics.benchmarks.contract import Choice, Folder, Units

PUBLISHED = "BRACE is published as the dataset gtysssp/audio_benchmarks on the Hugging Face Hub."

SETS = {"audiocaps": "AudioCaps", "clotho": "Clotho"}
# A clip's name, the kind of pair, its captions, and whether people prefer the first (above 0) or the second.
Pair = tuple[str, str, tuple[str, str], float]

_KINDS = {"Human-Human": "HH", "Human-Machine": "HM", "Machine-Machine": "MM"}


def brace_pairs(folder: Folder, units: Units, parts: Iterable[str] = SETS) -> Iterator[Choice]:
    for name in parts:
        for track in ("main", "hallu"):
            for clip, kind, captions, human in _pairs(folder, name, track):
                if (sound := folder.recording(PurePosixPath(clip).name)) is None:
                    continue
                first, second = (units.number(sound, caption) for caption in captions)
                main = f"{SETS[name]}-Main"
                of_parts = (f"{main}/{kind}", f"{main}/All") if kind else (f"Hallucination/{SETS[name]}",)
                yield Choice(first, second, human, of_parts, cluster=clip)
            folder.check(part=f"BRACE, {SETS[name]} {track.capitalize()}")


def _pairs(folder: Folder, name: str, track: str) -> Iterator[Pair]:
    path = folder.named(".json", (name, track))
    for number, clip in enumerate(folder.json(path)):
        try:
            if "audio_path" in clip:
                yield _processed(clip, track)
            else:
                yield from _published(clip, track)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            what = f"does not have the form of BRACE ({type(error).__name__}: {error})"
            raise folder.invalid_row(path, f"clip {number}", what) from error


def _published(clip: Mapping[str, Any], track: str) -> Iterator[Pair]:
    for key, pair in clip.items():
        if key in ("file_name", "references"):
            continue
        captions = str(pair[0]), str(pair[1])
        if track == "main":
            yield clip["file_name"], _KINDS[key.partition("_")[0]], captions, float(sum(pair[-1]))
        else:
            if (pair[2] == "human") == (pair[3] == "human"):
                raise ValueError(f"{key}: one of the two types has to be 'human'")
            yield clip["file_name"], "", captions, 1.0 if pair[2] == "human" else -1.0


def _processed(pair: Mapping[str, Any], track: str) -> Pair:
    human = {0: 1.0, 1: -1.0, "0": 1.0, "1": -1.0, "tie": 0.0}[pair["answer"]]
    kind = _KINDS[pair["pair_type"].partition("_")[0]] if track == "main" else ""
    return pair["audio_path"], kind, (pair["caption_0"], pair["caption_1"]), human
