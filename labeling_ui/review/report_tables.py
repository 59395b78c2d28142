"""One question of the review's report as its page shows it: agreement by part, variances, the figure, the systems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_lazy as _

from analytics.data.review import COMMENT, REVIEW_PARTS
from analytics.reports.agreement import reason_sentence
from analytics.reports.render.bars import paired_bars
from annotation.models import Correction, Draft, Return, ReviewCase
from annotation.protocols import Protocol
from annotation.review.drafts import LATE
from labeling_ui.review.labels import CHOICE_LABELS, CORRECTION_REASON_LABELS, FIELD_LABELS, rule_title
from labeling_ui.study.page_data import MEASUREMENT_LEVEL_LABELS
from labeling_ui.templatetags.formatting import count, decimals, percent

# The report of a study's review as tables: texts in the reader's language, numbers written as people read
# them.


Text = Promise | str
StoredReport = Mapping[str, Any]

_DECISIONS = [choice for choice in ReviewCase.Decision.choices if choice[0]]
_DRAFT_STATES = (
    Draft.State.ACCEPTED,
    Draft.State.EDITED,
    Draft.State.REJECTED,
    Draft.State.UNUSED,
    Draft.State.FAILED,
)
_DRAFT_OUTCOMES = [*((state.value, state.label) for state in _DRAFT_STATES), (LATE, _("Came too late"))]


@dataclass(frozen=True)
class Table:
    """`key` names the table on its page, without blanks. `definition` says what is counted, `notes` why something is
    missing. The first cell of a row is its head."""

    key: str
    title: Text
    definition: Text
    columns: tuple[Text, ...]
    rows: tuple[tuple[Text, ...], ...]
    notes: tuple[Text, ...] = ()


def correction_tables(found: StoredReport) -> list[Table]:
    """By field and origin, by reason, and by each stratum; none where nothing was corrected."""
    fields = found["fields"]
    if not fields:
        return []
    return [
        _corrections_by_origin(found),
        _corrections_by_reason(fields),
        *map(_corrections_by_stratum, range(len(found["strata"])), found["strata"]),
    ]


def draft_table(found: Sequence[StoredReport]) -> Table | None:
    if not found:
        return None
    return Table(
        key="drafts",
        title=_("Drafts by models"),
        definition=_(
            "What became of the drafts that models wrote. The share is of drafts accepted without an edit, among those "
            "that somebody accepted, edited, rejected or left unused."
        ),
        columns=(
            _("Field"),
            _("Model"),
            *(label for _state, label in _DRAFT_OUTCOMES),
            _("Accepted unedited"),
        ),
        rows=tuple(
            (
                FIELD_LABELS.get(one["field"], one["field"]),
                one["writer"],
                *(count(one["states"].get(state, 0)) for state, _label in _DRAFT_OUTCOMES),
                percent(one["share"]),
            )
            for one in found
        ),
    )


def feedback_table(found: StoredReport) -> Table:
    of = found["of"]
    return Table(
        key="feedback",
        title=_("Feedback codes"),
        definition=_(
            "Each code by items, by answers (an item with what one task showed of it) and by judgments that give it. A "
            "judgment may give several. Before: judgments of texts that no correction made, whether or not the review "
            "has set them aside since. Now: those that count."
        ),
        columns=(
            _("Code"), _("Items before"), _("Answers before"), _("Judgments before"), _("Items now"), _("Answers now"),
            _("Judgments now"),
        ),
        rows=(
            *((_feedback_code_title(one), *_counts(one["before"]), *_counts(one["after"])) for one in found["codes"]),
            (_("Any code or comment"), *_counts(of["marked_before"]), *_counts(of["marked_after"])),
            (_("All that was judged"), *_counts(of["before"]), *_counts(of["after"])),
        ),
    )  # fmt: skip


def rule_table(found: StoredReport) -> Table | None:
    rules = found["rules"]
    if not rules:
        return None
    return Table(
        key="rules",
        title=_("Cases by rule"),
        definition=_("A case that several rules opened is counted under each of them."),
        columns=(_("Rule"), _("Cases"), *(label for _key, label in _DECISIONS), _("Not decided")),
        rows=tuple(
            (
                rule_title(one["rule"]),
                count(one["n"]),
                *(count(one["decisions"].get(key, 0)) for key, _label in _DECISIONS),
                count(one["decisions"].get("undecided", 0)),
            )
            for one in rules
        ),
    )


def return_table(found: StoredReport) -> Table | None:
    returns = found["returns"]
    if not any(returns.values()):
        return None
    states = [(state.value, state.label) for state in Return.State]
    return Table(
        key="returns",
        title=_("Returns"),
        definition=_("How often an expert asked again, and what came of it."),
        columns=(_("Asked"), *(label for _key, label in states)),
        rows=tuple(
            (name, *(count(returns[key].get(state, 0)) for state, _label in states))
            for key, name in (("rater", _("The rater")), ("pool", _("The pool")))
        ),
    )


def _corrections_by_origin(found: StoredReport) -> Table:
    fields = found["fields"]
    origins = list(Correction.Origin)
    totals = [sum(one["origins"].get(origin, 0) for one in fields) for origin in origins]
    return Table(
        key="corrections",
        title=_("Corrections by field"),
        definition=_(
            "Corrections that stand, one per field of a corrected version. Those that were undone are counted apart."
        ),
        columns=(_("Field"), _("Corrections"), *(origin.label for origin in origins), _("Undone")),
        rows=(
            *(
                (
                    FIELD_LABELS.get(one["field"], one["field"]),
                    count(one["n"]),
                    *(count(one["origins"].get(origin, 0)) for origin in origins),
                    count(one["undone"]),
                )
                for one in fields
            ),
            (_("All fields"), count(found["n"]), *map(count, totals), count(found["undone"])),
        ),
    )


def _corrections_by_reason(fields: Sequence[StoredReport]) -> Table:
    given = _in_order(CORRECTION_REASON_LABELS, (reason for one in fields for reason in one["reasons"]))
    return Table(
        key="reasons",
        title=_("Corrections by reason"),
        definition=_("Why the expert corrected the field. Corrections that were undone are left out."),
        columns=(_("Field"), *(CORRECTION_REASON_LABELS.get(reason, reason) for reason in given)),
        rows=tuple(
            (
                FIELD_LABELS.get(one["field"], one["field"]),
                *(count(one["reasons"].get(reason, 0)) for reason in given),
            )
            for one in fields
        ),
    )


def _corrections_by_stratum(number: int, found: StoredReport) -> Table:
    values = list(found["items"])
    return Table(
        key=f"stratum-{number}",
        title=_("Corrections by field and {stratum}").format(stratum=found["stratum"]),
        definition=_(
            "Corrections that stand. The last row says how many items of the study are in each group."
        ),
        columns=(_("Field"), *values),
        rows=(
            *(
                (FIELD_LABELS.get(field, field), *(count(n.get(value, 0)) for value in values))
                for field, n in found["fields"].items()
            ),
            (_("Items"), *(count(found["items"][value]) for value in values)),
        ),
    )


def _feedback_code_title(one: StoredReport) -> Text:
    if one["code"] == COMMENT:
        return _("Comment")
    return f"{one['code']} · {one['title']}" if one["title"] else str(one["code"])


def _counts(found: StoredReport) -> tuple[str, str, str]:
    return count(found["items"]), count(found["tasks"]), count(found["judgments"])


def _in_order(known: Mapping[str, Any], found: Iterable[str]) -> list[str]:
    there = set(found)
    return [*(name for name in known if name in there), *sorted(there - known.keys())]


StoredQuestion = Mapping[str, Any]

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


def question_sections(found: Sequence[StoredQuestion], protocol: Protocol) -> list[QuestionSection]:
    return [_question_section(one, protocol) for one in found]


def rating_histogram(found: StoredQuestion, *, title: str, on_its_own: bool) -> str:
    """Figure 5 of the ORCA paper: how often each value was given before the review, and now."""
    rows = [(_value_label(label), before, after) for label, before, after in found["histogram"]]
    names = (gettext("Before the review"), gettext("Now"))
    return paired_bars(title, names, rows, on_its_own=on_its_own)


def question_title(found: StoredQuestion, protocol: Protocol) -> str:
    spec = protocol.question(found["key"])
    return str(found["title"]) if spec is None else spec.title.in_language(get_language() or "en")


def _question_section(found: StoredQuestion, protocol: Protocol) -> QuestionSection:
    title = question_title(found, protocol)
    tables = (
        _agreement_table(found),
        _variance_table(found),
        _histogram_table(found),
        _system_table(found),
        _blind_review_table(found),
    )
    return QuestionSection(
        key=found["key"],
        title=title,
        n=found["parts"]["after"]["ratings"],
        figure=mark_safe(
            rating_histogram(found, title=title, on_its_own=False)
        ),  # it escapes what it is given
        tables=tuple(table for table in tables if table is not None),
    )


def _agreement_table(found: StoredQuestion) -> Table:
    sided = "symmetric" in found["parts"]["after"]
    shown = {
        part: found["parts"][part]
        for part in REVIEW_PARTS
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
        ).format(level=MEASUREMENT_LEVEL_LABELS.get(found["level"], found["level"])),
        columns=(
            _("Judgments"), _("Alpha"), _("95 % interval"),
            *((_("Alpha, whichever is listed first"),) if sided else ()), _("Answers"), _("Ratings"),
        ),
        rows=tuple(
            (
                PART_TITLES[part],
                decimals(row["alpha"]),
                _interval_text(row["ci95"]),
                *((decimals(row["symmetric"]["alpha"]),) if sided else ()),
                count(row["units"]),
                count(row["ratings"]),
            )
            for part, row in shown.items()
        ),
        notes=tuple(
            f"{PART_TITLES[part]}: {reason_sentence(row['reason'])}"
            for part, row in shown.items()
            if row["reason"]
        ),
    )  # fmt: skip


def _variance_table(found: StoredQuestion) -> Table | None:
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


def _histogram_table(found: StoredQuestion) -> Table:
    return Table(
        key=f"histogram-{found['key']}",
        title=_("Ratings before and after"),
        definition=_("How often each value was given."),
        columns=(_("Value"), PART_TITLES["before"], PART_TITLES["after"]),
        rows=tuple(
            (_value_label(label), count(before), count(after)) for label, before, after in found["histogram"]
        ),
    )


def _system_table(found: StoredQuestion) -> Table | None:
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


def _blind_review_table(found: StoredQuestion) -> Table | None:
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


def _value_label(label: str) -> str:
    return str(CHOICE_LABELS.get(label, label))


def _share(n: int, of: int) -> str:
    return percent(n / of if of else None)


def _interval_text(ci: Sequence[float] | None) -> str:
    return "–" if ci is None else f"[{decimals(ci[0])}, {decimals(ci[1])}]"
