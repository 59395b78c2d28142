"""The report of a study's review as tables: texts in the reader's language, numbers written as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from analytics.review_frames import COMMENT
from annotation.models import Correction, Draft, Return, ReviewCase
from annotation.services.drafts import LATE
from labeling_ui.review_words import FIELDS, REASONS, rule_title
from labeling_ui.templatetags.figures import count, percent

Text = Promise | str
Stored = Mapping[str, Any]

_DECISIONS = [choice for choice in ReviewCase.Decision.choices if choice[0]]
_SHOWN = (
    Draft.State.ACCEPTED,
    Draft.State.EDITED,
    Draft.State.REJECTED,
    Draft.State.UNUSED,
    Draft.State.FAILED,
)
_OUTCOMES = [*((state.value, state.label) for state in _SHOWN), (LATE, _("Came too late"))]


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


def correction_tables(found: Stored) -> list[Table]:
    """By field and origin, by reason, and by each stratum; none where nothing was corrected."""
    fields = found["fields"]
    if not fields:
        return []
    return [
        _by_origin(found),
        _by_reason(fields),
        *map(_by_stratum, range(len(found["strata"])), found["strata"]),
    ]


def draft_table(found: Sequence[Stored]) -> Table | None:
    if not found:
        return None
    return Table(
        key="drafts",
        title=_("Drafts by models"),
        definition=_(
            "What became of the drafts that models wrote. The share is of drafts accepted without an edit, among those "
            "that somebody accepted, edited, rejected or left unused."
        ),
        columns=(_("Field"), _("Model"), *(label for _state, label in _OUTCOMES), _("Accepted unedited")),
        rows=tuple(
            (
                FIELDS.get(one["field"], one["field"]),
                one["writer"],
                *(count(one["states"].get(state, 0)) for state, _label in _OUTCOMES),
                percent(one["share"]),
            )
            for one in found
        ),
    )


def feedback_table(found: Stored) -> Table:
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
            *((_code(one), *_tally(one["before"]), *_tally(one["after"])) for one in found["codes"]),
            (_("Any code or comment"), *_tally(of["marked_before"]), *_tally(of["marked_after"])),
            (_("All that was judged"), *_tally(of["before"]), *_tally(of["after"])),
        ),
    )  # fmt: skip


def rule_table(found: Stored) -> Table | None:
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


def return_table(found: Stored) -> Table | None:
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


def _by_origin(found: Stored) -> Table:
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
                    FIELDS.get(one["field"], one["field"]),
                    count(one["n"]),
                    *(count(one["origins"].get(origin, 0)) for origin in origins),
                    count(one["undone"]),
                )
                for one in fields
            ),
            (_("All fields"), count(found["n"]), *map(count, totals), count(found["undone"])),
        ),
    )


def _by_reason(fields: Sequence[Stored]) -> Table:
    given = _in_order(REASONS, (reason for one in fields for reason in one["reasons"]))
    return Table(
        key="reasons",
        title=_("Corrections by reason"),
        definition=_("Why the expert corrected the field. Corrections that were undone are left out."),
        columns=(_("Field"), *(REASONS.get(reason, reason) for reason in given)),
        rows=tuple(
            (
                FIELDS.get(one["field"], one["field"]),
                *(count(one["reasons"].get(reason, 0)) for reason in given),
            )
            for one in fields
        ),
    )


def _by_stratum(number: int, found: Stored) -> Table:
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
                (FIELDS.get(field, field), *(count(n.get(value, 0)) for value in values))
                for field, n in found["fields"].items()
            ),
            (_("Items"), *(count(found["items"][value]) for value in values)),
        ),
    )


def _code(one: Stored) -> Text:
    if one["code"] == COMMENT:
        return _("Comment")
    return f"{one['code']} · {one['title']}" if one["title"] else str(one["code"])


def _tally(found: Stored) -> tuple[str, str, str]:
    return count(found["items"]), count(found["tasks"]), count(found["judgments"])


def _in_order(known: Mapping[str, Any], found: Iterable[str]) -> list[str]:
    there = set(found)
    return [*(name for name in known if name in there), *sorted(there - known.keys())]
