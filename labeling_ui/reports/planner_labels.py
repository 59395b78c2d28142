"""What plans take for granted, why there is none, and what pilots lack, in the reader's language.

The codes are those of analytics.statistics.planning.sample_size and planning_components.
"""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

ASSUMPTION_LABELS: dict[str, Promise] = {
    "random_raters": _("Raters are drawn from those one wants to speak of, and meet outputs at random."),
    "equal_loads": _("All raters give about as many votes."),
    "independent_items": _(
        "Items are drawn independently of each other; variants of one prompt count as one."
    ),
    "components_hold": _("The study varies as much as the pilot figures say."),
    "normal_means": _("Means of so many votes are about normal; ratings themselves need not be."),
    "paired_by_item": _("All systems answer the same items, and systems are compared item by item."),
    "one_comparison": _("The power is that of one comparison; among many pairs, ask for more confidence."),
    "panel_cancels": _("A rater hears the systems of an item together, so that their severity cancels."),
    "severity_falls_evenly": _(
        "A rater's severity falls on either system as often, so it adds noise, not a lean."
    ),
    "many_raters": _(
        "Some 20 raters or more take part; an interval that counts fewer as clusters is wider than this."
    ),
    "ties_half": _("A tie is half a vote for each side."),
    "ties_left_out": _("Ties decide nothing and are left out of the test, so they cost votes."),
    "ties_unpaired": _(
        "Agreement is between votes for a side. Comparisons that ties leave with fewer than two are made up for by "
        "more of them; count votes that both are bad as ties."
    ),
    "exact_binomial": _("The test is the exact two-sided binomial test against one half."),
    "normal_binomial": _("So many votes that the normal approximation of the binomial test is used."),
    "same_correlation": _(
        "Votes on one comparison, and votes of one rater, are as correlated as the figures say."
    ),
    "same_overlap": _("Every unit has as many ratings as the pilot's units have on average."),
    "se_shrinks": _("The standard error of alpha shrinks with the square root of the units."),
    "normal_icc": _(
        "How overlap changes the error of alpha is taken from the intraclass correlation of normal ratings "
        "(Donner 1986): exact there, a guide elsewhere."
    ),
    "beta_items": _(
        "Of each comparison a share of raters prefers one side; the shares follow a symmetric Beta distribution "
        "with the correlation given."
    ),
    "majority_is_truth": _("The right answer is what most of all possible raters would say."),
}

NO_PLAN_REASONS: dict[str, Promise] = {
    "too_many": _("No study of reasonable size gets there. Ask for less, or look for what else would help."),
    "even_chance": _("At a win rate of one half there is no difference to find."),
    "at_the_edge": _("At this alpha the interval cannot be as wide as that, or there is no interval at all."),
}

PILOT_NOTES: dict[str, Promise] = {
    "no_votes": _("There are no votes yet."),
    "one_vote_each": _(
        "No output has votes by two people, so what raters say cannot be told from what it is about."
    ),
    "one_output_each": _("No system has votes on two outputs, so nothing says how much outputs differ."),
    "raters_apart": _(
        "No rater has votes on two outputs of a system (or nobody is named), so severity counts as noise."
    ),
    "small": _("The pilot is small: these figures are rough, so look at what others would change."),
    "no_shared_items": _(
        "No two systems answered the same items, so what an item is for all counts as outputs'."
    ),
}

GOAL_LABELS: dict[tuple[str, str], Promise] = {
    ("rating", "width"): _("Know a system's mean"),
    ("rating", "power"): _("Tell two systems apart"),
    ("rating", "alpha"): _("Know the agreement"),
    ("preference", "width"): _("Know a win rate"),
    ("preference", "power"): _("Show that one system is preferred"),
    ("preference", "alpha"): _("Know the agreement"),
    ("preference", "majority"): _("Get each comparison right"),
}

# Where starting values come from when the study has no votes; see analytics.planning.pilot.
PUBLISHED_SOURCES: dict[tuple[str, bool], Promise] = {
    ("rating", False): _(
        "Published: ratings of production quality in AES-PAM (9 systems, 200 prompts, 10 ratings each), put on this "
        "scale. They name no raters; a quarter of what raters of one clip differ by is taken to be severity."
    ),
    ("rating", True): _("Published: ORCA, alpha 0.82 on 2,033 answers with 3 ratings each."),
    ("preference", False): _(
        "Published: CMI-Pref, where 69 % of the pairs of votes on a comparison agree, and FENSE, where 2 to 5 % are "
        "ties. How far one rater's votes hang together is a guess."
    ),
    ("preference", True): _("Published: CMI-Pref, alpha 0.38 on 492 comparisons with some 2 votes each."),
}
