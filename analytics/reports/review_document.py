"""The review report as a document: figures by question, corrections, feedback codes and cases, from the stored JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.utils import translation
from django.utils.functional import Promise
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from analytics.data.review import COMMENT, REVIEW_PARTS
from analytics.reports.document import (
    Block,
    Cell,
    Column,
    Document,
    Figure,
    Paragraph,
    Section,
    Table,
)
from analytics.reports.reasons import measured
from analytics.reports.render.bars import paired_bars
from analytics.reports.render.durations import duration
from analytics.reports.render.layout import format_value
from analytics.reports.sections.material import level_word
from annotation.models import Correction, Draft, Return, ReviewCase
from annotation.protocols import Protocol
from annotation.review.drafts import LATE
from annotation.review.labels import CHOICE_LABELS, CORRECTION_REASON_LABELS, FIELD_LABELS, rule_title

StoredReport = Mapping[str, Any]

PART_TITLES: dict[str, Promise] = {
    "before": gettext_lazy("Before the review"),
    "excluded": gettext_lazy("Set aside by the review"),
    "kept": gettext_lazy("Kept"),
    "rejudged": gettext_lazy("Judged on corrected texts"),
    "after": gettext_lazy("Now"),
    "unmarked_ratings": gettext_lazy("Now, ratings without feedback"),
    "marked_units": gettext_lazy("Now, answers with any feedback"),
    "unmarked_units": gettext_lazy("Now, answers without feedback"),
}
_VARIANCES: dict[str, Promise] = {
    "population_above": gettext_lazy("variance by n, above {threshold}"),
    "population_reaching": gettext_lazy("variance by n, {threshold} or above"),
    "unbiased_above": gettext_lazy("unbiased variance, above {threshold}"),
    "unbiased_reaching": gettext_lazy("unbiased variance, {threshold} or above"),
}
_DECISIONS = [choice for choice in ReviewCase.Decision.choices if choice[0]]
_DRAFT_STATES = (
    Draft.State.ACCEPTED,
    Draft.State.EDITED,
    Draft.State.REJECTED,
    Draft.State.UNUSED,
    Draft.State.FAILED,
)
_DRAFT_OUTCOMES = [
    *((state.value, state.label) for state in _DRAFT_STATES),
    (LATE, gettext_lazy("Came too late")),
]
# Before the key of a question: the key of its figure.
HISTOGRAM_KEY = "histogram-"


def review_document(report: StoredReport, protocol: Protocol, *, title: str, language: str) -> Document:
    """`report`: what `review_report` gives, also as stored with its job."""
    with translation.override(language):
        sections = [
            *(_question_section(question, protocol) for question in report["questions"]),
            Section("corrections", _("Corrections"), list(_correction_blocks(report))),
            Section("feedback", _("Feedback"), [_feedback_table(report["feedback"])]),
            Section("cases", _("The loop"), list(_flow_blocks(report["flow"]))),
        ]
        return Document(title, language, _facts(report), sections)


def histogram_figure(document: Document, question: str) -> Figure | None:
    key = HISTOGRAM_KEY + question
    blocks = (block for section in document.sections for block in section.blocks)
    return next((block for block in blocks if isinstance(block, Figure) and block.key == key), None)


def _facts(report: StoredReport) -> list[tuple[str, str]]:
    flow, corrections = report["flow"], report["corrections"]
    times, rejudging = flow["times"], flow["rejudging"]
    return [
        (_("Cases"), f"{flow['cases']:,}"),
        (_("Decided"), f"{times['decided']:,}"),
        (_("Decisions undone"), f"{flow['undone']:,}"),
        (_("From opening to decision, median"), duration(times["since_opening"])),
        (_("From the last claim to decision, median"), duration(times["since_claim"])),
        (_("Items corrected"), f"{corrections['items']:,}"),
        (_("Tasks on corrected texts"), f"{rejudging['tasks']:,}"),
        (_("judged anew"), f"{rejudging['judgments']:,}"),
        (_("judgments still wanted"), f"{rejudging['wanted']:,}"),
    ]


# One question: histogram (ORCA, figure 5), agreement and variance by part, systems (table 5), experts' blind answers.


def _question_section(question: StoredReport, protocol: Protocol) -> Section:
    spec, key = protocol.question(question["key"]), question["key"]
    title = str(question["title"]) if spec is None else spec.title.in_language(get_language() or "en")
    values = [(str(CHOICE_LABELS.get(label, label)), *n) for label, *n in question["histogram"]]
    bars = paired_bars(title, (_("Before the review"), _("Now")), values)
    columns = [
        Column("value", _("Value")),
        *_count_columns((part, PART_TITLES[part]) for part in ("before", "after")),
    ]
    definition = _("How often each value was given.")
    blocks = (
        Figure(HISTOGRAM_KEY + key, _("Ratings before the review and now."), bars),
        _agreement_table(question),
        _variance_table(question),
        Table(f"values-{key}", _("Ratings before and after"), columns, values, [definition]),
        _system_table(question),
        _blind_review_table(question),
    )
    return Section(f"question-{key}", title, [block for block in blocks if block is not None])


def _agreement_table(question: StoredReport) -> Table:
    sided = "symmetric" in question["parts"]["after"]
    parts = {
        part: question["parts"][part]
        for part in REVIEW_PARTS
        if question["parts"][part]["units"] or part in ("before", "after")
    }
    columns = [
        Column("part", _("Judgments")),
        Column("alpha", _("Alpha"), "number", 3),
        *([Column("symmetric", _("Alpha, whichever is listed first"), "number", 3)] if sided else []),
        Column("units", _("Answers"), "count"),
        Column("ratings", _("Ratings"), "count"),
    ]
    rows = [
        (
            str(PART_TITLES[part]),
            measured(row["alpha"], row["ci95"], row["reason"]),
            *((row["symmetric"]["alpha"],) if sided else ()),
            row["units"],
            row["ratings"],
        )
        for part, row in parts.items()
    ]
    definition = _(
        "Krippendorff’s alpha, {level}, with its 95 % interval (jackknife over answers). Before: judgments of "
        "texts that no correction made. Set aside: those of them that were kept out because the item was "
        "corrected or withdrawn. Now: what was kept and what was judged on corrected texts. Feedback is a code "
        "or a comment."
    ).format(level=level_word(question["level"]))
    key = f"agreement-{question['key']}"
    return Table(key, _("Agreement before and after"), columns, rows, [definition])


def _variance_table(question: StoredReport) -> Table | None:
    parts = [(part, question["parts"][part]["variance"]) for part in ("before", "kept", "after")]
    if any(variance is None for _part, variance in parts):
        return None
    threshold = f"{parts[0][1]['threshold']:g}"
    bases = {"units": _("all answers"), "pairable_units": _("answers with two ratings or more")}
    columns = [
        Column("variance", _("Variance of the ratings")),
        Column("of", _("Share of")),
        *(Column(part, str(PART_TITLES[part]), "percent", 1) for part, _variance in parts),
    ]
    rows = [
        (
            str(label).format(threshold=threshold),
            base_label,
            *(_share(variance[name], variance[base]) for _part, variance in parts),
        )
        for name, label in _VARIANCES.items()
        for base, base_label in bases.items()
    ]
    definition = _(
        "Papers often do not say which variance they mean; an answer with one rating has none, or 0."
    )
    title = _("Answers on which raters are far apart")
    return Table(f"variance-{question['key']}", title, columns, rows, [definition])


def _system_table(question: StoredReport) -> Table | None:
    systems = question["systems"]
    if not systems:
        return None
    lengths = [Column("words", _("Words"), "number", 1), Column("seconds", _("Seconds"), "number", 1)]
    columns = [
        Column("system", _("System")),
        Column("answers", _("Answers"), "count"),
        Column("ratings", _("Ratings"), "count"),
        Column("mean", _("Mean rating"), "number", 2),
        *(column for column in lengths if any(row[column.key] is not None for row in systems)),
    ]
    rows = [[row[column.key] for column in columns] for row in systems]
    definition = _(
        "Different answers that have a rating which counts, their ratings, the mean over ratings, and the mean "
        "length over answers."
    )
    return Table(f"systems-{question['key']}", _("Systems"), columns, rows, [definition])


def _blind_review_table(question: StoredReport) -> Table | None:
    blind = question["blind"]
    if not blind["answers"]:
        return None
    count, share = Column("", "", "count"), Column("", "", "percent", 1)
    number = Column("", "", "number", 2)
    # Rows differ in kind, so each cell is written here.
    rows = [
        (_("Blind answers of experts"), blind["answers"], count),
        (_("of these, where raters had answered"), blind["with_raters"], count),
        (_("of these, where one answer had the most votes"), blind["with_majority"], count),
        (_("the expert said the same"), _share(blind["agreed"], blind["with_majority"]), share),
        (_("expert less the raters’ mean, on average"), blind["mean_difference"], number),
        (_("distance from the raters’ mean, on average"), blind["mean_distance"], number),
    ]
    if blind["mean_difference"] is None:
        rows = rows[:4]
    columns = [Column("measure", _("Measure")), Column("value", _("Value"))]
    cells = [(label, format_value(value, column)) for label, value, column in rows]
    definition = _("What experts judged blind, compared with what raters had said of the same task by then.")
    title = _("Experts before they saw the votes")
    return Table(f"blind-{question['key']}", title, columns, cells, [definition])


def _share(n: int, of: int) -> float | None:
    return n / of if of else None


# Corrections by field and origin, by reason and by stratum (ORCA, table 1), and what became of models' drafts.


def _correction_blocks(report: StoredReport) -> Iterator[Block]:
    corrections = report["corrections"]
    if not corrections["fields"]:
        yield Paragraph(_("Nothing has been corrected yet."))
    else:
        yield _corrections_by_origin(corrections)
        yield _corrections_by_reason(corrections["fields"])
        for number, stratum in enumerate(corrections["strata"]):
            yield _corrections_by_stratum(number, stratum)
    if report["drafts"]:
        yield _draft_table(report["drafts"])


def _corrections_by_origin(corrections: StoredReport) -> Table:
    fields, origins = corrections["fields"], Correction.Origin.choices
    totals = [sum(row["origins"].get(origin, 0) for row in fields) for origin, _label in origins]
    columns = [
        _field_column(),
        Column("corrections", _("Corrections"), "count"),
        *_count_columns(origins),
        Column("undone", _("Undone"), "count"),
    ]
    rows = [
        (_field_title(row["field"]), row["n"], *_counts(row["origins"], origins), row["undone"])
        for row in fields
    ]
    rows.append((_("All fields"), corrections["n"], *totals, corrections["undone"]))
    definition = _(
        "Corrections that stand, one per field of a corrected version. Those that were undone are counted apart."
    )
    return Table("corrections-by-field", _("Corrections by field"), columns, rows, [definition])


def _corrections_by_reason(fields: Sequence[StoredReport]) -> Table:
    stored = {reason for row in fields for reason in row["reasons"]}
    reasons = [
        *((name, label) for name, label in CORRECTION_REASON_LABELS.items() if name in stored),
        *((name, name) for name in sorted(stored - CORRECTION_REASON_LABELS.keys())),
    ]
    columns = [_field_column(), *_count_columns(reasons)]
    rows: list[tuple[Cell, ...]] = [
        (_field_title(row["field"]), *_counts(row["reasons"], reasons)) for row in fields
    ]
    definition = _("Why the expert corrected the field. Corrections that were undone are left out.")
    return Table("corrections-by-reason", _("Corrections by reason"), columns, rows, [definition])


def _corrections_by_stratum(number: int, stratum: StoredReport) -> Table:
    values = [(value, value) for value in stratum["items"]]
    columns = [_field_column(), *_count_columns(values)]
    rows: list[tuple[Cell, ...]] = [
        (_field_title(field), *_counts(n, values)) for field, n in stratum["fields"].items()
    ]
    rows.append((_("Items"), *stratum["items"].values()))
    title = _("Corrections by field and {stratum}").format(stratum=stratum["stratum"])
    definition = _("Corrections that stand. The last row says how many items of the study are in each group.")
    return Table(f"corrections-by-stratum-{number}", title, columns, rows, [definition])


def _draft_table(drafts: Sequence[StoredReport]) -> Table:
    columns = [
        _field_column(),
        Column("writer", _("Model")),
        *_count_columns(_DRAFT_OUTCOMES),
        Column("share", _("Accepted unedited"), "percent", 1),
    ]
    rows = [
        (_field_title(row["field"]), row["writer"], *_counts(row["states"], _DRAFT_OUTCOMES), row["share"])
        for row in drafts
    ]
    definition = _(
        "What became of the drafts that models wrote. The share is of drafts accepted without an edit, among those "
        "that somebody accepted, edited, rejected or left unused."
    )
    return Table("drafts", _("Drafts by models"), columns, rows, [definition])


def _field_title(field: str) -> str:
    return str(FIELD_LABELS.get(field, field))


def _field_column() -> Column:
    return Column("field", _("Field"))


def _count_columns(labels: Iterable[tuple[str, Promise | str]]) -> list[Column]:
    return [Column(key, str(label), "count") for key, label in labels]


def _counts(stored: Mapping[str, int], labels: Iterable[tuple[str, Promise | str]]) -> list[int]:
    """The cells under `_count_columns`."""
    return [stored.get(key, 0) for key, _label in labels]


# Feedback codes before the review and now (ORCA, table 4).


def _feedback_table(feedback: StoredReport) -> Table:
    of = feedback["of"]
    columns = [
        Column("code", _("Code")),
        *_count_columns((
            ("items_before", _("Items before")),
            ("answers_before", _("Answers before")),
            ("judgments_before", _("Judgments before")),
            ("items_now", _("Items now")),
            ("answers_now", _("Answers now")),
            ("judgments_now", _("Judgments now")),
        )),
    ]  # fmt: skip
    rows = [
        *(
            (_feedback_code_title(row), *_tally(row["before"]), *_tally(row["after"]))
            for row in feedback["codes"]
        ),
        (_("Any code or comment"), *_tally(of["marked_before"]), *_tally(of["marked_after"])),
        (_("All that was judged"), *_tally(of["before"]), *_tally(of["after"])),
    ]
    definition = _(
        "Each code by items, by answers (an item with what one task showed of it) and by judgments that give it. A "
        "judgment may give several. Before: judgments of texts that no correction made, whether or not the review "
        "has set them aside since. Now: those that count."
    )
    return Table("feedback-codes", _("Feedback codes"), columns, rows, [definition])


def _feedback_code_title(row: StoredReport) -> str:
    if row["code"] == COMMENT:
        return _("Comment")
    return f"{row['code']} · {row['title']}" if row["title"] else str(row["code"])


def _tally(stored: StoredReport) -> tuple[Cell, Cell, Cell]:
    return stored["items"], stored["tasks"], stored["judgments"]


def _flow_blocks(flow: StoredReport) -> Iterator[Block]:
    if flow["rules"]:
        decisions: list[tuple[str, Promise | str]] = [*_DECISIONS, ("undecided", _("Not decided"))]
        columns = [
            Column("rule", _("Rule")),
            Column("cases", _("Cases"), "count"),
            *_count_columns(decisions),
        ]
        rows = [
            (str(rule_title(row["rule"])), row["n"], *_counts(row["decisions"], decisions))
            for row in flow["rules"]
        ]
        definition = _("A case that several rules opened is counted under each of them.")
        yield Table("rules", _("Cases by rule"), columns, rows, [definition])
    if any(flow["returns"].values()):
        states = Return.State.choices
        columns = [Column("asked", _("Asked")), *_count_columns(states)]
        rows = [
            (label, *_counts(flow["returns"][key], states))
            for key, label in (("rater", _("The rater")), ("pool", _("The pool")))
        ]
        definition = _("How often an expert asked again, and what came of it.")
        yield Table("returns", _("Returns"), columns, rows, [definition])
