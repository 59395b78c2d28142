"""What an answer shares with its reference, question, rationale and transcript, as numbers of about the size of 1.

Coverage of a by b is the share of a's words (n-grams), repeated ones counted, that b has too; weighted by how rare they
are where that says more. Precision, recall and F of an answer are its coverages with the reference. What the question
says already tells a right answer from a wrong one only where the question offers both; so words beyond the question are
compared once more, alone.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping

from scoring.backbones.ngram_answers_contrasts import told_apart
from scoring.backbones.ngram_answers_coverage import Fields, Rarity, alike, content, coverage
from scoring.backbones.ngram_answers_texts import FUNCTION_WORDS, LONGEST_GRAM, SHORTEST_GRAM

# Which fields are compared: candidate, reference, question, rationale, transcript.
_COMPARED = tuple(
    (pair[0], pair[1]) for pair in ("rc", "cr", "qc", "cq", "xc", "cx", "rx", "rq", "qr", "tc", "ct")
)
_YES_NO_QUESTION = re.compile(r"^\W*(is|are|was|were|do|does|did|can|could|will|would|has|have|had|should)\b")
_LONGEST_ALIGNED = 400


def overlaps(fields: Fields, rarity: Rarity) -> dict[str, float]:
    """By name, the same names in the same order for all answers."""
    return {
        **_coverages(fields, rarity),
        **_beyond_question(fields, rarity),
        **_of_grams(fields, rarity),
        **_order(fields),
        **_numbers(fields),
        **_verdicts(fields),
        **_alternatives(fields),
        **told_apart(fields, rarity),
        **_style(fields),
    }


def _coverages(fields: Fields, rarity: Rarity) -> dict[str, float]:
    found = {}
    for name, weight in (("plain", None), ("rare", rarity)):
        for a, b in _COMPARED:
            found[f"{name}_{a}{b}"] = coverage(fields[a].count, fields[b].count, weight)
        recall, precision = found[f"{name}_rc"], found[f"{name}_cr"]
        found[f"{name}_f"] = 2 * recall * precision / (recall + precision) if recall + precision else 0.0
    for other in "rxq":
        found[f"pairs_{other}c"] = coverage(fields[other].pairs, fields.candidate.pairs)
    return found


def _beyond_question(fields: Fields, rarity: Rarity) -> dict[str, float]:
    candidate, reference, rationale = fields.candidate.count, fields.reference.count, fields.rationale.count
    asked = fields.question.count
    new_c, new_r, new_x = (content(count, asked) for count in (candidate, reference, rationale))
    own = content(candidate, asked, reference)

    def weight(words: Iterable[str]) -> float:
        return math.log1p(sum(rarity(word) for word in words))

    return {
        "new_rc": coverage(new_r, new_c, rarity),
        "new_cr": coverage(new_c, new_r, rarity),
        "new_xc": coverage(new_x, new_c, rarity),
        "new_cx": coverage(new_c, new_x, rarity),
        "own_cx": coverage(own, rationale, rarity),
        "new_r": math.log1p(len(new_r)),
        "new_c": math.log1p(len(new_c)),
        "nothing_new_r": float(not new_r),
        "nothing_new_c": float(not new_c),
        "missed": weight([word for word in new_r if word not in candidate]),
        "met": weight([word for word in new_r if word in candidate]),
        "added": weight(own),
        "unfounded": weight([word for word in own if word not in rationale]),
        "alike_rc": alike(new_r or reference, candidate, rarity),
        "alike_cr": alike(new_c or candidate, reference, rarity),
    }


def _of_grams(fields: Fields, rarity: Rarity) -> dict[str, float]:
    found = {}
    for n in range(SHORTEST_GRAM, LONGEST_GRAM + 1):
        own = {letter: fields[letter].grams[n] for letter in "crqx"}
        # Those of four letters say most of how rare they are: shorter ones are in every text, longer ones in few.
        weight = rarity if n == 4 else None
        found[f"grams{n}_rc"] = coverage(own["r"], own["c"], weight)
        found[f"grams{n}_cr"] = coverage(own["c"], own["r"], weight)
        if n in (3, 4):
            for a, b in ("cr", "cx", "cq", "rx"):
                found[f"cosine{n}_{a}{b}"] = _cosine(own[a], own[b], weight)
    return found


def _cosine(a: Mapping[str, int], b: Mapping[str, int], rarity: Rarity | None) -> float:
    def squares(count: Mapping[str, int]) -> float:
        return sum(((rarity(gram) if rarity else 1.0) * times) ** 2 for gram, times in count.items())

    below = math.sqrt(squares(a) * squares(b))
    dot = sum(
        (rarity(gram) if rarity else 1.0) ** 2 * times * b[gram] for gram, times in a.items() if gram in b
    )
    return dot / below if below else 0.0


def _order(fields: Fields) -> dict[str, float]:
    c, r = fields.candidate.words, fields.reference.words
    wanted = content(fields.reference.count, fields.question.count) or fields.reference.count
    hits = [at for at, word in enumerate(c) if word in wanted]
    common = _longest_common(r[:_LONGEST_ALIGNED], c[:_LONGEST_ALIGNED])
    squeezed, sought = fields.candidate.squeezed, fields.reference.squeezed
    return {
        "in_order_r": common / len(r) if r else 0.0,
        "in_order_c": common / len(c) if c else 0.0,
        "concordant": _concordance(r, c),
        "equal": float(c == r),
        "contained": float(bool(r) and f" {' '.join(r)} " in f" {' '.join(c)} "),
        "squeezed_in": float(len(sought) > 2 and sought in squeezed),
        "squeezed_equal": float(bool(sought) and sought == squeezed),
        "squeezed_around": float(len(squeezed) > 2 and squeezed in sought),
        "first_hit": hits[0] / len(c) if hits else 1.0,
        "last_hit": hits[-1] / len(c) if hits else 0.0,
        "hits": len(hits) / len(c) if c else 0.0,
    }


def _longest_common(a: list[str], b: list[str]) -> int:
    """The length of the longest common subsequence."""
    before = [0] * (len(b) + 1)
    for word in a:
        row = [0]
        for at, other in enumerate(b):
            row.append(before[at] + 1 if word == other else max(before[at + 1], row[-1]))
        before = row
    return before[-1]


def _concordance(a: list[str], b: list[str]) -> float:
    """Kendall's tau of where the words that both texts have once stand: from near to far is not from far to near."""
    place = {word: at for at, word in enumerate(b)}
    shared = [place[word] for word in a if a.count(word) == 1 and word in place][:40]
    signs = [1 if later > one else -1 for at, one in enumerate(shared) for later in shared[at + 1 :]]
    return sum(signs) / len(signs) if signs else 0.0


def _numbers(fields: Fields) -> dict[str, float]:
    c, r, q = fields.candidate.numbers, fields.reference.numbers, fields.question.numbers
    bare_c, bare_r = ({number.rstrip("#") for number in numbers} for numbers in (c, r))
    return {
        "number_r": float(bool(r)),
        "number_c": float(bool(c)),
        "number_met": float(bool(r) and bare_r <= bare_c),
        "number_missed": float(bool(r) and bool(c) and not bare_r & bare_c),
        "number_added": float(bool(c - r - q)),
        "number_off": _distance(bare_r, bare_c),
    }


def _distance(wanted: set[str], given: set[str]) -> float:
    """How far the nearest number is from the one that is wanted, on a logarithmic scale that ends at 3; 1.5 where no
    number is given, 0 where none or several are wanted."""
    if len(wanted) != 1:
        return 0.0
    (sought,) = wanted
    values = [float(number) for number in given if number.isdecimal() and len(number) < 16]
    if not values or not sought.isdecimal() or len(sought) > 15:
        return 1.5
    return min(math.log1p(min(abs(float(sought) - value) for value in values)), 3.0)


def _verdicts(fields: Fields) -> dict[str, float]:
    c, r = fields.candidate, fields.reference
    asked = float(bool(_YES_NO_QUESTION.match(fields.question.plain)))
    return {
        "verdict_r": r.verdict,
        "verdict_c": c.verdict,
        "verdicts": c.verdict * r.verdict,
        "yes_no_asked": asked,
        "stances": asked * c.stance * r.stance,
        "denied_c": float(min(c.negations, 3)),
        "denied_r": float(min(r.negations, 2)),
        "denied_x": float(min(fields.rationale.negations, 3)),
        "denials_differ": float(bool(c.negations) != bool(r.negations)),
    }


def _alternatives(fields: Fields) -> dict[str, float]:
    """The words of the question that the reference has too, and those beside an "or" that it has not."""
    c, r, q = fields.candidate.count, fields.reference.count, fields.question
    told = Counter({word: 1 for word in q.count if word in r and word not in FUNCTION_WORDS})
    beside = {
        word
        for at, joint in enumerate(q.words)
        if joint == "or"
        for word in q.words[max(at - 3, 0) : at + 4]
        if word not in r and word not in FUNCTION_WORDS
    }
    return {
        "offered": float("or" in q.count),
        "told_met": coverage(told, c),
        "told": float(bool(told)),
        "rivals_met": coverage(Counter(beside), c),
    }


def _style(fields: Fields) -> dict[str, float]:
    c, raw = fields.candidate, fields.candidate.raw
    found = {}
    for letter in "crqxt":
        found[f"words_{letter}"] = math.log1p(len(fields[letter].words))
    for letter in "cr":
        found[f"characters_{letter}"] = math.log1p(len(fields[letter].raw))
    return {
        **found,
        "longer": found["words_c"] - found["words_r"],
        "distinct": len(c.count) / len(c.words) if c.words else 0.0,
        "sentences": math.log1p(len(re.findall(r"[.!?。！？]", raw))),
        "lines": math.log1p(raw.count("\n")),
        "listed": float(raw.startswith("[")),
        "commas_c": math.log1p(raw.count(",")),
        "commas_r": math.log1p(fields.reference.raw.count(",")),
        "quotes": math.log1p(raw.count('"') + raw.count("'")),
        "ended": float(raw.rstrip()[-1:] in tuple(".!?'\"]。！？")),
        "capital": float(raw[:1].isupper()),
        "foreign": sum(not character.isascii() for character in raw) / max(len(raw), 1),
    }
