"""Parts of the held-out pairs that do not come from strata: what was asked for, vocals, and how long the clips are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from django.utils.translation import gettext as _

from analytics.prompt_frames import Made
from analytics.reports.paper.models_judged import Compared, Group

# Seconds at which bins begin, as in CMI-RewardBench, table 17.
_BINS = (10.0, 30.0, 60.0, 120.0)


def parts_of_pairs(pairs: Compared, made: Made) -> Iterator[Group]:
    """By modality of the prompt (CMI-RewardBench, section 3.2), by vocal or instrumental (tables 20 to 22: a prompt
    with lyrics asks for vocals), and by the longer of the two clips."""
    row, other = made.rows(pairs.first), made.rows(pairs.second)
    lyrics, reference = made.lyrics[row], made.reference[row]
    if (lyrics | reference).any():
        by = _("prompt")
        yield Group(by, _("text alone"), ~lyrics & ~reference)
        yield Group(by, _("with lyrics"), lyrics & ~reference)
        yield Group(by, _("with reference audio"), ~lyrics & reference)
        yield Group(by, _("with both"), lyrics & reference)
    if lyrics.any():
        yield Group(_("voice"), _("vocal"), lyrics)
        yield Group(_("voice"), _("instrumental"), ~lyrics)
    seconds = np.fmax(made.seconds[row], made.seconds[other])
    bin_of = np.digitize(seconds, _BINS)
    if not np.isfinite(seconds).any():
        return
    for number, name in enumerate(_names()):
        within = (bin_of == number) & np.isfinite(seconds)
        if within.any():
            yield Group(_("duration"), name, within)


def _names() -> list[str]:
    ends = [f"{end:g}" for end in _BINS]
    between = [f"{low}–{high} s" for low, high in pairwise(ends)]
    return [f"< {ends[0]} s", *between, f"≥ {ends[-1]} s"]
