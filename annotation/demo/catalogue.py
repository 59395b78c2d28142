"""The prompts, the systems that answered them, and who meets whom."""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import dataclass, replace
from itertools import combinations, cycle
from pathlib import Path
from typing import Any

from annotation.demo.brief import TONICS, Brief
from annotation.demo.performance import Sound

_PROMPTS = Path(__file__).with_name("prompts.toml")
_DEFAULTS: dict[str, Any] = {
    "meter": 4,
    "chords_per_bar": 2,
    "sevenths": False,
    "bass": "",
    "drums": "",
    "swing": 0.5,
}
_TEST_EVERY = 4  # every fourth prompt is held out, with all of its comparisons


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """`reference` is the brief of the reference clip; it shares its melody with the clips that heed it."""

    id: str
    text: str
    lyrics: str
    brief: Brief
    reference: Brief | None
    split: str


@dataclass(frozen=True, kw_only=True)
class MusicSystem:
    """`quality` and `adherence` are log-odds of being preferred, 0 for a system that never errs.

    `weaknesses` are the flaws it tends to, the likeliest first; so are the `misunderstandings`.
    """

    name: str
    quality: float
    adherence: float
    sound: Sound
    weaknesses: tuple[str, ...]
    misunderstandings: tuple[str, ...]


_REQUESTS = ("wrong_tempo", "wrong_instrument", "missing_drums", "unasked_drums", "wrong_mode")
SYSTEMS = (
    MusicSystem(
        name="Aria-1", quality=-0.2, adherence=-0.3, sound=Sound(32000, 2, -19),
        weaknesses=("clicks", "muffled"), misunderstandings=("wrong_mode", "missing_drums", "unasked_drums"),
    ),
    MusicSystem(
        name="Brook", quality=-1.2, adherence=-0.5, sound=Sound(32000, 2, -21),
        weaknesses=("muffled", "unsteady", "abrupt_end"), misunderstandings=("wrong_mode", "wrong_tempo"),
    ),
    MusicSystem(
        name="Cadenza-S", quality=-0.6, adherence=-1.8, sound=Sound(48000, 1, -17),
        weaknesses=("abrupt_end", "clicks", "hiss"),
        misunderstandings=("ignored_reference", "missing_voice", *_REQUESTS),
    ),
    MusicSystem(
        name="Drone-0", quality=-3.4, adherence=-2.7, sound=Sound(32000, 1, -15),
        weaknesses=("looped_bar", "clipping", "hiss", "wrong_notes", "abrupt_end", "unsteady"),
        misunderstandings=("missing_voice", "ignored_reference", *_REQUESTS),
    ),
    MusicSystem(
        name="Etude-XL", quality=-2.1, adherence=-1.2, sound=Sound(32000, 2, -23),
        weaknesses=("wrong_notes", "unsteady", "hiss", "clicks"),
        misunderstandings=("wrong_tempo", "unasked_drums", "missing_drums", "wrong_instrument"),
    ),
)  # fmt: skip


def load_prompts() -> tuple[Prompt, ...]:
    rows = tomllib.loads(_PROMPTS.read_text(encoding="utf-8"))["prompt"]
    return tuple(_prompt(number, row) for number, row in enumerate(rows, start=1))


def _prompt(number: int, row: dict[str, Any]) -> Prompt:
    tonic, mode = row["key"].rsplit(" ", 1)
    lines = row.get("lyrics", [])
    given = {key: row[key] for key in row.keys() - {"text", "key", "lyrics", "reference", "progression"}}
    brief = Brief(
        tonic=TONICS[tonic],
        mode=mode,
        progression=tuple(row["progression"]),
        syllables=tuple(tuple(line.replace("·", " ").split()) for line in lines),
        **(_DEFAULTS | given),
    )
    return Prompt(
        id=f"concord-{number:02d}",
        text=row["text"],
        lyrics="\n".join(line.replace("·", "") for line in lines),
        brief=brief,
        reference=_reference(brief, row["reference"]) if "reference" in row else None,
        split="train" if number % _TEST_EVERY else "test",
    )


def _reference(brief: Brief, instrument: str) -> Brief:
    """The melody over quiet held strings: enough to know the tune, not the arrangement."""
    plain = replace(brief, chords="strings", pattern="held", bass="", drums="", sevenths=False, swing=0.5)
    return replace(plain, lead=instrument, syllables=())


def contests(prompts: tuple[Prompt, ...]) -> list[tuple[Prompt, tuple[str, ...]]]:
    """The systems that answer each prompt: three, then two, in turn. All of a prompt's systems are compared.

    The trios go round all ten; the duels even out how often each pair of systems meets.
    """
    names = [system.name for system in SYSTEMS]
    trios = cycle(combinations(names, 3))
    met: Counter[tuple[str, ...]] = Counter(dict.fromkeys(combinations(names, 2), 0))
    out: list[tuple[Prompt, tuple[str, ...]]] = []
    for i, prompt in enumerate(prompts):
        group = next(trios) if i % 2 == 0 else min(met, key=lambda pair: met[pair])
        met.update(combinations(group, 2))
        out.append((prompt, group))
    return out
