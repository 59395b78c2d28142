"""What a plan takes for granted, and why there is none: codes for machines, sentences for people."""

from __future__ import annotations

SENTENCES = {
    # what is taken for granted
    "random_raters": "Raters are drawn from those one wants to speak of, and meet outputs at random.",
    "equal_loads": "All raters give about as many votes.",
    "independent_items": "Items are drawn independently of each other; variants of one prompt count as one.",
    "components_hold": "The study varies as much as the pilot figures say.",
    "normal_means": "Means of so many votes are about normal; ratings themselves need not be.",
    "paired_by_item": "All systems answer the same items, and systems are compared item by item.",
    "one_comparison": "The power is that of one comparison; among many pairs, ask for more confidence.",
    "panel_cancels": "A rater hears the systems of an item together, so that their severity cancels.",
    "severity_falls_evenly": "A rater's severity falls on either system as often, so it adds noise, not a lean.",
    "many_raters": "Some 20 raters or more take part; an interval that counts fewer as clusters is wider than this.",
    "ties_half": "A tie is half a vote for each side.",
    "ties_left_out": "Ties decide nothing and are left out of the test, so they cost votes.",
    "ties_unpaired": "Agreement is between votes for a side. Comparisons that ties leave with fewer than two are made "
    "up for by more of them; count votes that both are bad as ties.",
    "exact_binomial": "The test is the exact two-sided binomial test against one half.",
    "normal_binomial": "So many votes that the normal approximation of the binomial test is used.",
    "same_correlation": "Votes on one comparison, and votes of one rater, are as correlated as the figures say.",
    "same_overlap": "Every unit has as many ratings as the pilot's units have on average.",
    "se_shrinks": "The standard error of alpha shrinks with the square root of the units.",
    "normal_icc": "How overlap changes the error of alpha is taken from the intraclass correlation of normal "
    "ratings (Donner 1986): exact there, a guide elsewhere.",
    "beta_items": "Of each comparison a share of raters prefers one side; the shares follow a symmetric Beta "
    "distribution with the correlation given.",
    "majority_is_truth": "The right answer is what most of all possible raters would say.",
    # why there is no plan
    "too_many": "No study of reasonable size gets there. Ask for less, or look for what else would help.",
    "even_chance": "At a win rate of one half there is no difference to find.",
    "at_the_edge": "At this alpha the interval cannot be as wide as that, or there is no interval at all.",
}


def explain(code: str) -> str:
    """The English sentence for a code."""
    return SENTENCES[code]
