"""Precision and recall of a study's quality rules on a simulation, where it is known who is a bad rater."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from analytics.models import RaterQuality
from analytics.raters import quality
from analytics.raters.rules import FIGURES, PRESETS, SEVERE, QualityRule, QualityRules, figures_of
from annotation.models import Rater, RaterAction, Study
from annotation.simulation.profiles import profile_of, profiles
from annotation.simulation.rater_session import RaterRecord

# The rules that are tried where a study has none.
PRESET = "recommended"
_COLUMNS = (
    "rater_id",
    "details",
    *dict.fromkeys(name for one in FIGURES.values() for name in (one.key, one.n)),
)


@dataclass(frozen=True)
class FoundRater:
    """A simulated rater. found_by: keys of the rules that acted on them, or would if they were on. found: one of these
    ends their work (pauses or excludes). warned: another one warns or trains them again."""

    name: str
    pseudonym: str
    profile: str
    good: bool
    judgments: int
    state: str
    found: bool
    warned: bool
    found_by: tuple[str, ...] = ()
    stopped: str = ""


@dataclass(frozen=True)
class RuleFindings:
    """What one rule finds. `on`: it is in force and acted; else it would have."""

    key: str
    title: str
    action: str
    on: bool
    found: int
    found_bad: int
    precision: float | None
    recall: float | None


@dataclass(frozen=True)
class ProfileFindings:
    """Of the raters of one profile. `states`: how many are in each."""

    profile: str
    good: bool
    raters: int
    judgments: int
    found: int
    warned: int
    states: Mapping[str, int]
    stopped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Findings:
    """precision: the share of bad raters among those found; recall: the share of the bad raters that were found. None
    where there are none to count. `tried`: the study has no rules, so those of the preset were tried on its figures."""

    study: str
    raters: int
    bad: int
    found: int
    found_bad: int
    precision: float | None
    recall: float | None
    tried: bool
    profiles: tuple[ProfileFindings, ...]
    rules: tuple[RuleFindings, ...]
    missed: tuple[FoundRater, ...]
    wrongly_found: tuple[FoundRater, ...]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def findings_of(study: Study, records: Mapping[str, RaterRecord] | None = None) -> Findings:
    """Of a simulation's study as it is now. `records`: what its raters met, where they have just worked."""
    quality.refresh(study.pk)
    study.refresh_from_db()
    own = QualityRules.of(study.rules).rules
    rules = own or PRESETS[PRESET][1].rules
    return summarise(study.slug, _raters(study, rules, records or {}), rules, tried=not own)


def summarise(
    study: str, raters: Sequence[FoundRater], rules: Sequence[QualityRule] = (), *, tried: bool = False
) -> Findings:
    bad = [rater for rater in raters if not rater.good]
    found = [rater for rater in raters if rater.found]
    by_profile = {key: [rater for rater in raters if rater.profile == key] for key in profiles()}
    precision, recall = _precision_and_recall(found, bad)
    return Findings(
        study=study,
        raters=len(raters),
        bad=len(bad),
        found=len(found),
        found_bad=sum(not rater.good for rater in found),
        precision=precision,
        recall=recall,
        tried=tried,
        profiles=tuple(_of_profile(key, group) for key, group in by_profile.items() if group),
        rules=tuple(_of_rule(rule, raters, bad) for rule in rules),
        missed=tuple(rater for rater in bad if not rater.found),
        wrongly_found=tuple(rater for rater in found if rater.good),
    )


def _precision_and_recall(
    found: Sequence[FoundRater], bad: Sequence[FoundRater]
) -> tuple[float | None, float | None]:
    both = sum(not rater.good for rater in found)
    return both / len(found) if found else None, both / len(bad) if bad else None


def _of_rule(rule: QualityRule, raters: Sequence[FoundRater], bad: Sequence[FoundRater]) -> RuleFindings:
    found = [rater for rater in raters if rule.key in rater.found_by]
    both = sum(not rater.good for rater in found)
    return RuleFindings(
        rule.key, rule.title, rule.action, rule.on, len(found), both, *_precision_and_recall(found, bad)
    )


def _raters(
    study: Study, rules: Sequence[QualityRule], records: Mapping[str, RaterRecord]
) -> list[FoundRater]:
    rows = RaterQuality.objects.filter(study_id=study.pk).values(*_COLUMNS)
    figures = {row["rater_id"]: figures_of(row) for row in rows}
    acted: dict[int, set[str]] = defaultdict(set)
    actions = RaterAction.objects.filter(study=study, reverted_at=None)
    for rater_id, rule in actions.values_list("rater_id", "rule"):
        acted[rater_id].add(rule)
    severe = {rule.key for rule in rules if rule.action in SEVERE}
    found = []
    for rater in Rater.objects.filter(study=study, origin=Rater.Origin.SIMULATED).order_by("pk"):
        profile = profile_of(rater.external_id)
        if profile is None:
            continue
        holding = {rule.key for rule in rules if rule.holds(figures.get(rater.pk, {}))}
        by = tuple(rule.key for rule in rules if rule.key in holding | acted[rater.pk])
        ended = rater.state in (Rater.State.PAUSED, Rater.State.EXCLUDED)
        record = records.get(rater.external_id)
        found.append(
            FoundRater(
                name=rater.external_id,
                pseudonym=rater.pseudonym,
                profile=profile.key,
                good=profile.good,
                judgments=rater.n_judgments,
                state=rater.state,
                found=ended or bool(severe & set(by)),
                warned=bool(set(by) - severe),
                found_by=by,
                stopped="" if record is None else record.stopped,
            )
        )
    return found


def _of_profile(key: str, raters: Sequence[FoundRater]) -> ProfileFindings:
    return ProfileFindings(
        profile=key,
        good=raters[0].good,
        raters=len(raters),
        judgments=sum(rater.judgments for rater in raters),
        found=sum(rater.found for rater in raters),
        warned=sum(rater.warned and not rater.found for rater in raters),
        states=dict(Counter(rater.state for rater in raters)),
        stopped=dict(Counter(rater.stopped for rater in raters if rater.stopped not in ("", "no_tasks"))),
    )


def text_of(findings: Findings) -> str:
    """The findings as tables for a terminal."""
    verb = "would find" if findings.tried else "found"
    lines = [
        f"Simulation {findings.study}: {findings.raters} raters, {findings.bad} of them bad.",
        "",
        f"{'profile':<14}{'':<6}{'raters':>7}{'judgments':>11}{'found':>7}{'warned':>8}  states",
    ]
    for row in findings.profiles:
        states = ", ".join(f"{count} {state}" for state, count in row.states.items())
        stopped = ", ".join(f"{n} {code}" for code, n in row.stopped.items())
        lines.append(
            f"{row.profile:<14}{'good' if row.good else 'bad':<6}{row.raters:>7}{row.judgments:>11}{row.found:>7}"
            f"{row.warned:>8}  {states}{'; stopped: ' + stopped if stopped else ''}"
        )
    lines += ["", f"{'rule':<14}{'action':<13}{'found':>7}{'bad':>6}{'precision':>11}{'recall':>8}"]
    lines += [
        f"{rule.key:<14}{rule.action:<13}{rule.found:>7}{rule.found_bad:>6}{_share(rule.precision):>11}"
        f"{_share(rule.recall):>8}{'' if rule.on else '  (off: it would)'}"
        for rule in findings.rules
    ]
    if findings.tried:
        lines += [
            "",
            "The study has no rules of its own; these are the recommended ones, tried and not applied.",
        ]
    lines += [
        "",
        f"The rules {verb} {findings.found_bad} of {findings.bad} bad raters (recall {_share(findings.recall)}) and "
        f"{findings.found - findings.found_bad} of {findings.raters - findings.bad} good ones "
        f"(precision {_share(findings.precision)}).",
    ]
    if findings.missed:
        lines.append("Missed: " + ", ".join(rater.name for rater in findings.missed) + ".")
    if findings.wrongly_found:
        lines.append("Wrongly found: " + ", ".join(rater.name for rater in findings.wrongly_found) + ".")
    return "\n".join(lines)


def _share(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.0%}"
