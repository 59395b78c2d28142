"""Why a statistic or its interval is missing: codes for machines, sentences for people."""

from __future__ import annotations

SENTENCES = {
    "no_ratings": "There are no ratings yet.",
    "no_pairable_units": "No unit has two or more ratings, so there is nothing to compare.",
    "no_variation": "All ratings that can be compared are equal, so agreement cannot be told from chance.",
    "one_pairable_unit": "Only one unit has two or more ratings; an interval needs at least two.",
    "variation_in_one_unit": "Without one of the units all ratings would be equal; there is no interval yet.",
    "no_spread": "Leaving any unit out gives the same figure, so the data cannot say how uncertain it is.",
    "one_cluster": "All units belong together (one prompt or one sound), so nothing says how uncertain this is.",
    "mostly_undefined": "In most resamples of the units all ratings are equal, so there is no interval.",
    "no_repeats": "Nobody answered twice about the same unit.",
}


def explain(reason: str) -> str:
    """The English sentence for a reason code."""
    return SENTENCES[reason]
