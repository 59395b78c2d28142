"""Events and texts: how often each label was marked and how far raters mark alike; what raters wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from django.utils.translation import get_language
from django.utils.translation import gettext as _

from analytics.data.open_answers import OpenAnswer, OpenQuestion, open_answers, open_questions
from analytics.reports.document import Block, Cell, Column, Section, Table
from analytics.reports.sections.material import ReportData
from analytics.statistics.agreement.event_matching import matched_events

# Seconds between two marks of one event: a person reacts within about so long.
TOLERANCES = (0.25, 1.0)
MOST_TEXTS = 20
# What tables of raters' own words are called, with the question's key behind it.
TEXTS_KEY = "texts-"


def open_answers_section(material: ReportData) -> Section | None:
    blocks: list[Block] = []
    for question in open_questions(material.study, language=get_language() or "en"):
        if answers := open_answers(question):
            blocks += _events(question, answers) if question.marks_events else [_texts(question, answers)]
    return Section("open", _("Events and texts"), blocks) if blocks else None


def _events(question: OpenQuestion, answers: Sequence[OpenAnswer]) -> Iterator[Table]:
    """A clip is a candidate of a task, or the task's own."""
    by_clip: dict[tuple[int, int], list[dict[str, list[float]]]] = {}
    marks: Counter[str] = Counter()
    clips: dict[str, set[tuple[int, int]]] = {}
    for answer in answers:
        clip = (answer.task, answer.candidate)
        own: dict[str, list[float]] = {}
        for event in answer.content:
            own.setdefault(event["label"], []).append(event["start"])
            clips.setdefault(event["label"], set()).add(clip)
        marks.update({label: len(starts) for label, starts in own.items()})
        by_clip.setdefault(clip, []).append(own)
    labels = dict(question.labels) or {"": _("Event")}
    rows: list[list[Cell]] = [
        _event_row(
            title, marks[label], len(clips.get(label, ())), len(answers), list(by_clip.values()), label
        )
        for label, title in labels.items()
    ]
    if len(labels) > 1:
        marked = set().union(*clips.values()) if clips else set()
        rows.append(
            _event_row(_("All"), marks.total(), len(marked), len(answers), list(by_clip.values()), None)
        )
    columns = (
        Column("label", _("Event")),
        Column("marks", _("Marks"), "count"),
        Column("clips", _("Clips with one"), "count"),
        Column("per_answer", _("Marks per answer"), "number", 2),
        *(
            Column(
                f"f1_{f'{t:g}'.replace('.', '_')}",
                _("F1 within %(seconds)s s") % {"seconds": f"{t:g}"},
                "number",
                3,
            )
            for t in TOLERANCES
        ),
        Column("pairs", _("Pairs of raters"), "count"),
    )
    caption = _("Events marked: %(question)s") % {"question": question.title}
    notes = [
        _(
            "F1: marks of two raters on one clip that begin within so many seconds of each other and have the same "
            "label, each matched once; twice the matches by all marks of both, over all pairs of raters. Pairs of "
            "whom neither marked anything agree, and are not seen by F1."
        )
    ]
    yield Table(f"events-{question.key}", caption, columns, rows, notes)


def _event_row(
    title: str,
    n: int,
    clips: int,
    answers: int,
    by_clip: list[list[dict[str, list[float]]]],
    label: str | None,
) -> list[Cell]:
    matches = [matched_events(by_clip, tolerance=tolerance, label=label) for tolerance in TOLERANCES]
    return [title, n, clips, n / answers, *(one.f1 for one in matches), matches[0].pairs]


def _texts(question: OpenQuestion, answers: Sequence[OpenAnswer]) -> Table:
    columns = (Column("item", _("Item")), Column("rater", _("Rater")), Column("text", _("Text")))
    rows = [[answer.item, answer.rater, answer.content] for answer in answers[:MOST_TEXTS]]
    notes = []
    if len(answers) > MOST_TEXTS:
        text = _("%(shown)s of %(n)s texts, in the order of the items; an export has all of them.")
        notes.append(text % {"shown": MOST_TEXTS, "n": f"{len(answers):,}"})
    return Table(f"{TEXTS_KEY}{question.key}", _("What raters wrote: %(question)s") % {"question": question.title},
                 columns, rows, notes)  # fmt: skip
