"""Was enough heard before this vote, and can the log be true? The browser tells what played; we add it up again.

A log's `heard` holds, by clip, the stretches of it that really sounded, in seconds of the clip: [[0, 4.8], [6, 7.2]].
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from annotation.rules.answers import Problem
from annotation.rules.listening import Conditions, Heard

Interval = tuple[float, float]

# What rounding in the log and the end of a clip may cost.
TOLERANCE_S = 0.1
# One clip sounds at a time, so nobody hears more seconds than pass; the two clocks may differ by this much.
CLOCK_TOLERANCE_S = 1.0
_LONGEST_CLIP_S = 86_400
_TITLES = {"reference": "The reference clip", "recording": "The recording"}


@dataclass(frozen=True)
class Log:
    """The part of a browser's log that is checked; `problems` says what of it makes no sense."""

    heard: Mapping[str, list[Interval]]
    switches: int
    problems: list[Problem]

    @property
    def seconds(self) -> float:
        """Of listening in all, what was heard twice counted twice."""
        return sum(end - start for intervals in self.heard.values() for start, end in intervals)


def read(telemetry: Mapping[str, Any] | None) -> Log:
    """No log is a log of nothing heard."""
    problems: list[Problem] = []
    told = {} if telemetry is None else telemetry
    heard = told.get("heard", {})
    if not isinstance(heard, Mapping):
        problems.append(Problem("telemetry.heard", "Send the stretches heard of each clip, by its name."))
        heard = {}
    stretches = {str(name): _intervals(str(name), said, problems) for name, said in heard.items()}
    switches = told.get("switches", 0)
    if isinstance(switches, bool) or not isinstance(switches, int) or not 0 <= switches < 1_000_000:
        problems.append(Problem("telemetry.switches", "Send how often the rater switched, a whole number."))
        switches = 0
    return Log(stretches, switches, problems)


def unique_seconds(intervals: Iterable[Interval], *, duration: float = math.inf) -> float:
    """The seconds of a clip that these stretches cover, each moment counted once."""
    covered, reached = 0.0, 0.0
    for start, end in sorted(intervals):
        end = min(end, duration)
        covered += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return covered


def check(
    telemetry: Mapping[str, Any] | None, *, conditions: Conditions, wall_seconds: float
) -> list[Problem]:
    """Every fault of a log; empty when the vote may stand. `wall_seconds` have passed since the task was handed out."""
    log = read(telemetry)
    return log.problems or _impossible(log, conditions, wall_seconds) or _missing(log, conditions)


def _intervals(name: str, said: Any, problems: list[Problem]) -> list[Interval]:
    field = f"telemetry.heard.{name}"
    if not isinstance(said, list | tuple):
        problems.append(Problem(field, "Send a list of [from, to] in seconds."))
        return []
    if not all(_is_interval(each) for each in said):
        problems.append(Problem(field, "A stretch is [from, to] in seconds of the clip, from before to."))
        return []
    return [(max(0.0, float(start)), max(0.0, float(end))) for start, end in said]


def _is_interval(said: Any) -> bool:
    if not isinstance(said, list | tuple) or len(said) != 2:
        return False
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in said):
        return False
    start, end = said
    return bool(-TOLERANCE_S <= start <= end <= _LONGEST_CLIP_S)  # nothing is, beside NaN


def _impossible(log: Log, conditions: Conditions, wall_seconds: float) -> list[Problem]:
    problems = []
    passed, claimed = _plain(wall_seconds), _plain(log.seconds)
    for name, intervals in log.heard.items():
        clip = conditions.named(name)
        end = max((end for _, end in intervals), default=0.0)
        if clip is None:
            problems.append(Problem(f"telemetry.heard.{name}", "This task has no clip of this name."))
        elif end > clip.duration + TOLERANCE_S:
            text = (
                f"{_title(name)} ends after {_plain(clip.duration)} s, yet was heard until {_plain(end)} s."
            )
            problems.append(Problem(f"telemetry.heard.{name}", text))
    if log.seconds > wall_seconds + CLOCK_TOLERANCE_S:
        text = f"{claimed} s of listening do not fit into the {passed} s since this task was handed out."
        problems.append(Problem("telemetry.heard", text))
    return problems


def _missing(log: Log, conditions: Conditions) -> list[Problem]:
    problems = [problem for clip in conditions.clips if (problem := _unheard(clip, log))]
    if log.switches < conditions.min_switches:
        wanted = "once" if conditions.min_switches == 1 else f"{conditions.min_switches} times"
        text = f"Switch between the clips at least {wanted} before you decide."
        problems.append(Problem("telemetry.switches", text))
    return problems


def _unheard(clip: Heard, log: Log) -> Problem | None:
    heard = unique_seconds(log.heard.get(clip.name, []), duration=clip.duration)
    if heard + TOLERANCE_S >= clip.must_hear:
        return None
    text = f"{_title(clip.name)}: heard {_plain(heard)} s of {_plain(clip.must_hear)} s."
    return Problem(f"telemetry.heard.{clip.name}", text)


def _title(name: str) -> str:
    return _TITLES.get(name) or f"Clip {name.upper()}"


def _plain(seconds: float) -> str:
    return f"{round(seconds, 1):g}"
