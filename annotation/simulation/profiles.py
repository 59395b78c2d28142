"""Profiles of simulated raters (profiles.toml), mixes of them, and the raters drawn from a mix."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from importlib.resources import files
from typing import Literal

import numpy as np

from annotation.errors import FieldProblem, InvalidInput
from annotation.protocols.schema import Text

Guess = Literal["random", "first", "third"]

MAX_RATERS = 1000
# What a mix is where nobody says: three in four are good.
DEFAULT_MIX = "careful:12,average:12,severe:6,hasty:3,left-biased:1,always-3:2,random:2,adversarial:1,bot:1"


@dataclass(frozen=True)
class Profile:
    """How a simulated rater works; profiles.toml says what each value means."""

    key: str
    title: Text
    good: bool
    sensitivity: float
    accuracy: float
    noise: float = 0.1
    severity: float = 0.0
    spread: float = 1.0
    lapse: float = 0.0
    guess: Guess = "random"
    position_bias: float = 0.0
    consistency: float = 1.0
    listening: float = 1.0
    seconds: float = 3.0
    diligence: float = 0.5
    overconfidence: float = 0.0
    checks: float = 0.97


@dataclass(frozen=True)
class SimulatedRater:
    """One rater of a simulation. `name` is unique within it and tells the profile."""

    name: str
    profile: Profile
    seed: int = field(repr=False)

    def rng(self, *about: str | int) -> np.random.Generator:
        """Random numbers that depend on the rater and what they are about, and on nothing that came before."""
        return np.random.default_rng([self.seed, *"/".join(map(str, (self.name, *about))).encode()])


@cache
def profiles() -> dict[str, Profile]:
    """Every profile by its key, in the file's order."""
    with files("annotation.simulation").joinpath("profiles.toml").open("rb") as file:
        rows = tomllib.load(file)
    known = {one.name for one in fields(Profile)}
    read = {}
    for key, row in rows.items():
        if unknown := set(row) - known:
            raise ValueError(f"profiles.toml, {key}: unknown {', '.join(sorted(unknown))}")
        read[key] = Profile(key=key, **{**row, "title": Text(row["title"])})
    return read


def parse_mix(mix: str, *, raters: int | None = None) -> dict[str, int]:
    """Raters by profile. `mix` is "careful:30,random:4"; names without counts share `raters` evenly, the first ones
    taking what is left over. With counts and another total in `raters`, the counts are taken as proportions."""
    parts = [part.strip() for part in mix.split(",") if part.strip()]
    counts: dict[str, int | None] = {}
    for part in parts:
        name, _, number = part.partition(":")
        name = name.strip()
        if name not in profiles():
            raise _bad(f"There is no profile {name!r}; there are {', '.join(profiles())}.")
        if name in counts:
            raise _bad(f"{name} is named twice; write it once, with its count.")
        if number.strip() and not number.strip().isdecimal():
            raise _bad(f"{part!r}: give a whole number of raters, such as {name}:4.")
        counts[name] = int(number) if number.strip() else None
    if not counts:
        raise _bad(f"Name a profile: {', '.join(profiles())}.")
    stated = [count for count in counts.values() if count is not None]
    if stated and len(stated) != len(counts):
        raise _bad("Give a count to every profile, or to none.")
    weights = [count if count is not None else 1 for count in counts.values()]
    total = raters if raters is not None else sum(stated)
    if not 1 <= total <= MAX_RATERS or not sum(weights):
        raise _bad(f"Simulate 1 to {MAX_RATERS} raters.")
    return dict(zip(counts, _apportion(weights, total), strict=True))


def draw_raters(mix: dict[str, int], *, seed: int) -> list[SimulatedRater]:
    """The raters of a mix; each is the same whoever else is drawn."""
    return [
        _draw(profiles()[key], number, seed=seed)
        for key, count in mix.items()
        for number in range(1, count + 1)
    ]


def profile_of(name: str) -> Profile | None:
    """The profile of a rater, by the name that `draw_raters` gave."""
    return profiles().get(name.rpartition("-")[0])


def _draw(profile: Profile, number: int, *, seed: int) -> SimulatedRater:
    name = f"{profile.key}-{number:02d}"
    rng = np.random.default_rng([seed, *name.encode()])

    def share(value: float) -> float:
        """A chance, moved in log-odds; 0 and 1 stay."""
        if not 0 < value < 1:
            return value
        return float(1 / (1 + math.exp(-(math.log(value / (1 - value)) + rng.normal(0, 0.25)))))

    def factor(value: float, by: float = 0.2) -> float:
        return float(value * math.exp(rng.normal(0, by)))

    drawn = replace(
        profile,
        sensitivity=factor(profile.sensitivity),
        accuracy=share(profile.accuracy),
        noise=factor(profile.noise),
        severity=profile.severity + float(rng.normal(0, 0.03)) * profile.spread,
        lapse=share(profile.lapse),
        position_bias=profile.position_bias + float(rng.normal(0, 0.1)) * (profile.lapse < 1),
        consistency=share(profile.consistency),
        listening=factor(profile.listening, 0.05),
        seconds=factor(profile.seconds, 0.3),
        diligence=share(profile.diligence),
    )
    return SimulatedRater(name, drawn, seed)


def _apportion(weights: Sequence[int], total: int) -> list[int]:
    """Whole numbers in these proportions (largest remainders) that add up to `total`."""
    exact = [weight * total / sum(weights) for weight in weights]
    whole = [math.floor(share) for share in exact]
    by_remainder = sorted(range(len(weights)), key=lambda n: (whole[n] - exact[n], n))
    for n in by_remainder[: total - sum(whole)]:
        whole[n] += 1
    return whole


def _bad(text: str) -> InvalidInput:
    problems = [FieldProblem("profile", text)]
    return InvalidInput(text, problems=problems, code="bad_mix")
