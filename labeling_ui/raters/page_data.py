"""Figures of a rater, rules and actions in words, for pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext as look_up

from analytics.browse.rater_table import GROUPS, figure_group
from analytics.models import QualitySweep, RaterQuality
from analytics.raters.rules import (
    ABOVE,
    ACTIONS,
    FIGURES,
    Condition,
    FigureSpec,
    QualityRule,
    QualityRules,
    figures_of,
)
from analytics.statistics.raters.quality import Run
from annotation.models import Rater, RaterAction
from labeling_ui.data.cells import figure_text

# ── Rules and actions ────────────────────────────────────────────────────────


def rule_sentence(rule: QualityRule) -> str:
    """Checks passed below 60 %, of at least 5 checks"""
    return _(" and ").join(_condition_text(one) for one in rule.conditions)


def _condition_text(condition: Condition) -> str:
    spec = condition.spec
    text = (
        _("%(figure)s above %(value)s, of at least %(n)s %(of)s")
        if condition.side == ABOVE
        else _("%(figure)s below %(value)s, of at least %(n)s %(of)s")
    )
    return text % {
        "figure": look_up(spec.label), "value": figure_text(spec, condition.value), "n": f"{condition.least_n:,}",
        "of": look_up(spec.of),
    }  # fmt: skip


def evidence_text(evidence: Sequence[Mapping[str, Any]]) -> str:
    """Checks passed 40 % (of 10 checks)"""
    parts = []
    for one in evidence:
        spec = FIGURES.get(one["figure"])
        if spec is not None and one.get("value") is not None:
            text = _("%(figure)s %(value)s (of %(n)s %(of)s)")
            parts.append(
                text
                % {
                    "figure": look_up(spec.label), "value": figure_text(spec, one["value"]), "n": f"{one['n']:,}",
                    "of": look_up(spec.of),
                }
            )  # fmt: skip
    return ", ".join(parts)


@dataclass(frozen=True)
class ActionRow:
    """`by`: the title of the rule, or who did it."""

    action: RaterAction
    by: str
    is_rule: bool
    evidence: str


def action_rows(rows: Iterable[RaterAction], rules: QualityRules) -> list[ActionRow]:
    titles = {rule.key: rule.title for rule in rules.rules}
    return [
        ActionRow(
            one, titles.get(one.rule, one.reason) if one.rule else str(one.actor or ""), bool(one.rule),
            evidence_text(one.evidence),
        )
        for one in rows
    ]  # fmt: skip


# ── The quality of one rater ─────────────────────────────────────────────────


@dataclass(frozen=True)
class ShownFigure:
    """`place`: from 0 to 100 on a bar, where the figure has one; `low`, `width`: of its interval there."""

    label: str
    meaning: str
    value: str
    rests_on: str
    interval: str
    place: float | None
    low: float | None
    width: float | None


@dataclass(frozen=True)
class FigureGroup:
    title: str
    figures: tuple[ShownFigure, ...]


@dataclass(frozen=True)
class RaterQualityPage:
    quality: RaterQuality
    groups: tuple[FigureGroup, ...]
    questions: tuple[Mapping[str, Any], ...]
    codes: tuple[tuple[str, int], ...]
    systems: tuple[Mapping[str, Any], ...]


def quality_page(rater: Rater) -> RaterQualityPage | None:
    """None before anything is known of them."""
    row = RaterQuality.objects.filter(rater=rater).first()
    if row is None:
        return None
    values = {name: getattr(row, name) for spec in FIGURES.values() for name in (spec.key, spec.n)}
    measured = figures_of({**values, "details": row.details})
    by_group: dict[str, list[ShownFigure]] = {title: [] for title in GROUPS}
    for key, spec in FIGURES.items():
        if measured[key].value is not None:
            shown = _shown(spec, measured[key].value, measured[key].n, measured[key].interval)
            if key == "longest_run" and (chance := _chance_of_run(row.details["run"])) is not None:
                text = _("by chance at least as long in %(p)s of such raters")
                shown = replace(shown, interval=text % {"p": _percent(chance)})
            by_group[figure_group(spec)].append(shown)
    groups = tuple(FigureGroup(look_up(title), tuple(some)) for title, some in by_group.items() if some)
    return RaterQualityPage(
        row, groups, tuple(_questions(row)), tuple((code, n) for code, n in row.details.get("codes", ())),
        tuple(_systems(rater, row)),
    )  # fmt: skip


def _chance_of_run(run: Mapping[str, Any]) -> float | None:
    return Run(run["length"], run["n"], tuple(run.get("counts", ()))).p


def _percent(chance: float) -> str:
    return "< 0.1 %" if chance < 0.001 else f"{100 * chance:.1f} %"


def _shown(
    spec: FigureSpec, value: float | None, n: int, interval: tuple[float, float] | None
) -> ShownFigure:
    assert value is not None
    on_bar = spec.most <= 1
    low = high = None
    text = ""
    if interval is not None:
        low, high = interval
        text = _("95 %% interval %(low)s to %(high)s") % {
            "low": figure_text(spec, low), "high": figure_text(spec, high),
        }  # fmt: skip
    return ShownFigure(
        label=look_up(spec.label),
        meaning=look_up(spec.meaning),
        value=figure_text(spec, value),
        rests_on=_("of %(n)s %(of)s") % {"n": f"{n:,}", "of": look_up(spec.of)},
        interval=text,
        place=round(100 * min(1.0, max(0.0, value)), 1) if on_bar else None,
        low=None if low is None or not on_bar else round(100 * low, 1),
        width=None if low is None or high is None or not on_bar else round(100 * (high - low), 1),
    )


def _questions(row: RaterQuality) -> Iterable[Mapping[str, Any]]:
    """Agreement by question, beside the study's alpha."""
    sweep = QualitySweep.objects.filter(study_id=row.study_id).first()
    alphas = sweep.alphas if sweep else {}
    keys = [one[0] for one in sweep.layout] if sweep else []
    agreements = dict(zip(keys, row.agreements, strict=False))
    for one in row.details.get("questions", ()):
        total = sum(n for _value, n in one["histogram"]) or 1
        bars, start = [], 0.0
        for place, (value, n) in enumerate(one["histogram"]):
            width = 100 * n / total
            bars.append(
                {
                    "x": round(start, 2),
                    "width": round(width, 2),
                    "colour": place % 6,
                    "value": f"{value:g}",
                    "n": n,
                }
            )
            start += width
        yield {**one, "agreement": agreements.get(one["key"]), "alpha": alphas.get(one["key"]), "bars": bars}


def _systems(rater: Rater, row: RaterQuality) -> Iterable[Mapping[str, Any]]:
    from annotation.models import System

    found = [one for one in row.details.get("deviation", ()) if one["log10_e"] > 0]
    names = dict(System.objects.filter(pk__in=[one["system"] for one in found]).values_list("pk", "name"))
    for one in found:
        yield {
            **one,
            "name": names.get(one["system"], ""),
            "share": one["share"],
            "strong": one["log10_e"] >= 2,
        }


def action_label(kind: str) -> str:
    return look_up(ACTIONS[kind])
