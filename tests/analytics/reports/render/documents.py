"""A small report with everything in it that a report can have."""

from __future__ import annotations

from analytics.reports.document import Column, Document, Figure, Measured, Paragraph, Section, Table

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" class="interval-plot" viewBox="-4 0 728 91" width="100%">'
    '<title>Strengths</title>\n\n<text class="soft">0</text></svg>\n'
)
TABLE = Table(
    "strengths",
    "Strengths of 2 systems & more",
    (
        Column("system", "System"),
        Column("votes", "Votes", "count"),
        Column("strength", "Strength", "number", 2),
        Column("rate", "Win rate", "percent", 1),
    ),
    (
        ("Aria_1", 1234, Measured(-0.004, -0.5, 0.25), 0.1234),
        ("=cmd()", 3, Measured(None, reason="Nobody voted."), None),
        ("Brook", 0, Measured(1.0, reason="Only one cluster."), 1.0),
        ("Coda", 2, Measured(0.5, -0.25, 1.25), 0.5),
    ),
    ("100 % of votes count.",),
)


def document(*tables: Table) -> Document:
    blocks = (
        Paragraph("Two systems < three."),
        Paragraph("Not enough.", warning=True),
        *(tables or (TABLE,)),
    )
    figure = Figure("plot", "Strengths", SVG)
    return Document(
        "Report: a <b>",
        "en",
        (("Study", "a"), ("Data (SHA-256)", "abc")),
        (
            Section("preferences", "Preferences", (*blocks, figure)),
            Section("methods", "Methods", (Paragraph("So."),)),
        ),
    )
