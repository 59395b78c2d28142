"""What a study asks of listening: its settings, and what they come to for the clips of one task."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from typing import Any

from annotation.rules import loudness
from annotation.rules.answers import Problem
from annotation.rules.loudness import Level

# Up to here a clip is short: half of it is a lot of it. A song is judged from less of it, but for longer.
SHORT_CLIP_SECONDS = 60.0
LOUDNESS = ("match", "off")


@dataclass(frozen=True)
class ListeningRules:
    """The settings of one study. A clip is heard enough after so many seconds or such a share, whichever is more.

    Zero switches a requirement off. `change_minutes` is how long a vote may be changed; `break_minutes` and
    `stop_minutes` are of work without a pause. `spectrogram`: whether raters may see one of each clip.
    """

    short_seconds: float = 10.0
    short_share: float = 0.5
    long_seconds: float = 30.0
    long_share: float = 0.25
    min_switches: int = 1
    fade_ms: int = 5
    loudness: str = "match"
    instruction_seconds: float = 3.0
    break_minutes: int = 25
    stop_minutes: int = 45
    change_minutes: int = 10
    spectrogram: bool = False

    @classmethod
    def of(cls, rules: Mapping[str, Any]) -> ListeningRules:
        """From a study's `rules`, in which only what differs from the defaults need stand."""
        stated = rules.get("listening", {})
        return cls(**{name: stated[name] for name in NAMES if name in stated})

    def seconds_required(self, duration: float) -> float:
        """How much of a clip must be heard, counting each moment once; never more than there is."""
        short = duration <= SHORT_CLIP_SECONDS
        seconds, share = (
            (self.short_seconds, self.short_share) if short else (self.long_seconds, self.long_share)
        )
        return min(duration, max(seconds, share * duration))


NAMES = tuple(field.name for field in fields(ListeningRules))
# What a vote is refused for when it was not done.
MINIMUMS = ("short_seconds", "short_share", "long_seconds", "long_share", "min_switches")


def with_earlier(rules: Mapping[str, Any], *, before: ListeningRules, until: datetime) -> dict[str, Any]:
    """A study's `rules` that also say which minimums held until now: for the tasks that were handed out under them."""
    then = {"until": until.isoformat(), **{name: getattr(before, name) for name in MINIMUMS}}
    return {**rules, "listening_before": [*rules.get("listening_before", []), then]}


def held_since(rules: Mapping[str, Any], moment: datetime) -> list[ListeningRules]:
    """From a study's `rules`: those of now, then each that held at some time since this moment."""
    now = ListeningRules.of(rules)
    earlier = [
        replace(now, **{name: then[name] for name in MINIMUMS})
        for then in rules.get("listening_before", [])
        if moment < datetime.fromisoformat(then["until"])
    ]
    return [now, *earlier]


# The least and the most of each number.
BOUNDS: dict[str, tuple[int, int]] = {
    "short_seconds": (0, 60),
    "short_share": (0, 1),
    "long_seconds": (0, 3600),
    "long_share": (0, 1),
    "min_switches": (0, 20),
    "fade_ms": (0, 50),
    "instruction_seconds": (0, 60),
    "break_minutes": (0, 240),
    "stop_minutes": (0, 480),
    "change_minutes": (0, 1440),
}
_WHOLE = {field.name for field in fields(ListeningRules) if field.type == "int"}


def faults(settings: Mapping[str, Any]) -> list[Problem]:
    """Every fault of settings that somebody wants, each with the name of its field."""
    problems = []
    for name, value in settings.items():
        if name == "loudness":
            if value not in LOUDNESS:
                problems.append(Problem(name, f"{value!r} is not one of {', '.join(LOUDNESS)}."))
        elif name == "spectrogram":
            if not isinstance(value, bool):
                problems.append(Problem(name, "Give true or false."))
        elif name not in BOUNDS:
            problems.append(Problem(name, f"There is no such setting; there are {', '.join(NAMES)}."))
        elif not _is_within(value, *BOUNDS[name], whole=name in _WHOLE):
            least, most = BOUNDS[name]
            kind = "whole number" if name in _WHOLE else "number"
            problems.append(Problem(name, f"Give a {kind} from {least} to {most}."))
    if problems:
        return problems
    break_after, stop_after = (settings.get(name, 0) for name in ("break_minutes", "stop_minutes"))
    if break_after and stop_after and stop_after <= break_after:
        return [Problem("stop_minutes", f"Give more than the {break_after} minutes until a break, or 0.")]
    return []


def _is_within(value: Any, least: float, most: float, *, whole: bool) -> bool:
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        return False
    return bool(least <= value <= most)  # NaN is not


@dataclass(frozen=True)
class Sound:
    """A clip of a task. `source` is "candidates", or the item's field; `name` what the assignment plays it as."""

    name: str
    source: str
    duration: float
    level: Level


@dataclass(frozen=True)
class Heard:
    """What an assignment does to a clip and asks of it: its gain, and the seconds that must be heard."""

    name: str
    duration: float
    gain_db: float
    must_hear: float


@dataclass(frozen=True)
class Conditions:
    """Under which conditions the clips of one assignment are heard."""

    clips: tuple[Heard, ...]
    min_switches: int

    def named(self, name: str) -> Heard | None:
        return next((clip for clip in self.clips if clip.name == name), None)


def conditions(
    rules: ListeningRules, *, sounds: Sequence[Sound], must_hear: Collection[str], one_gain: bool = False
) -> Conditions:
    """`must_hear` is what the protocol wants heard. All clips of a task are matched, the reference among them.

    Where two of them are one sound in disguise (`one_gain`), a gain of its own would give it away: all get the lowest,
    so that nothing is louder than matched and the clips keep the levels they came with.
    """
    gains = loudness.gains([sound.level for sound in sounds], match=rules.loudness == "match")
    if one_gain:
        gains = [min(gains, default=0.0) for _ in gains]
    judged = [sound for sound in sounds if sound.source == "candidates"]
    compared = len(judged) > 1 and "candidates" in must_hear
    return Conditions(
        clips=tuple(
            Heard(sound.name, sound.duration, gain, _required(rules, sound, must_hear))
            for sound, gain in zip(sounds, gains, strict=True)
        ),
        min_switches=rules.min_switches if compared else 0,
    )


def mildest(given: Sequence[Conditions]) -> Conditions:
    """Of conditions for the same clips, the least that one of them asks; the gains of the first."""
    clips = zip(*(each.clips for each in given), strict=True)
    return Conditions(
        tuple(replace(same[0], must_hear=min(clip.must_hear for clip in same)) for same in clips),
        min_switches=min(each.min_switches for each in given),
    )


def _required(rules: ListeningRules, sound: Sound, must_hear: Collection[str]) -> float:
    """To a hundredth of a second, downwards: the last sample must be enough."""
    if sound.source not in must_hear:
        return 0.0
    return math.floor(rules.seconds_required(sound.duration) * 100) / 100


def page_settings(
    rules: ListeningRules, *, conditions: Conditions, instruction_first: bool
) -> dict[str, Any]:
    """What the rater's page has to know beyond the clips."""
    names = ("fade_ms", "break_minutes", "stop_minutes", "change_minutes")
    return {
        **{name: value for name, value in asdict(rules).items() if name in names},
        "min_switches": conditions.min_switches,
        "instruction_seconds": rules.instruction_seconds if instruction_first else 0,
    }
