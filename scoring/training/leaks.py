"""What may not lie in two splits, and does: a training on it would be tested on what it has learned."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from scoring.training.contract import ComparedPair, RatedAnswer, RatedClip, Split, TrainingError

T = TypeVar("T")
Links = Mapping[str, Callable[[T], Iterable[str]]]

_NAMED = 5


def words(text: str) -> str:
    """A text as it is the same for a reader, in whatever case and with whatever spaces."""
    return " ".join(text.lower().split())


def asked_and_wanted(answer: RatedAnswer) -> tuple[str, ...]:
    """A question and its reference, as one name; none where one of them is missing."""
    question, reference = words(answer.question), words(answer.reference)
    return (f"{question} / {reference}",) if question and reference else ()


ANSWERS: Links[RatedAnswer] = {
    "group": lambda answer: (answer.group,),
    "answer": lambda answer: (answer.key,),
    "question": asked_and_wanted,
}
PAIRS: Links[ComparedPair] = {
    "group": lambda pair: (pair.group,),
    "clip": lambda pair: (pair.first.sha256, pair.second.sha256),
    "prompt": lambda pair: (pair.prompt.text.strip(),) if pair.prompt.text.strip() else (),
}
CLIPS: Links[RatedClip] = {
    "group": lambda clip: (clip.group,),
    "clip": lambda clip: (clip.sound.sha256,),
    "prompt": lambda clip: (clip.prompt.text.strip(),) if clip.prompt.text.strip() else (),
}


def refuse_leaks(split: Split[T], links: Links[T]) -> None:
    """Raises TrainingError("leak", …) with the counts and the first names of what lies in two parts of the split.

    links: kinds of things that may not ("clip", "prompt"), each with those of one row.
    """
    told = [
        f"{_counted(len(leaked), kind)} in two splits: {_listed(leaked)}"
        for kind, of in links.items()
        if (leaked := _leaked(split, of))
    ]
    if told:
        raise TrainingError(
            "leak",
            "; ".join(told) + ". What a model is tested on it must not have learned from: "
            "put whatever shares a question, a prompt or a clip into one group, and split by groups.",
        )


def _leaked(split: Split[T], of: Callable[[T], Iterable[str]]) -> dict[str, list[str]]:
    where: dict[str, dict[str, None]] = defaultdict(dict)
    for part, rows in (("train", split.train), ("dev", split.dev), ("test", split.test)):
        for row in rows:
            for name in of(row):
                where[name][part] = None
    return {name: list(parts) for name, parts in sorted(where.items()) if len(parts) > 1}


def _counted(n: int, kind: str) -> str:
    return f"1 {kind} lies" if n == 1 else f"{n:,} {kind}s lie"


def _listed(leaked: Mapping[str, list[str]]) -> str:
    first = [f"{name} ({', '.join(parts)})" for name, parts in list(leaked.items())[:_NAMED]]
    more = len(leaked) - len(first)
    return ", ".join(first) + (f" and {more:,} more" if more else "")
