"""Trainings in words: what is asked for first, and figures by how much they say."""

from __future__ import annotations

from collections.abc import Iterable

from labeling_ui.learned_catalogue import FIGURES

# Settings that whoever trains has to think of; all others have defaults that papers give, and stand below.
ESSENTIAL = ("encoder", "head", "rationale", "transcript", "tuning")
# The figures that a version is known by; the others follow in the order of the catalogue.
_KNOWN_BY = ("SRCC", "alignment accuracy", "musicality accuracy", "MAE of the mean")


def by_importance(names: Iterable[str]) -> list[str]:
    places = {name: place for place, name in enumerate(dict.fromkeys((*_KNOWN_BY, *FIGURES)))}
    return sorted(names, key=lambda name: places.get(name, len(places)))
