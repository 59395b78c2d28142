"""A plan in sentences, tables and curves, in the reader's language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext as look_up
from django.utils.translation import gettext_lazy

from analytics.planning.rules import PlanRequest, PlanResult, rating_hours
from analytics.reports.render.durations import duration
from analytics.reports.render.line_plot import Line, line_plot
from analytics.statistics.planning.sample_size import SENTENCES, SamplePlan
from labeling_ui.templatetags.formatting import count, decimals, percent

Stored = Mapping[str, Any]

GOAL_LABELS: dict[tuple[str, str], Promise] = {
    ("rating", "width"): gettext_lazy("Know a system's mean"),
    ("rating", "power"): gettext_lazy("Tell two systems apart"),
    ("rating", "alpha"): gettext_lazy("Know the agreement"),
    ("preference", "width"): gettext_lazy("Know a win rate"),
    ("preference", "power"): gettext_lazy("Show that one system is preferred"),
    ("preference", "alpha"): gettext_lazy("Know the agreement"),
    ("preference", "majority"): gettext_lazy("Get each comparison right"),
}

# Where starting values come from when the study has no votes; see analytics.planning.pilot.
PUBLISHED_SOURCES: dict[tuple[str, bool], Promise] = {
    ("rating", False): gettext_lazy(
        "Published: ratings of production quality in AES-PAM (9 systems, 200 prompts, 10 ratings each), put on this "
        "scale. They name no raters; a quarter of what raters of one clip differ by is taken to be severity."
    ),
    ("rating", True): gettext_lazy("Published: ORCA, alpha 0.82 on 2,033 answers with 3 ratings each."),
    ("preference", False): gettext_lazy(
        "Published: CMI-Pref, where 69 % of the pairs of votes on a comparison agree, and FENSE, where 2 to 5 % are "
        "ties. How far one rater's votes hang together is a guess."
    ),
    ("preference", True): gettext_lazy(
        "Published: CMI-Pref, alpha 0.38 on 492 comparisons with some 2 votes each."
    ),
}


def plan_sentence(result: PlanResult) -> str:
    """The answer, first of all as words."""
    request, plan = result.asked, result.plan
    if plan.design is None:
        return look_up(SENTENCES[plan.reason or "too_many"])
    design = plan.design
    numbers = {
        "votes": count(design.votes),
        "systems": count(request.systems),
        "items": count(design.items),
        "outputs": count(design.outputs),
        "overlap": count(design.overlap),
        "raters": count(design.raters),
        "each": count(request.votes_per_rater),
    }
    return _sentence(request, blocks=design.blocks) % numbers


def _sentence(request: PlanRequest, *, blocks: int) -> str:
    if request.goal == "alpha":
        return _(
            "About %(votes)s votes: %(items)s units with %(overlap)s votes each, some %(raters)s raters at %(each)s "
            "votes."
        )
    if request.kind == "rating":
        return _(
            "About %(votes)s votes: %(items)s items, answered by each of the systems (%(systems)s), with %(overlap)s "
            "votes on each answer, some %(raters)s raters at %(each)s votes."
        )
    if blocks > 1:
        return _(
            "About %(votes)s votes: %(outputs)s comparisons (%(items)s of each pair of systems) with %(overlap)s votes "
            "each, some %(raters)s raters at %(each)s votes."
        )
    return _(
        "About %(votes)s votes: %(items)s comparisons with %(overlap)s votes each, some %(raters)s raters at %(each)s "
        "votes."
    )


def plan_notes(result: PlanResult) -> list[str]:
    """What else is worth saying of the answer."""
    sentences, plan = [], result.plan
    if plan.reached is not None:
        one_vote = result.majority.one_vote if result.majority else None
        sentences.append(_precision_sentence(result.asked, plan.reached, one_vote=one_vote))
    if result.hours is not None:
        sentences.append(_("Raters' time: some %(time)s.") % {"time": duration(result.hours * 3600)})
    if plan.design_effect is not None and plan.design_effect > 1.005:
        sentences.append(
            _(
                "%(effect)s of these votes are worth one independent vote, because votes on the same output, and votes "
                "of the same rater, hang together."
            )
            % {"effect": decimals(plan.design_effect, 1)}
        )
    if result.majority and result.majority.lead:
        sentences.append(
            _(
                "If all comparisons were alike, stopping as soon as one side is %(lead)s votes ahead would take "
                "%(votes)s votes on average."
            )
            % {"lead": result.majority.lead, "votes": decimals(result.majority.expected_votes, 1)}
        )
    return sentences


def _precision_sentence(request: PlanRequest, reached: float, *, one_vote: float | None) -> str:
    if request.goal == "power":
        return _("The power is then %(share)s.") % {"share": percent(reached)}
    if request.goal == "majority":
        return _("The majority is then right in %(share)s; a single vote is in %(one)s.") % {
            "share": percent(reached),
            "one": percent(one_vote),
        }
    shown = (
        percent(reached) if request.kind == "preference" and request.goal == "width" else decimals(reached, 3)
    )
    return _("The interval is then ±%(width)s.") % {"width": shown}


def plan_assumptions(plan: SamplePlan) -> list[str]:
    return [look_up(SENTENCES[code]) for code in plan.assumptions]


def overlap_alternatives(result: PlanResult) -> tuple[tuple[str, ...], list[tuple[bool, tuple[str, ...]]]]:
    """Columns, and rows with whether it is the plan's own overlap."""
    items = {
        ("rating", False): _("Items"),
        ("preference", False): _("Comparisons"),
    }.get((result.asked.kind, result.asked.goal == "alpha"), _("Units"))
    timed = result.asked.seconds is not None
    columns = (_("Votes on each"), items, _("Votes"), _("Raters"), *((_("Raters' time"),) if timed else ()))
    rows = []
    for other in result.alternatives:
        design = other.plan.design
        cells = [str(other.overlap)]
        cells += ["–"] * 3 if design is None else map(count, (design.outputs, design.votes, design.raters))
        if result.asked.kind == "rating" and design is not None:
            cells[1] = count(design.items)
        if timed:
            spent = rating_hours(result.asked, other.plan)
            cells.append(duration(None if spent is None else spent * 3600))
        rows.append((other.overlap == result.asked.overlap, tuple(cells)))
    return columns, rows


def simulation_sentences(stored: Stored, request: PlanRequest) -> list[str]:
    last, shown = stored["moments"][-1], percent if request.kind == "preference" else decimals
    sentences = []
    if last["half_width"]["mean"] is not None:
        width = last["half_width"]
        sentences.append(
            _("The interval is ±%(mean)s on average; nine studies in ten have ±%(low)s to ±%(high)s.")
            % {name: shown(value) for name, value in width.items()}
        )
    if last["found"] is not None:
        sentences.append(
            _(
                "The better of the two best systems is shown to be better in %(found)s of the studies, and is ahead in "
                "%(better)s."
            )
            % {"found": percent(last["found"]), "better": percent(last["better"])}
        )
    if last["ranked"] is not None and stored["systems"] > 2:
        sentences.append(_("All systems are ranked right in %(share)s.") % {"share": percent(last["ranked"])})
    if last["alpha"]["mean"] is not None:
        sentences.append(
            _("Alpha is %(mean)s on average, from %(low)s to %(high)s in nine studies of ten.")
            % {name: decimals(value) for name, value in last["alpha"].items()}
        )
    return sentences


def simulation_curves(stored: Stored, request: PlanRequest) -> list[str]:
    moments, drawn = stored["moments"], []

    def target(level: float) -> Line:
        ends = (0.0, float(moments[-1]["votes"]))
        return Line(_("Target"), [(votes, level, None, None) for votes in ends], dashed=True)

    widths = [Line(_("Half width"), _interval_points(moments, "half_width"))]
    if request.goal == "width":
        widths.append(target(request.half_width))
    shares = [
        Line(_("Shown to be better"), _line_points(moments, "found")),
        *([Line(_("All ranked right"), _line_points(moments, "ranked"))] if stored["systems"] > 2 else []),
    ]
    if request.goal == "power":
        shares.append(target(request.power))
    for title, lines, ends in (
        (_("Half width of the interval"), widths, None),
        (_("Share of studies that find it"), shares, (0.0, 1.0)),
        (_("Alpha"), [Line(_("Alpha"), _interval_points(moments, "alpha"))], None),
    ):
        if lines[0].points:
            svg = line_plot(
                title, lines, x_label=_("Votes"), y_label=title, x_range=(0, moments[-1]["votes"]),
                y_range=ends,
            )  # fmt: skip
            drawn.append(svg)
    return drawn


def simulation_rows(stored: Stored) -> list[tuple[str, ...]]:
    return [
        (
            count(one["votes"]),
            decimals(one["half_width"]["mean"]),
            percent(one["found"]),
            percent(one["ranked"]),
            decimals(one["alpha"]["mean"]),
        )
        for one in stored["moments"]
    ]


def _interval_points(
    moments: Sequence[Stored], name: str
) -> list[tuple[float, float, float | None, float | None]]:
    return [
        (one["votes"], one[name]["mean"], one[name]["low"], one[name]["high"])
        for one in moments
        if one[name]["mean"] is not None
    ]


def _line_points(
    moments: Sequence[Stored], name: str
) -> list[tuple[float, float, float | None, float | None]]:
    return [(one["votes"], one[name], None, None) for one in moments if one[name] is not None]
