"""The built-in encoder of answers: hashed n-grams of the five fields and their overlaps. It needs no download.

Two things are known of an answer: about a hundred numbers that say what it shares with the reference, the question and
the rest (`ngram_features`), and a bag of its own n-grams, hashed into a table of learned vectors, which says
how it is put. Several small networks read both side by side. In training each answer is learned by a few of them drawn
by lot, so that they stay different and their sum, which the head takes, errs less than any one of them.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain, pairwise
from typing import Any, NamedTuple

import torch
from torch.nn.functional import dropout, gelu

from scoring.backbones.encoders.contract import AnswerEncoder
from scoring.backbones.encoders.ngram_features import Fields, Rarity, Text, overlap_features
from scoring.training.contract import RatedAnswer

# A change of this code that changes vectors takes a new number.
_VERSION = 1
_RARITY_SLOTS, _BAG_SLOTS = 1 << 16, 1 << 14
_BAG_WIDTH, _MEMBERS, _MEMBER_WIDTH = 16, 16, 32
# Of the members, how many learn from an answer; and how much of what they read and make is left out.
_LEARNING, _INPUT_DROPOUT, _BAG_DROPOUT, _HIDDEN_DROPOUT = 4, 0.1, 0.2, 0.3
# Vectors of n-grams begin this small, so that overlaps are learned from before the wording is.
_BAG_STD = 0.05
_LARGEST_Z = 4.0

FEATURE_NAMES = tuple(overlap_features(Fields(*[Text("")] * 5), lambda word: 1.0))


class Prepared(NamedTuple):
    """overlaps: (len(NAMES),), standardised. slots, weights: one per distinct hashed n-gram of the answer."""

    overlaps: torch.Tensor
    slots: torch.Tensor
    weights: torch.Tensor


class NgramAnswers(AnswerEncoder):
    """Untrained, it knows of no word how rare it is; `fit` counts that, and how overlaps are distributed."""

    rarity: torch.Tensor
    centre: torch.Tensor
    scale: torch.Tensor

    def __init__(self, *, question: bool = True, rationale: bool = True, transcript: bool = False) -> None:
        super().__init__()
        self._read = {"question": question, "rationale": rationale, "transcript": transcript}
        self.width = _MEMBERS * _MEMBER_WIDTH
        self.register_buffer("rarity", torch.ones(_RARITY_SLOTS))
        self.register_buffer("centre", torch.zeros(len(FEATURE_NAMES)))
        self.register_buffer("scale", torch.ones(len(FEATURE_NAMES)))
        inputs = len(FEATURE_NAMES) + _BAG_WIDTH
        self.bag = torch.nn.EmbeddingBag(_BAG_SLOTS, _BAG_WIDTH, mode="sum")
        torch.nn.init.normal_(self.bag.weight, std=_BAG_STD)
        self.weight = torch.nn.Parameter(torch.randn(_MEMBERS, inputs, _MEMBER_WIDTH) / math.sqrt(inputs))
        self.bias = torch.nn.Parameter(torch.zeros(_MEMBERS, 1, _MEMBER_WIDTH))

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"code": f"ngram-answers/{_VERSION}", **self.settings}

    @property
    def settings(self) -> Mapping[str, Any]:
        return dict(self._read)

    @property
    def defaults(self) -> Mapping[str, Any]:
        return {
            "learning_rate": 2e-3,
            "weight_decay": 0.3,
            "steps": 400,
            "batch": 64,
            "warmup": 50,
            "validate_every": 50,
            "patience": 5,
        }

    def fit(self, answers: Sequence[RatedAnswer]) -> None:
        fields = self._fields(answers)
        # A question counts once, however many answers it has.
        questions = {(one.question.raw, one.reference.raw, one.rationale.raw): one for one in fields}
        seen: Counter[int] = Counter()
        for one in questions.values():
            # The terms that have a document frequency: words, and their n-grams of four characters.
            texts = (one.question, one.reference, one.rationale)
            terms = {term for text in texts for term in (*text.count, *text.grams[4])}
            seen.update({_hash_slot(term, _RARITY_SLOTS) for term in terms})
        count = torch.zeros(_RARITY_SLOTS)
        count[list(seen)] = torch.tensor([float(times) for times in seen.values()])
        self.rarity.copy_(torch.log((len(questions) + 1) / (count + 0.5)))
        rarity = self._rarities()
        table = torch.stack([_overlaps(one, rarity) for one in fields])
        self.centre.copy_(table.mean(dim=0))
        self.scale.copy_(table.std(dim=0, correction=0) + 1e-3)

    def prepare(self, answers: Sequence[RatedAnswer]) -> list[Prepared]:
        rarity, centre, scale = self._rarities(), self.centre.cpu(), self.scale.cpu()
        prepared = []
        for fields in self._fields(answers):
            z = (_overlaps(fields, rarity) - centre) / scale
            prepared.append(Prepared(z.clamp(-_LARGEST_Z, _LARGEST_Z), *_bag(fields.candidate)))
        return prepared

    def size(self, prepared: Prepared) -> int:
        """All alike: a batch of answers of even length would be one of even quality, too."""
        return 1

    def collate(self, prepared: Sequence[Prepared]) -> tuple[torch.Tensor, ...]:
        starts = torch.tensor([0, *(len(one.slots) for one in prepared[:-1])]).cumsum(0)
        return (
            torch.stack([one.overlaps for one in prepared]),
            torch.cat([one.slots for one in prepared]),
            starts,
            torch.cat([one.weights for one in prepared]),
        )

    def forward(self, batch: tuple[torch.Tensor, ...]) -> torch.Tensor:
        shared, slots, starts, weights = batch
        wording = self.bag(slots, starts, per_sample_weights=weights)
        if self.training:
            # The wording as a whole, or it would be learned by heart before the overlaps are understood.
            there = torch.rand(len(wording), 1, device=wording.device) >= _BAG_DROPOUT
            wording = wording * there / (1 - _BAG_DROPOUT)
        read = torch.cat([dropout(shared, _INPUT_DROPOUT, self.training), wording], dim=1)
        hidden = gelu(torch.baddbmm(self.bias, read.expand(_MEMBERS, *read.shape), self.weight))
        hidden = dropout(hidden, _HIDDEN_DROPOUT, self.training)
        if self.training:
            learning = torch.rand(_MEMBERS, len(read), 1, device=read.device) < _LEARNING / _MEMBERS
            hidden = hidden * learning * (_MEMBERS / _LEARNING)
        return hidden.transpose(0, 1).flatten(1)

    def _fields(self, answers: Sequence[RatedAnswer]) -> list[Fields]:
        # What answers to one question are compared with is cut into words once.
        text = cache(Text)
        fields = []
        for answer in answers:
            beside = {name: text(getattr(answer, name) if read else "") for name, read in self._read.items()}
            fields.append(Fields(Text(answer.candidate), text(answer.reference), **beside))
        return fields

    def _rarities(self) -> Rarity:
        of_slot = self.rarity.cpu().numpy()

        @cache
        def rarity(word: str) -> float:
            return float(of_slot[_hash_slot(word, _RARITY_SLOTS)])

        return rarity


def _overlaps(fields: Fields, rarity: Rarity) -> torch.Tensor:
    return torch.tensor(list(overlap_features(fields, rarity).values()))


def _bag(text: Text) -> tuple[torch.Tensor, torch.Tensor]:
    """Slots and weights; the weights have length 1, so that a long answer does not speak louder."""
    grams = chain(text.words, (f"{first} {second}" for first, second in pairwise(text.words)))
    count = Counter(_hash_slot(gram, _BAG_SLOTS) for gram in grams)
    weights = torch.tensor([math.sqrt(times) for times in count.values()])
    return torch.tensor(list(count), dtype=torch.int64), weights / weights.norm().clamp(min=1e-6)


def _hash_slot(gram: str, slots: int) -> int:
    """The same on every machine and in every run, as Python's own hash is not."""
    return zlib.crc32(gram.encode()) % slots
