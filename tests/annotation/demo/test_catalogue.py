from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest

from annotation.demo.clips import SYSTEMS, Prompt, contests, featured, load_prompts
from annotation.demo.raters import INSTRUMENT_NAMES, key_name

PROMPTS = load_prompts()
SAID_OF = {"bell": ("bells", "music box"), "electric_piano": ("electric piano",), "pluck": ("guitar",)}


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: prompt.id)
def test_a_prompt_says_what_its_brief_asks_for(prompt: Prompt) -> None:
    text, brief = prompt.text.lower(), prompt.brief
    assert f"{brief.bpm} bpm" in text
    assert key_name(brief.tonic, brief.mode).lower() in text
    names = SAID_OF.get(featured(brief), (INSTRUMENT_NAMES[featured(brief)],))
    assert any(name in text for name in names)
    assert ("no drums" in text or "without drums" in text) == (not brief.drums)
    assert bool(prompt.lyrics) == (brief.lead == "voice")
    assert ("reference" in text) == (prompt.reference is not None)


def test_lyrics_are_shown_whole_and_sung_by_the_syllable() -> None:
    prompt = next(prompt for prompt in PROMPTS if prompt.id == "concord-19")
    assert prompt.lyrics == "River, hold the evening light,\ncarry me home tonight."
    assert prompt.brief.syllables[1] == ("car", "ry", "me", "home", "to", "night.")


def test_kinds_of_prompts_held_out_ones_and_meetings_of_systems_are_balanced() -> None:
    kinds = Counter((bool(prompt.lyrics), prompt.reference is not None) for prompt in PROMPTS)
    assert kinds == {(False, False): 15, (True, False): 4, (False, True): 3, (True, True): 2}
    assert Counter(prompt.split for prompt in PROMPTS) == {"train": 18, "test": 6}
    met = Counter(pair for _, names in contests(PROMPTS) for pair in combinations(names, 2))
    assert (met.total(), len(met)) == (48, 10)
    assert set(met.values()) <= {4, 5, 6}


def test_systems_differ_in_quality_and_in_adherence() -> None:
    by_quality = sorted(SYSTEMS, key=lambda system: -system.quality)
    by_adherence = sorted(SYSTEMS, key=lambda system: -system.adherence)
    assert [system.name for system in by_quality] == ["Aria-1", "Cadenza-S", "Brook", "Etude-XL", "Drone-0"]
    assert [system.name for system in by_adherence] == ["Aria-1", "Brook", "Etude-XL", "Cadenza-S", "Drone-0"]
