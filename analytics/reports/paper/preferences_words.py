"""What the section on preferences says again and again: units, intervals, and why a figure is missing."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext, gettext_noop, ngettext
from django.utils.translation import gettext as look_up

from analytics.reports.document import Measured
from analytics.reports.paper.preferences_votes import RATER, PairVotes
from analytics.reports.paper.words import sentences
from analytics.statistics.bootstrap import Resampling
from analytics.statistics.clustered_share import Share
from analytics.statistics.few_clusters import FEWEST
from analytics.statistics.ranking_results import MAX_SYSTEMS

# With fewer of them, expanded intervals of nominal 95 % hold the truth in 90 to 95 %.
_FEW = 10

# The codes of ranking_results and clustered_share.
REASONS = {
    "no_comparisons": gettext_noop("No vote compares this system with another."),
    "only_ties": gettext_noop(
        "Every vote is a tie, so there is no telling how much a difference would count."
    ),
    "separated": gettext_noop(
        "Some systems never lost to the others, so nothing bounds how much better they are."
    ),
    "undetermined": gettext_noop(
        "The votes cannot tell strengths from the advantage of being shown first: pairs need to be shown in both "
        "orders."
    ),
    "disconnected": gettext_noop(
        "Comparisons do not join all systems: strengths and ranks hold within each group alone."
    ),
    "too_many": gettext_noop("There are more than %(most)s systems, too many to be ranked together."),
    "one_cluster": gettext_noop("All votes belong together, so they cannot say how uncertain this is."),
    "few_clusters": gettext_noop("Fewer than five raters or prompts cannot say how uncertain this is."),
    "mostly_undefined": gettext_noop(
        "In most resamples of the votes the strengths are not defined, so there is no interval."
    ),
    "weighted": gettext_noop(
        "Weighted votes do not hold the information that their weights add up to, so there is no interval."
    ),
    "no_votes": gettext_noop("There is no such vote."),
    "all_alike": gettext_noop(
        "Everybody's votes have the same share, so resampling cannot say how uncertain it is."
    ),
}


def because(reason: str | None) -> str | None:
    return None if reason is None else look_up(REASONS[reason]) % {"most": MAX_SYSTEMS}


def measured_share(share: Share) -> Measured:
    low, high = share.interval or (None, None)
    return Measured(share.value, low, high, because(share.reason))


def measured(
    value: float | None, interval: tuple[float, float] | tuple[int, int] | None, *, reason: str | None
) -> Measured:
    """`reason`: a code, told where the value or its interval is missing."""
    low, high = interval or (None, None)
    return Measured(value, low, high, because(reason) if value is None or interval is None else None)


def by_cluster(label: str, by: str, *, clusterings: Sequence[str]) -> str:
    """A column's label; what was resampled is said where there are several ways."""
    if len(clusterings) == 1:
        return label
    text = gettext("%(label)s, by rater") if by == RATER else gettext("%(label)s, by prompt")
    return text % {"label": label}


def first_votes_note(asked: Sequence[PairVotes]) -> list[str]:
    """Said where a table rests on fewer votes than there are."""
    text = gettext(
        "%(question)s The first %(n)s votes of each comparison, since more were asked for while these differed."
    )
    return [
        text % {"question": pairs.votes.question.title, "n": pairs.votes.question.first_votes}
        for pairs in asked
        if pairs.votes.question.first_votes is not None
    ]


def n_clusters(by: str, n: int) -> str:
    if by == RATER:
        return ngettext("%(n)s rater", "%(n)s raters", n) % {"n": f"{n:,}"}
    return ngettext("%(n)s prompt", "%(n)s prompts", n) % {"n": f"{n:,}"}


def resampled(clusters: Sequence[tuple[str, int]], resampling: Resampling) -> str:
    """How intervals were made, of what and how many of it; and what so few of it cannot tell."""
    listed = gettext(", and of ").join(n_clusters(by, n) for by, n in clusters)
    text = gettext(
        "%(level)s intervals: percentiles of %(times)s bootstrap resamples of %(clusters)s, each with all its votes, "
        "expanded for their number (Hesterberg, 2015)."
    )
    said = text % {
        "level": f"{100 * resampling.level:g} %",
        "times": f"{resampling.replicates:,}",
        "clusters": listed,
    }
    return sentences([said, *(_so_few(by, n) for by, n in clusters)])


def _so_few(by: str, n: int) -> str:
    if n < FEWEST:
        text = gettext("%(clusters)s cannot say how uncertain a figure is, so there is no interval.")
    elif n < _FEW:
        text = gettext("With %(clusters)s such intervals may still be too narrow.")
    else:
        return ""
    return text % {"clusters": n_clusters(by, n)}
