"""Listen-before-vote: listening settings, required seconds and gains of clips, and the check of a playback log.

A log's `heard` holds, by clip, the stretches of it that really sounded, in seconds of the clip: [[0, 4.8], [6, 7.2]].
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from annotation.errors import FieldProblem
from annotation.listening.rules import loudness
from annotation.listening.rules.loudness import ClipLevel
from annotation.studies.settings import from_stored, setting, validate
from annotation.studies.settings import gettext_noop as _

# Up to here a clip is short: half of it is a lot of it. A song is judged from less of it, but for longer.
SHORT_CLIP_SECONDS = 60.0


@dataclass(frozen=True)
class ListeningRules:
    """The settings of one study. A clip is heard enough after so many seconds or such a share, whichever is more.

    Zero switches a requirement off. `change_minutes` is how long a vote may be changed; `break_minutes` and
    `stop_minutes` are of work without a pause. `spectrogram`: whether raters may see one of each clip.
    """

    short_seconds: float = setting(
        10.0, label=_("Seconds a rater must hear of a clip of up to one minute"), least=0, most=60
    )
    short_share: float = setting(
        0.5,
        label=_("Or this share of the clip, in %"),
        help_text=_("The larger of the two holds, and never more than the clip."),
        least=0,
        most=1,
        percent=True,
    )
    long_seconds: float = setting(
        30.0, label=_("Seconds a rater must hear of a longer clip"), least=0, most=3600
    )
    long_share: float = setting(
        0.25, label=_("Or this share of the clip, in %"), least=0, most=1, percent=True
    )
    min_switches: int = setting(
        1,
        label=_("Switches between the clips of a comparison"),
        help_text=_("Enter 0 to require nothing."),
        least=0,
        most=20,
    )
    fade_ms: int = setting(5, label=_("Milliseconds of cross-fade at a switch"), least=0, most=50)
    loudness: str = setting(
        "match",
        label=_("Loudness"),
        help_text=_(
            "Listeners often prefer the louder clip. You can change this only while the study is a draft."
        ),
        choices=(
            ("match", _("Play the clips of a task equally loud, at -23 LUFS or below")),
            ("off", _("Leave loudness as it is: for studies of mastering or level")),
        ),
    )
    instruction_seconds: float = setting(
        3.0,
        label=_("Seconds that the instruction is on screen before clips can be played"),
        least=0,
        most=60,
    )
    break_minutes: int = setting(25, label=_("Minutes of work until a break is suggested"), least=0, most=240)
    stop_minutes: int = setting(
        45,
        label=_("Minutes of work until no more tasks are shown for a while"),
        help_text=_("Enter 0 for never. A pause of five minutes restarts the count."),
        least=0,
        most=480,
    )
    change_minutes: int = setting(
        10,
        label=_("Minutes in which a rater may change an answer"),
        help_text=_("Enter 0 for never."),
        least=0,
        most=1440,
    )
    spectrogram: bool = setting(
        False,
        label=_("Raters may see spectrograms"),
        help_text=_("Spectrograms also show what a system leaves out, such as high frequencies."),
    )

    @classmethod
    def of(cls, rules: Mapping[str, Any]) -> ListeningRules:
        """From a study's `rules`, in which only what differs from the defaults need stand."""
        return from_stored(cls, rules.get("listening", {}))

    def seconds_required(self, duration: float) -> float:
        """How much of a clip must be heard, counting each moment once; never more than there is."""
        short = duration <= SHORT_CLIP_SECONDS
        seconds, share = (
            (self.short_seconds, self.short_share) if short else (self.long_seconds, self.long_share)
        )
        return min(duration, max(seconds, share * duration))


# What a vote is refused for when it was not done.
MINIMUMS = ("short_seconds", "short_share", "long_seconds", "long_share", "min_switches")


def with_earlier_minimums(
    rules: Mapping[str, Any], *, before: ListeningRules, until: datetime
) -> dict[str, Any]:
    """A study's `rules` that also say which minimums held until now: for the tasks that were handed out under them."""
    earlier_minimums = {"until": until.isoformat(), **{name: getattr(before, name) for name in MINIMUMS}}
    return {**rules, "listening_before": [*rules.get("listening_before", []), earlier_minimums]}


def rules_in_force_since(rules: Mapping[str, Any], moment: datetime) -> list[ListeningRules]:
    """From a study's `rules`: those of now, then each that held at some time since this moment."""
    now = ListeningRules.of(rules)
    earlier = [
        replace(now, **{name: earlier_minimums[name] for name in MINIMUMS})
        for earlier_minimums in rules.get("listening_before", [])
        if moment < datetime.fromisoformat(earlier_minimums["until"])
    ]
    return [now, *earlier]


def validate_listening(values: Mapping[str, Any]) -> list[FieldProblem]:
    """The problems of these settings, each with the name of its setting."""
    problems = validate(ListeningRules, values)
    break_after, stop_after = (values.get(name, 0) for name in ("break_minutes", "stop_minutes"))
    if not problems and break_after and 0 < stop_after <= break_after:
        text = f"Give more than the {break_after} minutes until a break, or 0."
        problems.append(FieldProblem("stop_minutes", text))
    return problems


@dataclass(frozen=True)
class TaskClip:
    """A clip of a task. `source` is "candidates", or the item's field; `name` what the assignment plays it as."""

    name: str
    source: str
    duration: float
    level: ClipLevel


@dataclass(frozen=True)
class ClipConditions:
    """What an assignment does to a clip and asks of it: its gain, and the seconds that must be heard."""

    name: str
    duration: float
    gain_db: float
    must_hear: float


@dataclass(frozen=True)
class Conditions:
    """Under which conditions the clips of one assignment are heard."""

    clips: tuple[ClipConditions, ...]
    min_switches: int

    def clip_by_name(self, name: str) -> ClipConditions | None:
        return next((clip for clip in self.clips if clip.name == name), None)


def listening_conditions(
    rules: ListeningRules, *, sounds: Sequence[TaskClip], must_hear: Collection[str], one_gain: bool = False
) -> Conditions:
    """`must_hear` is what the protocol wants heard. All clips of a task are matched, the reference among them.

    Where two of them are one sound in disguise (`one_gain`), a gain of its own would give it away: all get the lowest,
    so that nothing is louder than matched and the clips keep the levels they came with.
    """
    gains = loudness.matching_gains([sound.level for sound in sounds], match=rules.loudness == "match")
    if one_gain:
        gains = [min(gains, default=0.0) for _ in gains]
    judged = [sound for sound in sounds if sound.source == "candidates"]
    compared = len(judged) > 1 and "candidates" in must_hear
    return Conditions(
        clips=tuple(
            ClipConditions(sound.name, sound.duration, gain, _required(rules, sound, must_hear))
            for sound, gain in zip(sounds, gains, strict=True)
        ),
        min_switches=rules.min_switches if compared else 0,
    )


def mildest_conditions(conditions: Sequence[Conditions]) -> Conditions:
    """Of conditions for the same clips, the least that one of them asks; the gains of the first."""
    clips = zip(*(option.clips for option in conditions), strict=True)
    return Conditions(
        tuple(replace(same[0], must_hear=min(clip.must_hear for clip in same)) for same in clips),
        min_switches=min(option.min_switches for option in conditions),
    )


def _required(rules: ListeningRules, sound: TaskClip, must_hear: Collection[str]) -> float:
    """To a hundredth of a second, downwards: the last sample must be enough."""
    if sound.source not in must_hear:
        return 0.0
    return math.floor(rules.seconds_required(sound.duration) * 100) / 100


def page_settings(
    rules: ListeningRules, *, conditions: Conditions, instruction_first: bool
) -> dict[str, Any]:
    """What the rater's page has to know beyond the clips."""
    return {
        "fade_ms": rules.fade_ms,
        "break_minutes": rules.break_minutes,
        "stop_minutes": rules.stop_minutes,
        "change_minutes": rules.change_minutes,
        "min_switches": conditions.min_switches,
        "instruction_seconds": rules.instruction_seconds if instruction_first else 0,
    }


Interval = tuple[float, float]

# What rounding in the log and the end of a clip may cost.
TOLERANCE_S = 0.1
# One clip sounds at a time, so nobody hears more seconds than pass; the two clocks may differ by this much.
CLOCK_TOLERANCE_S = 1.0
LONGEST_CLIP_S = 86_400
_TITLES = {"reference": "The reference clip", "recording": "The recording"}


@dataclass(frozen=True)
class PlaybackLog:
    """The part of a browser's log that is checked; `problems` says what of it makes no sense."""

    heard: Mapping[str, list[Interval]]
    switches: int
    problems: list[FieldProblem]

    @property
    def seconds(self) -> float:
        """Of listening in all, what was heard twice counted twice."""
        return sum(end - start for intervals in self.heard.values() for start, end in intervals)


def read_playback_log(telemetry: Mapping[str, Any] | None) -> PlaybackLog:
    """No log is a log of nothing heard."""
    problems: list[FieldProblem] = []
    log = {} if telemetry is None else telemetry
    heard = log.get("heard", {})
    if not isinstance(heard, Mapping):
        problems.append(
            FieldProblem("telemetry.heard", "Send the stretches heard of each clip, by its name.")
        )
        heard = {}
    stretches = {str(name): _read_intervals(str(name), listed, problems) for name, listed in heard.items()}
    switches = log.get("switches", 0)
    if isinstance(switches, bool) or not isinstance(switches, int) or not 0 <= switches < 1_000_000:
        problems.append(
            FieldProblem("telemetry.switches", "Send how often the rater switched, a whole number.")
        )
        switches = 0
    return PlaybackLog(stretches, switches, problems)


def simulated_seconds(telemetry: Mapping[str, Any] | None) -> float | None:
    """How long a simulated rater had the task before them, by their own clock; None where their log does not say."""
    seconds = (telemetry or {}).get("shown_s")
    if (
        isinstance(seconds, bool)
        or not isinstance(seconds, int | float)
        or not 0 <= seconds <= LONGEST_CLIP_S
    ):
        return None
    return float(seconds)


def unique_seconds(intervals: Iterable[Interval], *, duration: float = math.inf) -> float:
    """The seconds of a clip that these stretches cover, each moment counted once."""
    covered, reached = 0.0, 0.0
    for start, end in sorted(intervals):
        end = min(end, duration)
        covered += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return covered


def check_playback_log(
    telemetry: Mapping[str, Any] | None, *, conditions: Conditions, wall_seconds: float
) -> list[FieldProblem]:
    """Every fault of a log; empty when the vote may stand. `wall_seconds` have passed since the task was handed out."""
    log = read_playback_log(telemetry)
    return (
        log.problems
        or _impossible_playback(log, conditions, wall_seconds)
        or _missing_listening(log, conditions)
    )


def _read_intervals(name: str, intervals: Any, problems: list[FieldProblem]) -> list[Interval]:
    field = f"telemetry.heard.{name}"
    if not isinstance(intervals, list | tuple):
        problems.append(FieldProblem(field, "Send a list of [from, to] in seconds."))
        return []
    if not all(_is_interval(interval) for interval in intervals):
        problems.append(
            FieldProblem(field, "A stretch is [from, to] in seconds of the clip, from before to.")
        )
        return []
    return [(max(0.0, float(start)), max(0.0, float(end))) for start, end in intervals]


def _is_interval(interval: Any) -> bool:
    if not isinstance(interval, list | tuple) or len(interval) != 2:
        return False
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in interval):
        return False
    start, end = interval
    return bool(-TOLERANCE_S <= start <= end <= LONGEST_CLIP_S)  # nothing is, beside NaN


def _impossible_playback(log: PlaybackLog, conditions: Conditions, wall_seconds: float) -> list[FieldProblem]:
    problems = []
    passed, claimed = _format_seconds(wall_seconds), _format_seconds(log.seconds)
    for name, intervals in log.heard.items():
        clip = conditions.clip_by_name(name)
        end = max((end for _, end in intervals), default=0.0)
        if clip is None:
            problems.append(FieldProblem(f"telemetry.heard.{name}", "This task has no clip of this name."))
        elif end > clip.duration + TOLERANCE_S:
            length, heard_until = _format_seconds(clip.duration), _format_seconds(end)
            text = f"{_clip_title(name)} ends after {length} s, yet was heard until {heard_until} s."
            problems.append(FieldProblem(f"telemetry.heard.{name}", text))
    if log.seconds > wall_seconds + CLOCK_TOLERANCE_S:
        text = f"{claimed} s of listening do not fit into the {passed} s since this task was handed out."
        problems.append(FieldProblem("telemetry.heard", text))
    return problems


def _missing_listening(log: PlaybackLog, conditions: Conditions) -> list[FieldProblem]:
    problems = [problem for clip in conditions.clips if (problem := _unheard(clip, log))]
    if log.switches < conditions.min_switches:
        wanted = "once" if conditions.min_switches == 1 else f"{conditions.min_switches} times"
        text = f"Switch between the clips at least {wanted} before you decide."
        problems.append(FieldProblem("telemetry.switches", text))
    return problems


def _unheard(clip: ClipConditions, log: PlaybackLog) -> FieldProblem | None:
    heard = unique_seconds(log.heard.get(clip.name, []), duration=clip.duration)
    if heard + TOLERANCE_S >= clip.must_hear:
        return None
    text = (
        f"{_clip_title(clip.name)}: heard {_format_seconds(heard)} s of {_format_seconds(clip.must_hear)} s."
    )
    return FieldProblem(f"telemetry.heard.{clip.name}", text)


def _clip_title(name: str) -> str:
    return _TITLES.get(name) or f"Clip {name.upper()}"


def _format_seconds(seconds: float) -> str:
    return f"{round(seconds, 1):g}"
