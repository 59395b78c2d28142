"""Which system is preferred: rankings, win rates, position bias and confidence of every preference question."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from analytics.reports.document import Block, Paragraph, Section
from analytics.reports.paper.material import Material, ReportSettings
from analytics.reports.paper.preferences_agreement import agreement_blocks
from analytics.reports.paper.preferences_confidence import confidence_blocks
from analytics.reports.paper.preferences_pairs import pair_blocks
from analytics.reports.paper.preferences_position import position_blocks
from analytics.reports.paper.preferences_ranking import ranking_blocks
from analytics.reports.paper.preferences_trials import trial_blocks
from analytics.reports.paper.preferences_variants import variant_blocks
from analytics.reports.paper.preferences_votes import PairVotes
from analytics.reports.paper.words import sentences
from analytics.vote_frames import Votes

# Of the whole question and some of its counted votes, in the order in which they are read.
_Part = Callable[[Votes, PairVotes, ReportSettings], Iterator[Block]]
# Which is better: votes that were asked for because the first ones differed would draw it towards even.
_OF_FIRST_VOTES: tuple[_Part, ...] = (ranking_blocks, variant_blocks, pair_blocks)
_OF_ALL: tuple[_Part, ...] = (position_blocks, confidence_blocks)


def preferences_section(material: Material) -> Section | None:
    asked = [votes for votes in material.votes if votes.question.is_preference and len(votes.counted())]
    blocks: list[Block] = []
    for votes in asked:
        pairs = PairVotes(votes.counted())
        blocks.append(_introduction(pairs))
        for part in _OF_FIRST_VOTES:
            blocks += part(votes, pairs.first_votes, material.settings)
        for part in _OF_ALL:
            blocks += part(votes, pairs, material.settings)
    blocks += agreement_blocks([PairVotes(votes.counted()) for votes in asked], material.settings)
    blocks += trial_blocks(material)
    return Section("preferences", _("Preferences"), blocks) if blocks else None


def _introduction(pairs: PairVotes) -> Paragraph:
    n, told = len(pairs.votes), int(pairs.ranks_systems.sum())
    parts = [
        ngettext("%(question)s %(n)s vote.", "%(question)s %(n)s votes.", n)
        % {"question": pairs.votes.question.title, "n": f"{n:,}"}
    ]
    if told < n:
        text = _(
            "%(n)s compare outputs of one system, or of none that is named: they say nothing about which system is "
            "better and are part of no ranking."
        )
        parts.append(text % {"n": f"{n - told:,}"})
    if pairs.unnamed:
        text = _("%(n)s name no rater, so intervals are by prompt alone, and those by rater cannot be made.")
        parts.append(text % {"n": f"{pairs.unnamed:,}"})
    return Paragraph(sentences(parts))
