"""Quality rules of a study: conditions on the figures of raters, and what is done about whoever meets them.

Pure: a rule looks at plain figures. The figures are declared here once, with what each means; the table of raters, the
rater's page, the form of the rules, the API and the docs follow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from annotation.errors import FieldProblem
from annotation.studies.settings import gettext_noop as _
from annotation.studies.settings import is_number, setting


@dataclass(frozen=True)
class FigureSpec:
    """`key`: the column of `RaterQuality`; `n`: the column that says how much it rests on. `share`: shown in per cent.
    `low_is_bad`: what a rule usually asks for. `interval`: where `details` has its interval. `check`: it is about
    hidden checks. `meaning`: for whoever reads the figure."""

    key: str
    label: str
    n: str
    of: str
    meaning: str
    share: bool = False
    low_is_bad: bool = True
    most: float = 1.0
    least: float = 0.0
    interval: str = ""
    is_check: bool = False


FIGURES: Mapping[str, FigureSpec] = {
    one.key: one
    for one in (
        FigureSpec(
            "check_accuracy", _("Checks passed"), "n_checks", _("checks"),
            _("Gold tasks and traps answered as expected, of all that the rater met."),
            share=True, interval="checks", is_check=True,
        ),
        FigureSpec(
            "gold_accuracy", _("Gold tasks passed"), "n_gold", _("gold tasks"),
            _("Tasks whose answer is known, answered right."), share=True, interval="gold", is_check=True,
        ),
        FigureSpec(
            "trap_accuracy", _("Traps passed"), "n_traps", _("traps"),
            _("Spoken instructions followed, and pairs of one and the same clip recognised."),
            share=True, interval="traps", is_check=True,
        ),
        FigureSpec(
            "n_failed", _("Checks failed"), "n_checks", _("checks"),
            _("How many gold tasks and traps were answered otherwise than expected."),
            low_is_bad=False, most=1000, is_check=True,
        ),
        FigureSpec(
            "consistency", _("Self-consistency"), "n_repeats", _("repeats"),
            _("How alike two answers of this rater to the same task are, the second time with sides swapped."),
            share=True,
        ),
        FigureSpec(
            "agreement", _("Agreement with the rest"), "n_compared", _("answers compared"),
            _("Krippendorff's alpha of this rater with all others: 1 for always the same, 0 for what chance gives, "
              "below 0 for the opposite of the others."), least=-1.0,
        ),
        FigureSpec(
            "content", _("Answers follow what is judged"), "n_compared", _("answers compared"),
            _("Evidence that answers depend on what is judged, as the others' do, as a power of ten. Below 0, answers "
              "given whatever is judged explain them better: at random, or the opposite. Who judges as the others do "
              "falls below -1 with a chance of 1 in 10 at most, however little raters agree."),
            least=-1000, most=1000,
        ),
        FigureSpec(
            "alpha_gain", _("Gain of alpha without the rater"), "n_compared", _("answers compared"),
            _("By how much alpha of the study's first question rises when this rater is left out."),
            low_is_bad=False, least=-1.0,
        ),
        FigureSpec(
            "position_bias", _("Position bias"), "n_sided", _("choices of a side"),
            _("0 where the side shown first is chosen half the time, 1 where it is always the same side."),
            low_is_bad=False, interval="sides",
        ),
        FigureSpec(
            "variance", _("Variance of ratings"), "n_rated", _("ratings"),
            _("Of the values given, as on a scale from 1 to 5. 0 for always the same value."), most=8.0,
        ),
        FigureSpec(
            "entropy", _("Entropy of answers"), "n_answers", _("answers"),
            _("How evenly the answers that there are were used: 0 for always the same one, 1 for each as often."),
        ),
        FigureSpec(
            "longest_run", _("Longest run"), "n_answers", _("answers"),
            _("The longest series of equal answers in a row."), low_is_bad=False, most=10_000,
        ),
        FigureSpec(
            "seconds", _("Seconds per judgment"), "n_timed", _("timed judgments"),
            _("The median time from first sight of a task to its submission."), most=3600,
        ),
        FigureSpec(
            "hasty", _("Hasty judgments"), "n_sounded", _("judgments of sound"),
            _("Judgments submitted in less than half the time that their sound takes."),
            share=True, low_is_bad=False, interval="hasty",
        ),
        FigureSpec(
            "heard", _("Sound heard"), "n_heard", _("playback logs"),
            _("The median share of a task's sound that was played."), share=True,
        ),
        FigureSpec(
            "overconfidence", _("Overconfidence"), "n_confident", _("answers with confidence"),
            _("Mean confidence less the share of others who gave the same answer; above 0 for who is surer than "
              "right."),
            low_is_bad=False, least=-1.0,
        ),
        FigureSpec(
            "code_share", _("Judgments with a code"), "n_timed", _("judgments"),
            _("Judgments to which the rater gave at least one feedback code."), share=True,
        ),
        FigureSpec(
            "deviation", _("Favouring a system"), "n_answers", _("answers"),
            _("Evidence that the rater favours or disfavours one system against the others' judgment, as a power of "
              "ten: 2 comes up by chance for at most 1 of 100 raters."), low_is_bad=False, most=100,
        ),
    )
}  # fmt: skip

BELOW, ABOVE = "below", "above"
ACTIONS: Mapping[str, str] = {
    "warn": _("Warn the rater"),
    "training": _("Ask for training again"),
    "pause": _("Pause: no more tasks until you decide"),
    "exclude": _("Exclude from now on"),
    "exclude_all": _("Exclude with all judgments"),
}
# What a rater does not get over by itself.
SEVERE = ("pause", "exclude", "exclude_all")
MAX_RULES, MAX_CONDITIONS, MAX_N = 20, 3, 100_000
_KEY = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


@dataclass(frozen=True)
class Condition:
    """`figure` is `side` ("below", "above") of `value`, with `least_n` or more to rest on. `surely`: its whole 95 %
    interval is, for figures that have one."""

    figure: str
    side: str
    value: float
    least_n: int = 10
    surely: bool = False

    @property
    def spec(self) -> FigureSpec:
        return FIGURES[self.figure]

    def holds(self, figures: Figures) -> bool:
        measured = figures.get(self.figure)
        if measured is None or measured.value is None or measured.n < self.least_n:
            return False
        value = measured.value
        if self.surely and measured.interval is not None:
            value = measured.interval[1] if self.side == BELOW else measured.interval[0]
        return value < self.value if self.side == BELOW else value > self.value


@dataclass(frozen=True)
class Measured:
    """A figure of one rater; None where there is nothing to tell it from."""

    value: float | None
    n: int
    interval: tuple[float, float] | None = None


Figures = Mapping[str, Measured]


@dataclass(frozen=True)
class QualityRule:
    """All conditions have to hold. `message`: shown to the rater beside the sentence of the action."""

    key: str
    title: str
    action: str
    conditions: tuple[Condition, ...]
    on: bool = False
    message: str = ""

    def holds(self, figures: Figures) -> bool:
        return bool(self.conditions) and all(one.holds(figures) for one in self.conditions)

    def evidence(self, figures: Figures) -> list[dict[str, Any]]:
        """The figures that the rule saw, as they are stored with the action."""
        return [
            {"figure": one.figure, "side": one.side, "threshold": one.value, "value": figures[one.figure].value,
             "n": figures[one.figure].n}
            for one in self.conditions
        ]  # fmt: skip


@dataclass(frozen=True)
class Handling:
    """What holds for all rules of a study. `minutes`: how long the study takes a participant, by which the policy of
    its `panel` goes."""

    recollect: bool = setting(
        True,
        label=_("Collect excluded work again"),
        help_text=_("Tasks whose judgments are excluded open again for other raters."),
    )
    panel: str = setting(
        "",
        label=_("Panel whose policy the rules keep to"),
        choices=(("", _("None")), ("prolific", _("Prolific"))),
    )
    minutes: int = setting(
        10, label=_("Minutes that the study takes a participant"), least=1, most=600,
        help_text=_("The policy of Prolific asks for two failed checks where it is more than 5."),
    )  # fmt: skip


@dataclass(frozen=True)
class QualityRules(Handling):
    """A study's rules."""

    rules: tuple[QualityRule, ...] = ()

    @classmethod
    def of(cls, rules: Mapping[str, Any]) -> QualityRules:
        """From a study's `rules`."""
        return from_json(rules.get("quality", {}))

    @property
    def in_force(self) -> tuple[QualityRule, ...]:
        return tuple(rule for rule in self.rules if rule.on)

    def as_json(self) -> dict[str, Any]:
        rules = [
            {**asdict(rule), "conditions": [asdict(one) for one in rule.conditions]} for rule in self.rules
        ]
        return {
            "rules": rules,
            "recollect": self.recollect,
            "panel": self.panel,
            "minutes": self.minutes,
        }


def from_json(values: Mapping[str, Any]) -> QualityRules:
    """Of values that have passed `problems_of`."""
    rules = tuple(
        QualityRule(
            key=str(one["key"]), title=str(one["title"]), action=one["action"], on=bool(one.get("on", False)),
            message=str(one.get("message", "")),
            conditions=tuple(
                Condition(c["figure"], c["side"], float(c["value"]), int(c.get("least_n", 10)), bool(c.get("surely")))
                for c in one["conditions"]
            ),
        )
        for one in values.get("rules", ())
    )  # fmt: skip
    rest = {name: values[name] for name in ("recollect", "panel", "minutes") if name in values}
    return QualityRules(rules=rules, **rest)


# ── Validation ───────────────────────────────────────────────────────────────


def problems_of(values: Mapping[str, Any]) -> list[FieldProblem]:
    """Every fault, each with the name of its field: rules[0].conditions[1].value."""
    problems = []
    rules = values.get("rules", [])
    if not isinstance(rules, list | tuple) or len(rules) > MAX_RULES:
        return [FieldProblem("rules", f"Give a list of at most {MAX_RULES} rules.")]
    if not isinstance(values.get("recollect", True), bool):
        problems.append(FieldProblem("recollect", "Give true or false."))
    if values.get("panel", "") not in ("", PROLIFIC):
        problems.append(FieldProblem("panel", "Give prolific, or nothing."))
    minutes = values.get("minutes", 10)
    if not is_number(minutes, whole=True) or not 1 <= minutes <= 600:
        problems.append(FieldProblem("minutes", "Give a whole number from 1 to 600."))
    keys = set()
    for n, rule in enumerate(rules):
        found = (
            list(_rule_problems(rule)) if isinstance(rule, Mapping) else [FieldProblem("", "Give an object.")]
        )
        problems += [replace(one, field=f"rules[{n}].{one.field}".rstrip(".")) for one in found]
        key = rule.get("key") if isinstance(rule, Mapping) else None
        if key in keys:
            problems.append(FieldProblem(f"rules[{n}].key", "Another rule has this key."))
        keys.add(key)
    if not problems and values.get("panel") == PROLIFIC:
        problems += policy_problems(from_json(values))
    return problems


def _rule_problems(rule: Mapping[str, Any]) -> Iterator[FieldProblem]:
    if not isinstance(rule.get("key"), str) or not _KEY.fullmatch(rule["key"]):
        yield FieldProblem("key", "Give a key of lower-case letters, digits and hyphens, at most 40.")
    if not isinstance(rule.get("title"), str) or not 0 < len(rule["title"].strip()) <= 80:
        yield FieldProblem("title", "Give the rule a name of 1 to 80 characters.")
    if rule.get("action") not in ACTIONS:
        yield FieldProblem("action", f"Choose one of {', '.join(ACTIONS)}.")
    if not isinstance(rule.get("message", ""), str) or len(rule.get("message", "")) > 300:
        yield FieldProblem("message", "Write at most 300 characters.")
    if not isinstance(rule.get("on", False), bool):
        yield FieldProblem("on", "Give true or false.")
    conditions = rule.get("conditions")
    if not isinstance(conditions, list | tuple) or not 0 < len(conditions) <= MAX_CONDITIONS:
        yield FieldProblem("conditions", f"Give 1 to {MAX_CONDITIONS} conditions.")
        return
    for n, condition in enumerate(conditions):
        if not isinstance(condition, Mapping):
            yield FieldProblem(f"conditions[{n}]", "Give an object.")
            continue
        for one in _condition_problems(condition):
            yield replace(one, field=f"conditions[{n}].{one.field}")


def _condition_problems(condition: Mapping[str, Any]) -> Iterator[FieldProblem]:
    figure = FIGURES.get(str(condition.get("figure")))
    if figure is None:
        yield FieldProblem("figure", f"Choose one of {', '.join(FIGURES)}.")
    if condition.get("side") not in (BELOW, ABOVE):
        yield FieldProblem("side", "Give below or above.")
    value = condition.get("value")
    if not is_number(value):
        yield FieldProblem("value", "Give a number.")
    elif figure is not None and value is not None and not figure.least <= value <= figure.most:
        yield FieldProblem("value", f"Give a number from {figure.least:g} to {figure.most:g}.")
    least_n = condition.get("least_n", 10)
    if not is_number(least_n, whole=True) or not 1 <= least_n <= MAX_N:
        yield FieldProblem("least_n", f"Give a whole number from 1 to {MAX_N}.")
    if not isinstance(condition.get("surely", False), bool):
        yield FieldProblem("surely", "Give true or false.")


# ── Policies of panels ───────────────────────────────────────────────────────

PROLIFIC = "prolific"
# From here on a study is long: one failed check is no reason to reject somebody's work.
LONG_MINUTES = 5
FAILED_CHECKS_OF_LONG = 2


def may_reject(*, n_failed: int, minutes: float) -> bool:
    """Whether Prolific's policy lets the work of a participant be rejected: for failed attention checks alone (gold
    tasks and traps; not comprehension checks, which training tasks are), two or more where the study takes over five
    minutes."""
    return n_failed >= (FAILED_CHECKS_OF_LONG if minutes > LONG_MINUTES else 1)


def policy_problems(rules: QualityRules) -> list[FieldProblem]:
    """Rules of a Prolific study that would end the work of somebody whom the policy protects. Every severe rule has to
    ask for the failed checks that the policy asks for; warnings and training are free."""
    needed = FAILED_CHECKS_OF_LONG if rules.minutes > LONG_MINUTES else 1
    return [
        FieldProblem(
            f"rules[{n}].conditions",
            f"Prolific lets you end somebody's work only after {needed} failed checks in a study of this length. "
            f"Add the condition “Checks failed above {needed - 1}”, or choose to warn or to train again.",
        )
        for n, rule in enumerate(rules.rules)
        if rule.on and rule.action in SEVERE
        and not any(
            one.figure == "n_failed" and one.side == ABOVE and one.value >= needed - 1 for one in rule.conditions
        )
    ]  # fmt: skip


# ── Presets ──────────────────────────────────────────────────────────────────


def _rule(key: str, title: str, action: str, *conditions: Condition) -> QualityRule:
    return QualityRule(key, title, action, conditions)


# Named in the language of whoever adds them.
PRESETS: Mapping[str, tuple[str, QualityRules]] = {
    "recommended": (
        _("Recommended"),
        QualityRules(rules=(
            _rule("checks", _("Fails hidden checks"), "pause", Condition("check_accuracy", BELOW, 0.6, 5)),
            _rule("careless", _("Fails some checks, and answers hardly follow what is judged"), "pause",
                  Condition("check_accuracy", BELOW, 0.75, 6), Condition("content", BELOW, 1.0, 30)),
            _rule("opposite", _("Answers the opposite of the others"), "pause",
                  Condition("agreement", BELOW, -0.2, 20), Condition("content", BELOW, -1.0, 20)),
            _rule("chance", _("Answers at random"), "pause", Condition("content", BELOW, -1.0, 30)),
            _rule("one_side", _("Always chooses the same side"), "pause",
                  Condition("position_bias", ABOVE, 0.4, 20, surely=True)),
            _rule("one_value", _("Always gives the same answer"), "pause", Condition("entropy", BELOW, 0.1, 20)),
            _rule("hasty", _("Answers without listening"), "pause", Condition("hasty", ABOVE, 0.25, 15, surely=True)),
            _rule("favours", _("Favours a system"), "warn", Condition("deviation", ABOVE, 3.0, 20)),
        )),
    ),
    PROLIFIC: (
        _("Prolific"),
        QualityRules(
            rules=(
                _rule("first_check", _("Failed a check"), "warn", Condition("n_failed", ABOVE, 0, 1)),
                _rule("checks", _("Failed two checks"), "exclude", Condition("n_failed", ABOVE, 1, 2)),
                _rule("hasty", _("Answers without listening"), "warn", Condition("hasty", ABOVE, 0.5, 10)),
                _rule("chance", _("Answers at random"), "training", Condition("content", BELOW, -1.0, 30)),
            ),
            panel=PROLIFIC,
        ),
    ),
}  # fmt: skip


def figures_of(values: Mapping[str, Any]) -> dict[str, Measured]:
    """From the columns of a row of `RaterQuality`, `details` among them."""
    details = values.get("details") or {}
    found = {}
    for key, spec in FIGURES.items():
        interval = details.get(spec.interval) if spec.interval else None
        ends = None
        if interval and interval.get("low") is not None:
            ends = (float(interval["low"]), float(interval["high"]))
            if key == "position_bias":
                ends = _bias_interval(*ends)
        value, n = values[key], int(values[spec.n])
        found[key] = Measured(None if value is None or not n else float(value), n, ends)
    return found


def _bias_interval(low: float, high: float) -> tuple[float, float]:
    """Of the bias, from that of the share for what is shown first."""
    ends = sorted((abs(2 * low - 1), abs(2 * high - 1)))
    return (0.0 if low <= 0.5 <= high else ends[0], ends[1])


def matching(rules: Iterable[QualityRule], figures: Figures) -> list[QualityRule]:
    return [rule for rule in rules if rule.holds(figures)]


def rule_figures(rules: Sequence[QualityRule]) -> set[str]:
    """The figures that the rules look at."""
    return {one.figure for rule in rules for one in rule.conditions}
