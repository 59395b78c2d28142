"""Flag rules: which items experts should review, the rules' thresholds, and the weight of their findings.

A rule looks at one version of an item; what it finds is its evidence. `annotation.review.flag_queries` asks the
database, this module says what counts. Numbers about ratings are given as on a scale from 1 to 5, whatever the
study's scale is: other scales are stretched to that length.

A rule is declared once, as a dataclass of settings (annotation/studies/settings.py); validation, API and page follow.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Self

from annotation.errors import FieldProblem
from annotation.studies.settings import declared, setting
from annotation.studies.settings import gettext_noop as _

# What an item's audit draw hashes beside the study's seed, and how many hexadecimal digits of the hash it takes.
AUDIT_NAME = "audit"
AUDIT_DIGITS = 13

# The length of a scale from 1 to 5, on which thresholds are stated.
REFERENCE_RANGE = 4.0
# Of two raters at the ends of it: no variance is larger.
_WIDEST = REFERENCE_RANGE**2 / 2


def _weight(default: float) -> Any:
    return setting(default, label=_("Weight in the order of the queue"), least=0, most=10.0)


@dataclass(frozen=True)
class FlagRule:
    """One rule as a study has it: on or off, its weight in priorities, and what else can be set."""

    key: ClassVar[str]
    title: ClassVar[str]
    meaning: ClassVar[str]

    on: bool = setting(True)
    weight: float = _weight(1.0)

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def changed(self, values: Mapping[str, Any]) -> Self:
        """With some settings changed, which have passed `validate_flag_rules`; what is not named stays."""
        known = {name: values[name] for name in declared(type(self)) if name in values}
        typed: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in known.items()
        }
        return replace(self, **typed | {"weight": float(typed.get("weight", self.weight))})

    def as_json(self) -> dict[str, Any]:
        return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items()}

    def strength(self, evidence: Mapping[str, Any]) -> float:
        """How much the rule's evidence says, from 0 to 1; `docs/review.md` explains each."""
        return 1.0

    def weight_of(self, evidence: Mapping[str, Any]) -> float:
        """What the rule adds to the priority of a case."""
        return self.weight * self.strength(evidence)


# ORCA flags by codes and reviews what nobody annotated (arXiv 2512.09066, 3 and 5.2); its share of pairs with a
# variance above 1.0 does not say which variance: this one is unbiased (n - 1).


@dataclass(frozen=True)
class Codes(FlagRule):
    key, title = "codes", _("Feedback codes")
    meaning = _("Raters marked the item itself with one of the codes you choose.")

    codes: tuple[str, ...] = setting(
        (), label=_("Codes that count"), help_text=_("None chosen means all of them.")
    )
    min_raters: int = setting(1, label=_("Raters who gave one"), least=1, most=100)

    def strength(self, evidence: Mapping[str, Any]) -> float:
        return _strength_of_raters(int(evidence["n_raters"]))


@dataclass(frozen=True)
class Disagreement(FlagRule):
    key, title = "disagreement", _("Disagreement")
    meaning = _("Ratings of one answer lie far apart, or votes on one pair are split.")

    variance: float = setting(
        1.0,
        label=_("Ratings: variance above"),
        help_text=_("Unbiased (n − 1), as on a scale from 1 to 5."),
        least=0.0,
        most=8.0,
    )
    min_ratings: int = setting(2, label=_("Ratings of one answer needed for it"), least=2, most=100)
    minority: float = setting(
        0.4,
        label=_("Preferences: share of the minority in %, at least"),
        least=0.05,
        most=0.75,
        percent=True,
    )
    min_votes: int = setting(3, label=_("Votes on one pair needed for it"), least=2, most=100)

    def strength(self, evidence: Mapping[str, Any]) -> float:
        spread = evidence.get("variance_on_5")
        return min(1.0, float(evidence["minority"]) / 0.5 if spread is None else float(spread) / _WIDEST)


@dataclass(frozen=True)
class LowConfidence(FlagRule):
    key, title = "low_confidence", _("Low confidence")
    meaning = _("Raters answered, but were unsure of it.")

    weight: float = _weight(0.5)
    confidence: float = setting(
        2.0,
        label=_("Mean confidence at most"),
        help_text=_("As on a scale from 1 to 5."),
        least=1.0,
        most=5.0,
    )
    min_answers: int = setting(2, label=_("Answers needed for it"), least=1, most=100)

    def strength(self, evidence: Mapping[str, Any]) -> float:
        return min(1.0, max(0.0, 1.0 - (float(evidence["mean_on_5"]) - 1.0) / REFERENCE_RANGE))


@dataclass(frozen=True)
class FailedGold(FlagRule):
    key, title = "failed_gold", _("Failed gold")
    meaning = _("Many raters failed a gold task: its answer key may be wrong.")

    min_raters: int = setting(2, label=_("Raters who failed it"), least=1, most=100)

    def strength(self, evidence: Mapping[str, Any]) -> float:
        return _strength_of_raters(int(evidence["n_failed"]))


@dataclass(frozen=True)
class ModelConflict(FlagRule):
    key, title = "model_conflict", _("Model against people")
    meaning = _("A model’s score disagrees with the raters.")

    on: bool = setting(False)
    weight: float = _weight(0.75)
    scorer: str = setting("", label=_("Model"), help_text=_("One that has scored this study."))
    output: str = setting(
        "value", label=_("Which of its outputs"), help_text=_("The page of a run lists them.")
    )
    # None means the first that such a score can be compared with.
    question: str = setting("", label=_("Compared with the answers to"))
    difference: float = setting(
        0.5,
        label=_("Difference, at least"),
        help_text=_("Between where the model and where people place an answer, from 0 to 1."),
        least=0.05,
        most=1.0,
    )
    min_ratings: int = setting(2, label=_("Ratings of one answer needed for it"), least=1, most=100)

    def strength(self, evidence: Mapping[str, Any]) -> float:
        return min(1.0, float(evidence["difference"]))


@dataclass(frozen=True)
class Unannotated(FlagRule):
    key, title = "unannotated", _("Not annotated")
    meaning = _("Nobody has judged the item: raters skipped it, or the study has ended.")

    on: bool = setting(False)
    weight: float = _weight(0.5)
    min_skips: int = setting(2, label=_("Raters who skipped it"), least=1, most=100)


@dataclass(frozen=True)
class Audit(FlagRule):
    key, title = "audit", _("Random audit")
    meaning = _("A share of the finished items, drawn at random: it shows what the other rules miss.")

    on: bool = setting(False)
    weight: float = _weight(0.2)
    share: float = setting(
        0.02, label=_("Share of finished items, in %"), least=0.001, most=1.0, percent=True
    )


# In the order of the settings page.
KINDS: dict[str, type[FlagRule]] = {
    kind.key: kind
    for kind in (Codes, Disagreement, LowConfidence, FailedGold, ModelConflict, Unannotated, Audit)
}


@dataclass(frozen=True)
class FlagRules:
    """All rules of a study, by key, in the order of `KINDS`."""

    rules: Mapping[str, FlagRule]

    @classmethod
    def of(cls, rules: Mapping[str, Any]) -> FlagRules:
        """From a study's `rules`, in which only what differs from the defaults need stand."""
        defaults = cls({key: kind() for key, kind in KINDS.items()})
        return defaults.changed(rules.get("review", {}).get("flags", {}))

    def changed(self, values: Mapping[str, Mapping[str, Any]]) -> FlagRules:
        return FlagRules({key: rule.changed(values.get(key, {})) for key, rule in self.rules.items()})

    def __getitem__(self, key: str) -> FlagRule:
        return self.rules[key]

    def __iter__(self) -> Iterator[FlagRule]:
        return iter(self.rules.values())

    def in_force(self) -> list[FlagRule]:
        """Those that are on. A model's conflicts wait for a model to be chosen."""
        return [rule for rule in self if rule.on and (rule.key != ModelConflict.key or rule["scorer"])]

    def as_json(self) -> dict[str, dict[str, Any]]:
        return {rule.key: rule.as_json() for rule in self}


def validate_flag_rules(values: Mapping[str, Any], *, codes: Sequence[str] = ()) -> list[FieldProblem]:
    """Every fault of changed rules ({rule: {name: value}}), each with the path of its field. `codes`: the feedback
    codes that the study's protocol knows."""
    problems = []
    for key, settings in values.items():
        path = f"flags.{key}"
        if key not in KINDS:
            problems.append(FieldProblem(path, f"There is no such rule; there are {', '.join(KINDS)}."))
        elif not isinstance(settings, Mapping):
            problems.append(FieldProblem(path, "Give an object of the rule's settings."))
        else:
            problems += [
                FieldProblem(f"{path}.{name}", fault)
                for name, value in settings.items()
                if (fault := _setting_problem(KINDS[key], name, value, codes))
            ]
    return problems


def _setting_problem(kind: type[FlagRule], name: str, value: Any, codes: Sequence[str]) -> str:
    settings = declared(kind)
    if name not in settings:
        return f"This rule has no such setting; it has {', '.join(settings)}."
    return _codes_problem(value, codes) if name == "codes" else settings[name].problem_of(value)


def _codes_problem(value: Any, codes: Sequence[str]) -> str:
    if isinstance(value, list | tuple) and all(isinstance(code, str) for code in value):
        unknown = [code for code in value if code not in codes]
        if not unknown:
            return ""
        if codes:
            return f"This protocol has no code {', '.join(unknown)}; it has {', '.join(codes)}."
    return "Give a list of the protocol's feedback codes; an empty one means all of them."


def _strength_of_raters(n: int) -> float:
    """Half for one rater, three quarters for two, nearer to 1 with each more."""
    return 1.0 - 2.0**-n


def audit_draw(seed: int, external_id: str) -> float:
    """A number in [0, 1) that depends on the study's seed and the item's name alone; below the share, it is drawn."""
    digest = hashlib.sha256(f"{seed}:{AUDIT_NAME}:{external_id}".encode()).hexdigest()
    return int(digest[:AUDIT_DIGITS], 16) / 2.0 ** (4 * AUDIT_DIGITS)
