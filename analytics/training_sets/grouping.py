"""Which split each task goes to: whatever shares an item, words or sounds goes together, through others too.

Words count as the same where they differ in case, punctuation or spaces alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from analytics.training_sets.contract import Content, Judged
from analytics.training_sets.options import Options, TrainingSetError
from analytics.training_sets.texts import folded
from scoring.training import splits

PARTS = splits.PARTS
_STRATA_FIRST = ("modality", "category")


@dataclass(frozen=True)
class Standing:
    """A task as the splitter sees it. `group` is named once all are known."""

    key: str
    links: tuple[str, ...]
    strata: Mapping[str, str] = field(default_factory=dict)
    group: str = ""


def standing(judged: Judged, groups: Sequence[str]) -> Standing:
    links = [f"item {judged.item}", *_words(judged.content, groups)]
    if "clip" in groups:
        clips = [output.clip for output in judged.outputs]
        clips += [judged.content.clip, judged.content.reference_clip]
        links += [f"clip {clip.sha256}" for clip in clips if clip]
    return Standing(judged.task, tuple(links), _strata(judged.strata))


def split(tasks: Sequence[Standing], options: Options) -> dict[str, str]:
    """The split of each task. The same tasks and the same seed give the same split on any machine. Raises
    TrainingSetError where they hang together in fewer groups than splits were asked for."""
    group = groups(tasks)
    grouped = [Standing(one.key, one.links, one.strata, group[one.key]) for one in tasks]
    shares = splits.Shares(*options.ratios)
    wanted = sum(share > 0 for share in options.ratios)
    there = len(set(group.values()))
    if there < wanted:
        kinds = " or ".join(["an item", *(f"a {kind}" for kind in options.groups)])
        raise TrainingSetError(
            "one_group",
            f"The {len(tasks):,} tasks with votes hang together in {there} "
            f"{'group' if there == 1 else 'groups'}, for they share {kinds}; {wanted} splits need as many. Ask for "
            "fewer splits (1:0:0 is train alone), or let splits share prompts, questions or clips by naming fewer "
            "of them to group by.",
        )
    found = splits.split_by_group(grouped, seed=options.seed, shares=shares)
    parts = zip(PARTS, (found.train, found.dev, found.test), strict=True)
    return {one.key: part for part, own in parts for one in own}


def groups(tasks: Sequence[Standing]) -> dict[str, str]:
    """What each task must not be parted from, by the name of its group."""
    return splits.components({one.key: one.links for one in tasks})


def _words(content: Content, groups: Sequence[str]) -> Iterator[str]:
    # Formats that ask a question ask an item's prompt where it has none.
    asked = content.question.strip() or content.prompt
    named = [("prompt", content.prompt), ("prompt", content.lyrics), ("question", asked)]
    for kind, text in named:
        if kind in groups and (plain := folded(text)):
            # A digest in the words' place: a million long prompts are held at once.
            yield f"{kind} {hashlib.sha256(plain.encode()).hexdigest()[:32]}"


def _strata(strata: Mapping[str, str]) -> dict[str, str]:
    """Modality and category, as ORCA's splits have them (§5.3)."""
    return {key: strata[key] for key in _STRATA_FIRST if key in strata}
