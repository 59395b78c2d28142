"""Ways of not doing what the prompt asked. Each turns the brief into another brief, then played faithfully.

Costs are in log-odds of being preferred on alignment, against a clip that follows the prompt.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from annotation.demo.brief import Brief

COSTS = {
    "wrong_instrument": 1.6,
    "wrong_tempo": 1.4,
    "wrong_mode": 1.2,
    "missing_drums": 1.2,
    "unasked_drums": 1.2,
    "missing_voice": 1.8,
    "ignored_reference": 1.4,
}
# The replacement is chosen to be heard at once: struck for bowed, sustained for plucked.
SUBSTITUTES = {
    "pluck": "organ",
    "harp": "organ",
    "electric_piano": "bell",
    "organ": "pluck",
    "bell": "organ",
    "marimba": "strings",
    "flute": "electric_piano",
    "strings": "marimba",
}
TOO_SLOW, TOO_FAST = 0.7, 1.4


def failures_open_to(brief: Brief, *, with_reference: bool) -> list[str]:
    """The failures that this brief leaves room for."""
    kinds = ["wrong_instrument", "wrong_tempo", "wrong_mode"]
    kinds.append("missing_drums" if brief.drums else "unasked_drums")
    if brief.syllables:
        kinds.append("missing_voice")
    if with_reference:
        kinds.append("ignored_reference")
    return kinds


def failed(brief: Brief, kind: str) -> Brief:
    """The brief as misunderstood. An ignored reference leaves it alone: another melody is drawn."""
    return _FAILURES[kind](brief)


def featured(brief: Brief) -> str:
    """The instrument that the prompt is about: the lead, or what accompanies the voice."""
    return brief.chords if brief.syllables else brief.lead


def wrong_bpm(brief: Brief) -> int:
    return round(brief.bpm * (TOO_SLOW if brief.bpm >= 100 else TOO_FAST))


def _wrong_instrument(brief: Brief) -> Brief:
    asked = featured(brief)
    other = SUBSTITUTES[asked]
    lead = other if brief.lead == asked else brief.lead
    return replace(brief, lead=lead, chords=other if brief.chords == asked else brief.chords)


def _missing_voice(brief: Brief) -> Brief:
    return replace(brief, lead="flute", syllables=())


_FAILURES: dict[str, Callable[[Brief], Brief]] = {
    "wrong_instrument": _wrong_instrument,
    "wrong_tempo": lambda brief: replace(brief, bpm=wrong_bpm(brief)),
    "wrong_mode": lambda brief: replace(brief, mode="minor" if brief.mode == "major" else "major"),
    "missing_drums": lambda brief: replace(brief, drums=""),
    "unasked_drums": lambda brief: replace(brief, drums="backbeat" if brief.meter == 4 else "waltz"),
    "missing_voice": _missing_voice,
    "ignored_reference": lambda brief: brief,
}
