from __future__ import annotations

from analytics.reports.document import Column, Document, Figure, Measured, Paragraph, Section, Table
from analytics.reports.render.text import document_text

TABLE = Table(
    "t",
    "Means",
    (Column("system", "System"), Column("mean", "Mean", "number"), Column("n", "Votes", "count")),
    [
        ("alto", Measured(-0.5, -1.0, 0.25), 1200),
        ("bass", Measured(1.0, reason="There is one vote."), 1),
        ("tenor", None, None),
    ],
    ["A note."],
)


def test_columns_are_aligned_and_reasons_and_notes_stand_below():
    document = Document(
        "Report", "en", [("Study", "s")],
        [Section("s", "Systems", [Paragraph("Two of three."), TABLE, Figure("f", "Drawn", "<svg/>")])],
    )  # fmt: skip
    assert document_text(document).splitlines() == [
        "Report",
        "  Study: s",
        "",
        "Systems",
        "=======",
        "",
        "  Two of three.",
        "",
        "Means",
        "  System                   Mean  Votes",
        "  alto      −0.50 [−1.00, 0.25]  1,200",
        "  bass    1.00(a)                    1",
        "  tenor         –                    –",
        "  (a) There is one vote.",
        "  A note.",
    ]
