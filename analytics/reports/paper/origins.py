"""What a reader has to know of where the votes come from: simulated ones, and tasks that were not equally likely."""

from __future__ import annotations

from collections.abc import Iterator

from django.utils.translation import ngettext

from analytics import vote_origins
from analytics.reports.document import Paragraph
from analytics.reports.paper.material import Material


def origin_warnings(material: Material) -> Iterator[Paragraph]:
    found = vote_origins.origins(material.study)
    if found.simulated:
        text = ngettext(
            "%(n)s judgment that counts is simulated: reckoned from a known truth, by nobody who listened or read. "
            "Figures with it are none of people.",
            "%(n)s judgments that count are simulated: reckoned from a known truth, by nobody who listened or read. "
            "Figures with them are none of people.",
            found.simulated,
        )
        yield Paragraph(text % {"n": f"{found.simulated:,}"}, warning=True)
    if found.short:
        text = ngettext(
            "A policy put first what a vote would teach most, and %(n)s task still wants votes. Until all have theirs, "
            "figures over votes lean towards the tasks that it prefers. The export has each vote’s chance, by which "
            "they can be weighed.",
            "A policy put first what a vote would teach most, and %(n)s tasks still want votes. Until all have theirs, "
            "figures over votes lean towards the tasks that it prefers. The export has each vote’s chance, by which "
            "they can be weighed.",
            found.short,
        )
        yield Paragraph(text % {"n": f"{found.short:,}"}, warning=True)


def origin_sentences(material: Material) -> Iterator[str]:
    """For the methods of a paper."""
    found = vote_origins.origins(material.study)
    if found.simulated:
        text = ngettext(
            "%(n)s of these judgments was simulated from a known truth and given by no person.",
            "%(n)s of these judgments were simulated from a known truth and given by no person.",
            found.simulated,
        )
        yield text % {"n": f"{found.simulated:,}"}
    if found.ordered:
        text = ngettext(
            "The task of %(n)s judgment was chosen by a policy that puts first what a vote would teach most; figures "
            "are not weighed by the chance of being chosen.",
            "The tasks of %(n)s judgments were chosen by a policy that puts first what a vote would teach most; "
            "figures are not weighed by the chance of being chosen.",
            found.ordered,
        )
        yield text % {"n": f"{found.ordered:,}"}
    if found.short:
        text = ngettext(
            "%(n)s task had fewer judgments than it wants, so they lean towards the tasks that the policy prefers.",
            "%(n)s tasks had fewer judgments than they want, so they lean towards the tasks that the policy prefers.",
            found.short,
        )
        yield text % {"n": f"{found.short:,}"}
