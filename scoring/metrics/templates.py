"""Which questions a metric asks, chosen by name from a prompt file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from scoring.metrics.registry import OptionError
from scoring.prompts import Prompts
from scoring.prompts.load import PLACEHOLDER

_ALL = "all"
# Outputs of the ensemble, and what a column of scores can be called at most.
_RESERVED = {"mean", "spread", _ALL}
_LONGEST = 40


def chosen(prompts: Prompts, names: Sequence[str], *, of: str, placeholders: Iterable[str]) -> dict[str, str]:
    """The templates by the names of their outputs, in the order given. A name is a key of the set `of`, or set.key;
    `all` stands for a whole set. Raises OptionError."""
    found: dict[str, str] = {}
    for name in names:
        found |= _named(prompts.questions, name, of)
    needed = set(placeholders)
    for name, template in found.items():
        if set(PLACEHOLDER.findall(template)) != needed:
            said = " and ".join(f"{{{one}}}" for one in sorted(needed))
            raise OptionError("template", f"{name}: must hold {said}, and no other placeholders: {template}")
        if name in _RESERVED or len(name) > _LONGEST:
            raise OptionError(
                "template", f"{name}: is reserved or too long for a name; rename this question."
            )
    return found


def _named(sets: Mapping[str, Mapping[str, str]], name: str, of: str) -> dict[str, str]:
    before, dot, key = name.rpartition(".")
    group = sets.get(before if dot else of)
    if group is None:
        raise OptionError(
            "template", f"{name}: there is no set {before or of!r}; there are {', '.join(sets)}."
        )
    if key == _ALL:
        return {f"{before}{dot}{one}": text for one, text in group.items()}
    if key not in group:
        raise OptionError("template", f"{name}: there is no such question; there are {', '.join(group)}.")
    return {name: group[key]}
