"""The parts of a question's votes that agreement is reported for, each a way to cut and its pieces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from django.utils.translation import gettext as _

from analytics.reports.paper.readings import for_agreement
from analytics.vote_frames import COUNTED, EXCLUDED, EXCLUDED_BY_REVIEW, NOBODY, Votes

# Systems, strata and periods beyond this would make a table that nobody reads; the export has the votes themselves.
MOST_PARTS = 60
_DAY = 86_400.0


@dataclass(frozen=True)
class Part:
    """`by`: how the votes are cut; `name`: which piece this is."""

    by: str
    name: str
    votes: Votes


def parts(votes: Votes) -> Iterator[Part]:
    """From all votes with their marks; each part has what agreement may rest on, but for the one that has all votes."""
    counted = for_agreement(votes.counted())
    yield from _strata(counted)
    yield from _systems(counted)
    yield from _periods(counted)
    yield from _review(votes)
    yield from _exclusions(votes)
    yield from _overlap(votes.counted())


def _strata(votes: Votes) -> Iterator[Part]:
    for key in sorted(votes.units.strata):
        stratum = votes.units.strata[key]
        if 1 < len(stratum.values) <= MOST_PARTS:
            of_vote = stratum.of_unit[votes.unit]
            for number, value in enumerate(stratum.values):
                yield Part(key, value, votes.select(of_vote == number))


def _systems(votes: Votes) -> Iterator[Part]:
    """A comparison belongs to both its systems."""
    first, second = votes.units.first[votes.unit], votes.units.second[votes.unit]
    present = [system for system in np.unique(np.concatenate([first, second])).tolist() if system != NOBODY]
    if 1 < len(present) <= MOST_PARTS:
        for system in present:
            yield Part(
                _("system"), votes.systems[system], votes.select((first == system) | (second == system))
            )


def _periods(votes: Votes) -> Iterator[Part]:
    """By day, week or month (UTC), whichever gives a readable number; only votes of the same period are compared."""
    if not len(votes):
        return
    span = (votes.at.max() - votes.at.min()) / _DAY
    named = _days if span <= 14 else _weeks if span <= 26 * 7 else _months
    starts, number = np.unique(np.floor(votes.at / _DAY), return_inverse=True)
    labels = [named(start) for start in starts.tolist()]
    distinct = list(dict.fromkeys(labels))
    if 1 < len(distinct) <= MOST_PARTS:
        of_day = np.array([distinct.index(label) for label in labels])
        for place, label in enumerate(distinct):
            yield Part(_("time"), label, votes.select(of_day[number] == place))


def _review(votes: Votes) -> Iterator[Part]:
    """Before and after the third stage, as `review_frames` names the parts."""
    corrected = votes.units.corrected[votes.unit]
    aside = votes.status == EXCLUDED_BY_REVIEW
    if not (corrected.any() or aside.any()):
        return
    counted, first_time = votes.status == COUNTED, ~votes.again
    named = (
        (_("before"), ~corrected & (counted | aside)),
        (_("set aside by it"), ~corrected & aside),
        (_("kept"), ~corrected & counted),
        (_("of corrected texts"), corrected & counted),
        (_("after"), counted),
    )
    for name, chosen in named:
        yield Part(_("review"), name, for_agreement(votes.select(chosen & first_time)))


def _exclusions(votes: Votes) -> Iterator[Part]:
    if (votes.status == EXCLUDED).any():
        put_back = (votes.status != EXCLUDED_BY_REVIEW) & ~votes.again
        with_them = for_agreement(votes.select(put_back))
        yield Part(_("exclusions"), _("without excluded votes"), for_agreement(votes.counted()))
        yield Part(_("exclusions"), _("with excluded votes put back"), with_them)


def _overlap(votes: Votes) -> Iterator[Part]:
    first = votes.question.first_votes
    if first is not None:
        yield Part(_("overlap"), _("the first %(n)s of each unit") % {"n": first}, for_agreement(votes))
        yield Part(_("overlap"), _("all votes"), votes)


def _date(day: float) -> datetime:
    return datetime.fromtimestamp(day * _DAY, UTC)


def _days(day: float) -> str:
    return f"{_date(day):%Y-%m-%d}"


def _weeks(day: float) -> str:
    year, week, _weekday = _date(day).isocalendar()
    return f"{year}-W{week:02}"


def _months(day: float) -> str:
    return f"{_date(day):%Y-%m}"
