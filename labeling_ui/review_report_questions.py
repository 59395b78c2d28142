"""One question of the review's report as its page shows it: agreement by part, variances, the figure, the systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_lazy as _

from analytics.figures.paired_bars import paired_bars
from analytics.reports.paper.sentences import because
from analytics.review_frames import PARTS
from annotation.protocols import Protocol
from labeling_ui.review_report_tables import Table, Text
from labeling_ui.review_words import CHOICES
from labeling_ui.study_figures import LEVELS
from labeling_ui.templatetags.figures import count, decimals, percent

Stored = Mapping[str, Any]

PART_TITLES: dict[str, Promise] = {
    "before": _("Before the review"),
    "excluded": _("Set aside by the review"),
    "kept": _("Kept"),
    "rejudged": _("Judged on corrected texts"),
    "after": _("Now"),
    "unmarked_ratings": _("Now, ratings without feedback"),
    "marked_units": _("Now, answers with any feedback"),
    "unmarked_units": _("Now, answers without feedback"),
}
_VARIANCES: dict[str, Promise] = {
    "population_above": _("variance by n, above {threshold}"),
    "population_reaching": _("variance by n, {threshold} or above"),
    "unbiased_above": _("unbiased variance, above {threshold}"),
    "unbiased_reaching": _("unbiased variance, {threshold} or above"),
}


@dataclass(frozen=True)
class QuestionSection:
    key: str
    title: str
    n: int
    figure: SafeString
    tables: tuple[Table, ...]


def question_sections(found: Sequence[Stored], protocol: Protocol) -> list[QuestionSection]:
    return [_section(one, protocol) for one in found]


def figure(found: Stored, *, title: str, on_its_own: bool) -> str:
    """Figure 5 of the ORCA paper: how often each value was given before the review, and now."""
    rows = [(_value(label), before, after) for label, before, after in found["histogram"]]
    names = (gettext("Before the review"), gettext("Now"))
    return paired_bars(title, names, rows, on_its_own=on_its_own)


def question_title(found: Stored, protocol: Protocol) -> str:
    spec = protocol.question(found["key"])
    return str(found["title"]) if spec is None else spec.title.in_language(get_language() or "en")


def _section(found: Stored, protocol: Protocol) -> QuestionSection:
    title = question_title(found, protocol)
    tables = (
        _agreement(found),
        _variance(found),
        _histogram(found),
        _systems(found),
        _blind(found),
    )
    return QuestionSection(
        key=found["key"],
        title=title,
        n=found["parts"]["after"]["ratings"],
        figure=mark_safe(figure(found, title=title, on_its_own=False)),  # it escapes what it is given
        tables=tuple(table for table in tables if table is not None),
    )


def _agreement(found: Stored) -> Table:
    sided = "symmetric" in found["parts"]["after"]
    shown = {
        part: found["parts"][part]
        for part in PARTS
        if found["parts"][part]["units"] or part in ("before", "after")
    }
    return Table(
        key=f"agreement-{found['key']}",
        title=_("Agreement before and after"),
        definition=_(
            "Krippendorff’s alpha, {level}, with its 95 % interval (jackknife over answers). Before: judgments of "
            "texts that no correction made. Set aside: those of them that were kept out because the item was "
            "corrected or withdrawn. Now: what was kept and what was judged on corrected texts. Feedback is a code "
            "or a comment."
        ).format(level=LEVELS.get(found["level"], found["level"])),
        columns=(
            _("Judgments"), _("Alpha"), _("95 % interval"),
            *((_("Alpha, whichever is listed first"),) if sided else ()), _("Answers"), _("Ratings"),
        ),
        rows=tuple(
            (
                PART_TITLES[part],
                decimals(row["alpha"]),
                _interval(row["ci95"]),
                *((decimals(row["symmetric"]["alpha"]),) if sided else ()),
                count(row["units"]),
                count(row["ratings"]),
            )
            for part, row in shown.items()
        ),
        notes=tuple(
            f"{PART_TITLES[part]}: {because(row['reason'])}"
            for part, row in shown.items()
            if row["reason"]
        ),
    )  # fmt: skip


def _variance(found: Stored) -> Table | None:
    parts = [(part, found["parts"][part]["variance"]) for part in ("before", "kept", "after")]
    if any(row is None for _part, row in parts):
        return None
    threshold = f"{parts[0][1]['threshold']:g}"
    return Table(
        key=f"variance-{found['key']}",
        title=_("Answers on which raters are far apart"),
        definition=_(
            "The share of answers with a large variance, of all answers and, after the stroke, of those with two "
            "ratings or more. Papers often do not say which variance they mean; an answer with one rating has none, "
            "or 0."
        ),
        columns=(_("Variance of the ratings"), *(PART_TITLES[part] for part, _row in parts)),
        rows=tuple(
            (
                label.format(threshold=threshold),
                *(
                    f"{_share(row[name], row['units'])} / {_share(row[name], row['pairable_units'])}"
                    for _, row in parts
                ),
            )
            for name, label in _VARIANCES.items()
        ),
    )


def _histogram(found: Stored) -> Table:
    return Table(
        key=f"histogram-{found['key']}",
        title=_("Ratings before and after"),
        definition=_("How often each value was given."),
        columns=(_("Value"), PART_TITLES["before"], PART_TITLES["after"]),
        rows=tuple(
            (_value(label), count(before), count(after)) for label, before, after in found["histogram"]
        ),
    )


def _systems(found: Stored) -> Table | None:
    systems = found["systems"]
    if not systems:
        return None
    spoken = any(one["seconds"] is not None for one in systems)
    written = any(one["words"] is not None for one in systems)
    return Table(
        key=f"systems-{found['key']}",
        title=_("Systems"),
        definition=_(
            "Different answers that have a rating which counts, their ratings, the mean over ratings, and the mean "
            "length over answers."
        ),
        columns=(
            _("System"), _("Answers"), _("Ratings"), _("Mean rating"),
            *((_("Words"),) if written else ()), *((_("Seconds"),) if spoken else ()),
        ),
        rows=tuple(
            (
                one["system"], count(one["answers"]), count(one["ratings"]), decimals(one["mean"], 2),
                *((decimals(one["words"], 1),) if written else ()),
                *((decimals(one["seconds"], 1),) if spoken else ()),
            )
            for one in systems
        ),
    )  # fmt: skip


def _blind(found: Stored) -> Table | None:
    blind = found["blind"]
    if not blind["answers"]:
        return None
    rows: list[tuple[Text, ...]] = [
        (_("Blind answers of experts"), count(blind["answers"])),
        (_("of these, where raters had answered"), count(blind["with_raters"])),
        (_("of these, where one answer had the most votes"), count(blind["with_majority"])),
        (_("the expert said the same"), _share(blind["agreed"], blind["with_majority"])),
    ]
    if blind["mean_difference"] is not None:
        rows += [
            (_("expert less the raters’ mean, on average"), decimals(blind["mean_difference"], 2)),
            (_("distance from the raters’ mean, on average"), decimals(blind["mean_distance"], 2)),
        ]
    return Table(
        key=f"blind-{found['key']}",
        title=_("Experts before they saw the votes"),
        definition=_(
            "What experts judged blind, compared with what raters had said of the same task by then."
        ),
        columns=(_("Measure"), _("Value")),
        rows=tuple(rows),
    )


def _value(label: str) -> str:
    return str(CHOICES.get(label, label))


def _share(n: int, of: int) -> str:
    return percent(n / of if of else None)


def _interval(ci: Sequence[float] | None) -> str:
    return "–" if ci is None else f"[{decimals(ci[0])}, {decimals(ci[1])}]"
