"""Flag rules: which items experts should review, the rules' thresholds, and the weight of their findings.

A rule looks at one version of an item; what it finds is its evidence. `annotation.review.flag_queries` asks the
database, this module says what counts. Numbers about ratings are given as on a scale from 1 to 5, whatever the
study's scale is: other scales are stretched to that length.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotation.errors import FieldProblem

CODES = "codes"
DISAGREEMENT = "disagreement"
LOW_CONFIDENCE = "low_confidence"
MODEL_CONFLICT = "model_conflict"
FAILED_GOLD = "failed_gold"
UNANNOTATED = "unannotated"
AUDIT = "audit"

# What an item's audit draw hashes beside the study's seed, and how many hexadecimal digits of the hash it takes.
AUDIT_NAME = "audit"
AUDIT_DIGITS = 13

# The length of a scale from 1 to 5, on which thresholds are stated.
REFERENCE_RANGE = 4.0
# Of two raters at the ends of it: no variance is larger.
_WIDEST = REFERENCE_RANGE**2 / 2
MAX_WEIGHT = 10.0


@dataclass(frozen=True)
class Parameter:
    """One number or choice of a rule. `kind`: "whole", "number", "codes" (feedback codes; none means all), "text"."""

    name: str
    kind: str
    default: Any
    least: float = 0.0
    most: float = 0.0

    def read(self, value: Any) -> Any:
        return tuple(value) if self.kind == "codes" else value


@dataclass(frozen=True)
class RuleKind:
    """A rule as it comes: on or off, its weight in priorities, and what can be set."""

    key: str
    on: bool
    weight: float
    parameters: tuple[Parameter, ...] = ()

    def parameter(self, name: str) -> Parameter | None:
        return next((one for one in self.parameters if one.name == name), None)


# In the order of the settings page. ORCA flags by codes and reviews what nobody annotated (arXiv 2512.09066, 3 and
# 5.2); its share of pairs with a variance above 1.0 does not say which variance: this one is unbiased (n - 1).
def _kind(key: str, weight: float, *parameters: Parameter, on: bool = True) -> RuleKind:
    return RuleKind(key, on, weight, parameters)


_KINDS = (
    _kind(CODES, 1.0, Parameter("codes", "codes", ()), Parameter("min_raters", "whole", 1, 1, 100)),
    _kind(
        DISAGREEMENT,
        1.0,
        Parameter("variance", "number", 1.0, 0.0, 8.0),
        Parameter("min_ratings", "whole", 2, 2, 100),
        Parameter("minority", "number", 0.4, 0.05, 0.75),
        Parameter("min_votes", "whole", 3, 2, 100),
    ),
    _kind(
        LOW_CONFIDENCE,
        0.5,
        Parameter("confidence", "number", 2.0, 1.0, 5.0),
        Parameter("min_answers", "whole", 2, 1, 100),
    ),
    _kind(FAILED_GOLD, 1.0, Parameter("min_raters", "whole", 2, 1, 100)),
    _kind(
        MODEL_CONFLICT,
        0.75,
        Parameter("scorer", "text", ""),
        Parameter("output", "text", "value"),
        # None means the first that such a score can be compared with.
        Parameter("question", "text", ""),
        Parameter("difference", "number", 0.5, 0.05, 1.0),
        Parameter("min_ratings", "whole", 2, 1, 100),
        on=False,
    ),
    _kind(UNANNOTATED, 0.5, Parameter("min_skips", "whole", 2, 1, 100), on=False),
    _kind(AUDIT, 0.2, Parameter("share", "number", 0.02, 0.001, 1.0), on=False),
)
KINDS: dict[str, RuleKind] = {kind.key: kind for kind in _KINDS}


@dataclass(frozen=True)
class FlagRule:
    """One rule as a study has it: `rule["min_raters"]`."""

    key: str
    on: bool
    weight: float
    values: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def as_json(self) -> dict[str, Any]:
        values = {name: list(v) if isinstance(v, tuple) else v for name, v in self.values.items()}
        return {"on": self.on, "weight": self.weight, **values}


@dataclass(frozen=True)
class FlagRules:
    """All rules of a study, by key, in the order of `KINDS`."""

    rules: Mapping[str, FlagRule]

    @classmethod
    def of(cls, rules: Mapping[str, Any]) -> FlagRules:
        """From a study's `rules`, in which only what differs from the defaults need stand."""
        return cls({}).changed(rules.get("review", {}).get("flags", {}))

    def changed(self, wanted: Mapping[str, Mapping[str, Any]]) -> FlagRules:
        """With some numbers changed; what is not named stays. The wanted ones have passed `faults`."""
        return FlagRules(
            {
                key: _changed_rule(kind, self.rules.get(key), wanted.get(key, {}))
                for key, kind in KINDS.items()
            }
        )

    def __getitem__(self, key: str) -> FlagRule:
        return self.rules[key]

    def __iter__(self) -> Iterator[FlagRule]:
        return iter(self.rules.values())

    def in_force(self) -> list[FlagRule]:
        """Those that are on. A model's conflicts wait for a model to be chosen."""
        return [rule for rule in self if rule.on and not (rule.key == MODEL_CONFLICT and not rule["scorer"])]

    def as_json(self) -> dict[str, dict[str, Any]]:
        return {rule.key: rule.as_json() for rule in self}


def _changed_rule(kind: RuleKind, now: FlagRule | None, wanted: Mapping[str, Any]) -> FlagRule:
    before = now or FlagRule(kind.key, kind.on, kind.weight, {p.name: p.default for p in kind.parameters})
    values = {p.name: p.read(wanted.get(p.name, before[p.name])) for p in kind.parameters}
    return FlagRule(kind.key, wanted.get("on", before.on), float(wanted.get("weight", before.weight)), values)


def validate_flag_rules(wanted: Mapping[str, Any], *, codes: Sequence[str] = ()) -> list[FieldProblem]:
    """Every fault of rules that somebody wants ({rule: {name: value}}), each with the path of its field. `codes`: the
    feedback codes that the study's protocol knows."""
    problems = []
    for key, values in wanted.items():
        path = f"flags.{key}"
        if key not in KINDS:
            problems.append(FieldProblem(path, f"There is no such rule; there are {', '.join(KINDS)}."))
        elif not isinstance(values, Mapping):
            problems.append(FieldProblem(path, "Give an object of the rule's settings."))
        else:
            problems += [
                FieldProblem(f"{path}.{name}", fault)
                for name, value in values.items()
                if (fault := _validate_parameter(KINDS[key], name, value, codes))
            ]
    return problems


def _validate_parameter(kind: RuleKind, name: str, value: Any, codes: Sequence[str]) -> str:
    if name == "on":
        return "" if isinstance(value, bool) else "Give true or false."
    if name == "weight":
        return _validate_number(value, 0.0, MAX_WEIGHT)
    parameter = kind.parameter(name)
    if parameter is None:
        names = ["on", "weight", *(one.name for one in kind.parameters)]
        return f"This rule has no such setting; it has {', '.join(names)}."
    if parameter.kind == "text":
        return (
            "" if isinstance(value, str) and len(value) <= 200 else "Give a text of at most 200 characters."
        )
    if parameter.kind == "codes":
        return _validate_codes(value, codes)
    if parameter.kind == "whole" and (isinstance(value, bool) or not isinstance(value, int)):
        return f"Give a whole number from {parameter.least:g} to {parameter.most:g}."
    return _validate_number(value, parameter.least, parameter.most)


def _validate_number(value: Any, least: float, most: float) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        return f"Give a number from {least:g} to {most:g}."
    return ""


def _validate_codes(value: Any, codes: Sequence[str]) -> str:
    if isinstance(value, list | tuple) and all(isinstance(code, str) for code in value):
        unknown = [code for code in value if code not in codes]
        if not unknown:
            return ""
        if codes:
            return f"This protocol has no code {', '.join(unknown)}; it has {', '.join(codes)}."
    return "Give a list of the protocol's feedback codes; an empty one means all of them."


def strength(rule: FlagRule, evidence: Mapping[str, Any]) -> float:
    """How much a rule's evidence says, from 0 to 1; `docs/review.md` explains each."""
    if rule.key == CODES:
        return _strength_of_raters(int(evidence["n_raters"]))
    if rule.key == DISAGREEMENT:
        spread = evidence.get("variance_on_5")
        return min(1.0, float(evidence["minority"]) / 0.5 if spread is None else float(spread) / _WIDEST)
    if rule.key == LOW_CONFIDENCE:
        return min(1.0, max(0.0, 1.0 - (float(evidence["mean_on_5"]) - 1.0) / REFERENCE_RANGE))
    if rule.key == FAILED_GOLD:
        return _strength_of_raters(int(evidence["n_failed"]))
    if rule.key == MODEL_CONFLICT:
        return min(1.0, float(evidence["difference"]))
    return 1.0


def _strength_of_raters(n: int) -> float:
    """Half for one rater, three quarters for two, nearer to 1 with each more."""
    return 1.0 - 2.0**-n


def audit_draw(seed: int, external_id: str) -> float:
    """A number in [0, 1) that depends on the study's seed and the item's name alone; below the share, it is drawn."""
    digest = hashlib.sha256(f"{seed}:{AUDIT_NAME}:{external_id}".encode()).hexdigest()
    return int(digest[:AUDIT_DIGITS], 16) / 2.0 ** (4 * AUDIT_DIGITS)


def weight_of(rule: FlagRule, evidence: Mapping[str, Any]) -> float:
    """What a rule adds to the priority of a case."""
    return rule.weight * strength(rule, evidence)
