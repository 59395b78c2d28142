"""Goals of a plan, and where its starting values come from, in the reader's language."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

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
