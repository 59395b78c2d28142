"""Things that models learn from, each with what was said of it and by whom, made from stored candidates."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from annotation.models import Candidate, Clip, ItemVersion, Study
from annotation.services import local_copies
from scoring.metrics.contract import Sound
from scoring.training.contract import ComparedPair, Prompt, RatedAnswer, RatedClip
from scoring.training.leaks import asked_and_wanted, words
from scoring.training.splits import components

# A larger share of the items in one group would leave too little to be held out.
_MOST_BY_QUESTION = 0.2
_AT_ONCE = 10_000  # a statement takes 65,535 parameters at most


@dataclass(frozen=True)
class Judged:
    """One thing that people judged, with the names of those who did, vote for vote ("" for nobody's name).

    `thing` is a RatedAnswer, ComparedPair or RatedClip; `raters` go by head, or by "" for an answer. `candidates` are
    the database ids of what was judged, `item` that of its item. `links` are what no split may part it from; `asked`,
    the words of its question, may tie too much together (`grouped`). A link begins with the kind of what is shared.
    """

    thing: Any
    item: int
    candidates: tuple[int, ...]
    raters: Mapping[str, tuple[str, ...]]
    links: tuple[str, ...]
    asked: tuple[str, ...] = ()

    def saying(self, votes: Mapping[str, Any], rater: str) -> Judged:
        """The same with these votes, all by one rater."""
        raters = {head: (rater,) * len(given) for head, given in votes.items()}
        return replace(self, thing=replace(self.thing, votes=votes), raters=raters)

    def without(self, raters: frozenset[str]) -> Judged:
        """The same without what these raters said."""
        return self._keeping(lambda name: name not in raters) if raters else self

    def only(self, raters: frozenset[str]) -> Judged:
        return self._keeping(lambda name: name in raters)

    def _keeping(self, wanted: Callable[[str], bool]) -> Judged:
        kept = {head: [wanted(name) for name in names] for head, names in self.raters.items()}
        raters = {head: _some(self.raters[head], keep) for head, keep in kept.items()}
        if isinstance(self.thing, RatedAnswer):
            thing: Any = replace(self.thing, ratings=_some(self.thing.ratings, kept[""]))
        elif isinstance(self.thing, ComparedPair):
            votes = {head: _some(given, kept[head]) for head, given in self.thing.votes.items()}
            thing = replace(self.thing, votes={head: given for head, given in votes.items() if given})
        else:
            rated = {head: _some(given, kept[head]) for head, given in self.thing.ratings.items()}
            thing = replace(self.thing, ratings={head: given for head, given in rated.items() if given})
        return replace(self, thing=thing, raters=raters)

    @property
    def n_votes(self) -> int:
        return sum(map(len, self.raters.values()))


def grouped(judged: Iterable[Judged]) -> list[Judged]:
    """Each in the group of all that it shares something with, in the order of their names. The words of a question tie
    answers together too, unless more than a fifth of the items would be one group by them: some studies put one
    question to every clip."""
    ordered = sorted(judged, key=lambda one: str(one.thing.key))
    apart = components({one.thing.key: one.links for one in ordered})
    group = components({one.thing.key: (*one.links, *one.asked) for one in ordered})
    most = _MOST_BY_QUESTION * len({one.item for one in ordered})
    if _most_items(ordered, group) > max(most, _most_items(ordered, apart)):
        group = apart
    return [replace(one, thing=replace(one.thing, group=group[one.thing.key])) for one in ordered]


def tied_by(judged: Iterable[Judged]) -> list[str]:
    """The kinds of what nothing shares that lies in another group than it: item, clip, prompt, question, …"""
    groups: dict[str, set[str]] = {}
    for one in judged:
        for link in (*one.links, *one.asked):
            groups.setdefault(link, set()).add(one.thing.group)
    parted = {_kind(link) for link, its in groups.items() if len(its) > 1}
    return sorted({_kind(link) for link in groups} - parted)


def raters_of(judged: Iterable[Judged]) -> set[str]:
    """Everybody with a name who said something."""
    return {name for one in judged for names in one.raters.values() for name in names if name}


def sha256(things: Iterable[Any]) -> str:
    """A hash of all that a model learns from, whoever said it and whatever the database calls it."""
    lines = sorted(json.dumps(_plain(thing), sort_keys=True, ensure_ascii=False) for thing in things)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _plain(thing: Any) -> dict[str, Any]:
    """Votes in an order that says nothing of when they came; of a sound what it is, and not where."""
    plain: dict[str, Any] = json.loads(json.dumps(asdict(thing), default=lambda path: ""))
    for name in ("ratings", "votes"):
        said = plain.get(name)
        if isinstance(said, dict):
            plain[name] = {head: sorted(given, key=json.dumps) for head, given in said.items()}
        elif said is not None:
            plain[name] = sorted(said)
    return plain


def answer_of(candidate: Candidate, ratings: tuple[float, ...], raters: tuple[str, ...]) -> Judged:
    """An answer is an answer to its item's question. A question of the same words and with the same reference is the
    same question, of whatever item; the words alone may be asked of many a clip."""
    version = candidate.item_version
    answer = RatedAnswer(
        key=_name(candidate),
        group="",
        system=candidate.system.name,
        candidate=candidate.text,
        question=version.question or version.prompt,
        reference=version.reference,
        rationale=version.rationale,
        transcript=version.transcript,
        ratings=ratings,
        strata=_strata(version),
    )
    same = [f"question+reference {one}" for one in asked_and_wanted(answer)]
    asked = (f"question {text}",) if (text := words(answer.question)) else ()
    links = (f"item {version.item.external_id}", *_clips([candidate]), *same)
    return Judged(answer, version.item_id, (candidate.pk,), {"": raters}, links, asked)


def pair_of(first: Candidate, second: Candidate) -> Judged:
    assert first.clip is not None
    assert second.clip is not None
    version = first.item_version
    pair = ComparedPair(
        key=f"{_name(first)} {_name(second)}",
        group="",
        prompt=_prompt(version),
        first=_sound(first.clip),
        second=_sound(second.clip),
        votes={},
        systems=(first.system.name, second.system.name),
        strata=_strata(version),
    )
    return Judged(pair, version.item_id, (first.pk, second.pk), {}, _asked_of([first, second]))


def clip_of(candidate: Candidate) -> Judged:
    assert candidate.clip is not None
    version = candidate.item_version
    clip = RatedClip(
        key=_name(candidate),
        group="",
        prompt=_prompt(version),
        sound=_sound(candidate.clip),
        ratings={},
        system=candidate.system.name,
        strata=_strata(version),
    )
    return Judged(clip, version.item_id, (candidate.pk,), {}, _asked_of([candidate]))


def candidates_of(study: Study, ids: set[int]) -> dict[int, Candidate]:
    clips = ("clip", "item_version__clip", "item_version__reference_clip")
    rows = Candidate.objects.filter(system__study=study).select_related(
        "system", "item_version__item", *clips
    )
    rows = rows.defer(*(f"{clip}__peaks" for clip in clips))
    wanted = sorted(ids - {0})
    parts = (wanted[start : start + _AT_ONCE] for start in range(0, len(wanted), _AT_ONCE))
    return {row.pk: row for part in parts for row in rows.filter(pk__in=part)}


def _asked_of(candidates: Sequence[Candidate]) -> tuple[str, ...]:
    """What music must not share with that of another split: the words of its prompt, its clips and its item."""
    version = candidates[0].item_version
    prompt = [f"prompt {text}"] if (text := version.prompt.strip()) else []
    return (f"item {version.item.external_id}", *prompt, *_clips(candidates))


def _clips(candidates: Sequence[Candidate]) -> list[str]:
    version = candidates[0].item_version
    clips = [*(candidate.clip for candidate in candidates), version.clip, version.reference_clip]
    return [f"clip {clip.sha256}" for clip in clips if clip]


def _prompt(version: ItemVersion) -> Prompt:
    reference = _sound(version.reference_clip) if version.reference_clip else None
    return Prompt(version.prompt, version.lyrics, reference)


def _sound(clip: Clip) -> Sound:
    return Sound(clip.sha256, local_copies.original(clip), clip.duration_s)


def _strata(version: ItemVersion) -> dict[str, str]:
    """Modality and category first, as ORCA's splits have them (§5.3); then the others."""
    strata = {key: str(value) for key, value in version.item.strata.items() if isinstance(value, str | int)}
    first = [key for key in ("modality", "category") if key in strata]
    return {key: strata[key] for key in [*first, *sorted(strata.keys() - set(first))]}


def _name(candidate: Candidate) -> str:
    version = candidate.item_version
    return f"{version.item.external_id}/{version.number}/{candidate.system.name}/{candidate.take}"


def _most_items(judged: Iterable[Judged], group: Mapping[str, str]) -> int:
    """In one group."""
    items: dict[str, set[int]] = {}
    for one in judged:
        items.setdefault(group[one.thing.key], set()).add(one.item)
    return max(map(len, items.values()), default=0)


def _kind(link: str) -> str:
    return link.partition(" ")[0]


def _some(values: Sequence[Any], keep: Sequence[bool]) -> tuple[Any, ...]:
    return tuple(value for value, wanted in zip(values, keep, strict=True) if wanted)
