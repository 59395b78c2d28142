"""The table of a study's raters: their work, checks, agreement and habits, as `analytics.raters` keeps them."""

from __future__ import annotations

from collections.abc import Iterator

from analytics.browse.columns import Choice, Column, Days, Filter, NameText, Range, Table
from analytics.raters.rules import FIGURES, FigureSpec
from annotation.models import Rater, RaterAction
from annotation.studies.settings import gettext_noop as _

GROUP_WORK, GROUP_CHECKS, GROUP_OTHERS, GROUP_HABITS = (
    _("Work"), _("Hidden checks"), _("Compared with others"), _("Habits"),
)  # fmt: skip
GROUPS = (GROUP_WORK, GROUP_CHECKS, GROUP_OTHERS, GROUP_HABITS)
# Unknown values come last in the order in which bad ones come first.
UNKNOWN_LAST, UNKNOWN_FIRST = 1e9, -1e9
RATER_STATES = tuple(
    (state.value, label, state.value)
    for state, label in (
        (Rater.State.ACTIVE, _("Active")),
        (Rater.State.PAUSED, _("Paused")),
        (Rater.State.EXCLUDED, _("Excluded")),
        (Rater.State.WITHDRAWN, _("Withdrawn")),
    )
)
DONE = tuple(
    (kind.value, label, f"'{kind.value}' = ANY(s.actions)")
    for kind, label in (
        (RaterAction.Kind.WARN, _("Warned")),
        (RaterAction.Kind.TRAINING, _("Sent to training again")),
        (RaterAction.Kind.PAUSE, _("Paused")),
        (RaterAction.Kind.EXCLUDE, _("Excluded from now on")),
        (RaterAction.Kind.EXCLUDE_ALL, _("Excluded with all judgments")),
    )
)
_GROUPS = {
    "n_checks": GROUP_CHECKS, "n_gold": GROUP_CHECKS, "n_traps": GROUP_CHECKS, "n_repeats": GROUP_CHECKS,
    "n_compared": GROUP_OTHERS, "n_confident": GROUP_OTHERS,
}  # fmt: skip
_SHOWN = (
    "check_accuracy",
    "consistency",
    "agreement",
    "content",
    "position_bias",
    "variance",
    "longest_run",
    "seconds",
    "hasty",
)


def figure_group(figure: FigureSpec) -> str:
    return GROUP_OTHERS if figure.key == "deviation" else _GROUPS.get(figure.n, GROUP_HABITS)


def _columns() -> Iterator[Column]:
    yield Column("name", _("Rater"), "rater", "s.name", sort="s.name")
    yield Column("state", _("State"), "rater_state", "r.state")
    yield Column("done", _("What was done"), "rater_actions", "s.actions")
    yield Column("judgments", _("Judgments"), "number", "s.n_judgments", sort="s.n_judgments")
    for figure in FIGURES.values():
        yield Column(
            figure.key, figure.label, "figure", _figure_sql(figure), sort=_sort_sql(figure),
            shown=figure.key in _SHOWN, help=figure.meaning,
        )  # fmt: skip
    yield Column(
        "excluded", _("Excluded judgments"), "number", "s.n_excluded", sort="s.n_excluded", shown=False
    )
    yield Column("skips", _("Skips"), "number", "s.n_skips", sort="s.n_skips", shown=False)
    yield Column(
        "judged_at", _("Last judged"), "date", "s.last_judged_at",
        sort="COALESCE(s.last_judged_at, '-infinity'::timestamptz)", shown=False,
    )  # fmt: skip


def _sort_sql(figure: FigureSpec) -> str:
    unknown = UNKNOWN_LAST if figure.low_is_bad else UNKNOWN_FIRST
    return f"CASE WHEN s.{figure.n} > 0 THEN COALESCE(s.{figure.key}, {unknown}) ELSE {unknown} END::float8"


def _figure_sql(figure: FigureSpec) -> str:
    """{value, n} and, where there is one, the interval of a share."""
    low, high = "NULL::text", "NULL::text"
    if figure.interval and figure.share:
        low, high = (f"s.details #> '{{{figure.interval},{end}}}'" for end in ("low", "high"))
    return (
        f"CASE WHEN s.{figure.key} IS NOT NULL AND s.{figure.n} > 0 THEN jsonb_build_object('figure', '{figure.key}',"
        f" 'value', round(s.{figure.key}::numeric, 4), 'n', s.{figure.n}, 'low', {low}, 'high', {high}) END"
    )


def _filters() -> Iterator[Filter]:
    yield NameText("text", _("Part of a pseudonym"), "s.name ILIKE %(text)s")
    yield Choice("state", _("State"), "s.state", group=GROUP_WORK, options=RATER_STATES)
    yield Choice("done", _("What was done"), group=GROUP_WORK, options=DONE)
    yield Range("judgments", _("Judgments that count"), "s.n_judgments", group=GROUP_WORK, step="1")
    yield Range("excluded", _("Excluded judgments"), "s.n_excluded", group=GROUP_WORK, step="1")
    yield Range("skips", _("Skips"), "s.n_skips", group=GROUP_WORK, step="1")
    yield Days("judged", _("Last judged"), "s.last_judged_at", group=GROUP_WORK)
    for figure in FIGURES.values():
        yield Range(
            figure.key, figure.label, f"s.{figure.key}", group=figure_group(figure), help=figure.meaning
        )


RATERS = Table(
    name="raters",
    label=_("Raters"),
    key="s.rater_id",
    source="analytics_raterquality s",
    scope="s.study_id = %(study)s",
    detail="analytics_raterquality s JOIN annotation_rater r ON r.id = s.rater_id",
    columns=tuple(_columns()),
    filters=tuple(_filters()),
    default_sort="name",
)
