"""A document as JSON, CSV, LaTeX, HTML, plain text and archives: the same values, digits and reasons everywhere."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import xml.etree.ElementTree as ET
import zipfile
from dataclasses import replace

import pytest

from analytics.reports.document import (
    Column,
    Document,
    Figure,
    Measured,
    Paragraph,
    Section,
    Table,
    document_from_json,
    document_json,
)
from analytics.reports.render.bars import paired_bars
from analytics.reports.render.csv_table import csv_text
from analytics.reports.render.files import document_file, svg_file, tables_and_figures, zip_document
from analytics.reports.render.html import render_part, render_standalone
from analytics.reports.render.interval_plot import Block, Point, interval_plot
from analytics.reports.render.latex import escape_latex, latex_text
from analytics.reports.render.layout import format_interval, format_value
from analytics.reports.render.line_plot import Line, line_plot
from analytics.reports.render.text import document_text
from annotation.models import Job
from tests.analytics.reports.render.documents import TABLE, document

NUMBER, PERCENT, COUNT = Column("n", "", "number", 2), Column("p", "", "percent", 1), Column("c", "", "count")
P = Column("p", "", "p", 3)
WIDE = replace(
    TABLE, columns=[Column(f"c{n}", f"Column {n}") for n in range(12)], rows=[("a long name",) * 12]
)

# Numbers.


@pytest.mark.parametrize(
    ("value", "column", "text"),
    [
        (0.1234, NUMBER, "0.12"),
        (-1.5, NUMBER, "−1.50"),
        (-0.004, NUMBER, "0.00"),
        (0.0, NUMBER, "0.00"),
        (4, NUMBER, "4.00"),
        (0.1234, PERCENT, "12.3\u00a0%"),
        (-0.5, PERCENT, "−50.0\u00a0%"),
        (1234567, COUNT, "1,234,567"),
        (3.0, COUNT, "3"),
        (-1, COUNT, "−1"),
        (0.00009, P, "< 0.001"),
        (0.0, P, "< 0.001"),
        (0.001, P, "0.001"),
        (0.25, P, "0.250"),
        (None, P, "–"),
        (None, NUMBER, "–"),
        ("∞", NUMBER, "∞"),
        (2.5, Column("t", ""), "2.5"),
    ],
)
def test_a_value_has_the_digits_of_its_column_and_no_sign_before_zero(value, column, text):
    assert format_value(value, column) == text


@pytest.mark.parametrize(
    ("cell", "column", "text"),
    [
        (Measured(0.5, -0.25, 1.0), NUMBER, "[−0.25, 1.00]"),
        (Measured(0.5, 0.25, 0.75), PERCENT, "[25.0, 75.0]"),
        (Measured(2, 1, 3), COUNT, "[1, 3]"),
        (Measured(0.5, 0.25, None), NUMBER, ""),
        (Measured(0.5), NUMBER, ""),
    ],
)
def test_an_interval_has_the_digits_of_its_value_and_both_ends_or_is_none(cell, column, text):
    assert format_interval(cell, column) == text


# JSON.


def test_what_is_read_is_what_was_written():
    assert document_from_json(json.loads(json.dumps(document_json(document())))) == document()


@pytest.mark.django_db
def test_a_database_that_knows_one_kind_of_number_changes_no_byte():
    cells = [(1e16, 7), (Measured(3.0, -0.0, 1e-9), 2**60), (0.1 + 0.2, 0)]
    made = document(TABLE, Table("t", "", (Column("x", "", "number", 3), Column("n", "", "count")), cells))
    job = Job.objects.create(kind="report", report=document_json(made))
    stored = document_from_json(Job.objects.get(pk=job.pk).report)
    assert render_standalone(stored) == render_standalone(made)
    assert tables_and_figures(stored) == tables_and_figures(made)


@pytest.mark.parametrize("strange", [math.nan, math.inf, Measured(1.0, -math.inf, 2.0)])
def test_what_is_no_number_is_refused_by_name(strange):
    table = Table("rates", "", (Column("x", "", "number"),), [(strange,)])
    with pytest.raises(ValueError, match="'rates' holds"):
        document_json(document(table))


# CSV.


def rows(table: Table) -> list[list[str]]:
    return list(csv.reader(io.StringIO(csv_text(table))))


def test_a_measured_column_is_four_with_every_digit_and_the_reason_of_what_is_missing():
    assert rows(TABLE)[:3] == [
        ["system", "votes", "strength", "strength_low", "strength_high", "strength_reason", "rate"],
        ["Aria_1", "1234", "-0.004", "-0.5", "0.25", "", "0.1234"],
        # Texts are no formulas, and numbers stay numbers.
        ["'=cmd()", "3", "", "", "", "Nobody voted.", ""],
    ]
    value, low, high = 1 / 3, 1e-300, 0.1 + 0.2
    table = Table("t", "", (Column("x", "", "number", 1),), [(Measured(value, low, high),)])
    assert [float(cell) for cell in rows(table)[1][:3]] == [value, low, high]


@pytest.mark.parametrize("stored", [2, 2.0])
def test_a_whole_number_is_written_the_same_whoever_stored_it(stored):
    table = Table("t", "", (Column("x", "", "number"), Column("n", "", "count")), [(stored, stored)])
    assert rows(table)[1] == ["2.0", "2"]


# LaTeX.


def test_a_table_is_what_booktabs_asks_for():
    assert latex_text(TABLE).splitlines() == [
        r"\begin{table}",
        r"  \centering",
        r"  \caption{Strengths of 2 systems \& more}",
        r"  \label{tab:strengths}",
        r"  \begin{tabular}{lrr@{ }lr}",
        r"    \toprule",
        r"    \multicolumn{1}{l}{System} & \multicolumn{1}{r}{Votes} & \multicolumn{2}{c}{Strength} & "
        r"\multicolumn{1}{r}{Win rate} \\",
        r"    \midrule",
        r"    Aria\_1 & 1,234 & 0.00 & [$-$0.50, 0.25] & 12.3~\% \\",
        r"    =cmd() & 3 & --\textsuperscript{a} &  & -- \\",
        r"    Brook & 0 & 1.00\textsuperscript{b} &  & 100.0~\% \\",
        r"    Coda & 2 & 0.50 & [$-$0.25, 1.25] & 50.0~\% \\",
        r"    \bottomrule",
        r"  \end{tabular}",
        r"  \par\smallskip",
        r"  \begin{minipage}{\linewidth}\footnotesize",
        r"    \textsuperscript{a} Nobody voted.\par",
        r"    \textsuperscript{b} Only one cluster.\par",
        r"    100 \% of votes count.\par",
        r"  \end{minipage}",
        r"\end{table}",
    ]


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        (
            r"a\b{c}$d&e#f_g%h~i^j",
            r"a\textbackslash{}b\{c\}\$d\&e\#f\_g\%h\textasciitilde{}i\textasciicircum{}j",
        ),
        ("α ≥ 0.8 − “so”…", r"$\alpha$ $\geq$ 0.8 $-$ ``so''\dots{}"),
        ("one\n\ntwo", "one two"),
        ('the "best" η, Ω and Ρ', r"the \char34{}best\char34{} $\eta$, $\Omega$ and P"),
        # What is not seen in print is dropped.
        (
            "zero\u200bwidth, \u202eturned\u202c, \x00nothing\u2028and\ta line",
            "zerowidth, turned, nothing and a line",
        ),
        ("Cafe\u0301", "Café"),
    ],
)
def test_every_letter_means_itself(text, latex):
    assert escape_latex(text) == latex


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("Système «é»", ""),
        ("Łódź", ""),
        ("系统甲", "ctex"),
        ("مرحبا", "fontspec"),
        ("\N{BELL}", "fontspec"),
        ("ą", "fontspec"),
    ],
)
def test_a_table_says_what_it_needs_beyond_booktabs(name, needed):
    first = latex_text(Table("t", "", [Column("system", "System")], [(name,)])).splitlines()[0]
    assert first == r"\begin{table}" if not needed else first.startswith("%") and needed in first


def test_a_wide_table_is_set_smaller_in_a_paper_and_on_a_page():
    small = r"\footnotesize\setlength{\tabcolsep}{3pt}"
    assert [small in latex_text(table) for table in (WIDE, TABLE)] == [True, False]
    assert 'class="paper-table whole wide"' in render_standalone(document(WIDE))
    assert 'class="paper-table whole"' in render_standalone(document(TABLE))


def test_a_row_that_begins_with_a_bracket_is_not_taken_for_a_length():
    table = Table("t", "", (Column("x", ""),), [("a",), ("[2em]",)])
    assert r"{}[2em] \\" in latex_text(table)


# HTML.


def words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def long_table(n: int) -> Table:
    return replace(TABLE, columns=(Column("n", "N", "count"),), rows=[(row,) for row in range(n)])


def test_a_file_asks_for_nothing_from_anywhere_and_brings_its_style_for_the_screen_and_for_paper():
    html = render_standalone(document())
    assert not [word for word in ("<script", "<link", "url(") if word in html]
    assert set(re.findall(r"https?://[^\s\"<)]+", html)) == {"http://www.w3.org/2000/svg"}
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)
    assert style
    rules = (
        "@page",
        "@media print",
        "screen and (prefers-color-scheme: dark)",
        ".interval-plot",
        ".paper-table",
    )
    assert [rule for rule in rules if rule not in style[1]] == []


def test_values_intervals_and_reasons_stand_in_the_table_and_what_people_typed_is_text():
    html = render_standalone(document())
    for expected in (
        "<title>Report: a &lt;b&gt;</title>",
        "Two systems &lt; three.",
        '<th scope="col" class="number" colspan="2">Strength</th>',
        '<td class="number">0.00</td><td class="number spread">[−0.50, 0.25]</td>',
        '<td class="number">–<sup>a</sup></td><td class="number spread"></td>',
        '<p class="paper-note"><sup>a</sup> Nobody voted.</p>',
        '<p class="paper-note"><sup>b</sup> Only one cluster.</p>',
        '<p class="paper-warning">Not enough.</p>',
    ):
        assert expected in html
    assert "Table 1. Strengths of 2 systems &amp; more" in words(html)


def test_tables_and_figures_are_numbered_through_the_document_in_its_language():
    html = words(render_standalone(document(TABLE, replace(TABLE, key="other", caption="Others"))))
    assert "Table 2. Others" in html
    assert "Figure 1. Strengths" in html
    assert "Table 1" not in words(render_standalone(replace(document(), language="zh-hans")))


def test_a_page_links_the_files_and_cuts_long_tables_and_a_file_has_every_row_and_no_links():
    page = render_part(
        document(long_table(8)), address=lambda key, extension: f"/f/{key}.{extension}", most_rows=5
    )
    assert re.findall(r'href="(/f/[^"]+)"', page) == ["/f/strengths.csv", "/f/strengths.tex", "/f/plot.svg"]
    assert page.count("<tr>") == 1 + 5
    assert "3 more rows are in the files." in page
    file = render_standalone(document(long_table(80)))
    assert file.count("<tr>") == 1 + 80
    assert "more rows" not in file
    assert not re.findall(r'href="[^#]', file)


@pytest.mark.parametrize(("n", "classes"), [(30, "paper-table whole"), (31, "paper-table ")])
def test_a_table_that_fits_on_a_page_stays_on_one(n, classes):
    assert f'class="{classes}"' in render_standalone(document(long_table(n)))


# Plain text.


def test_in_plain_text_columns_are_aligned_and_reasons_and_notes_stand_below():
    table = Table(
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
    blocks = [Paragraph("Two of three."), table, Figure("f", "Drawn", "<svg/>")]
    plain = Document("Report", "en", [("Study", "s")], [Section("s", "Systems", blocks)])
    assert document_text(plain).splitlines() == [
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


# Files and archives.

DRAWINGS = {
    "interval-plot": interval_plot("T", [Block("b", [Point("p", 0.5, 0.1, 0.9, "0.5")])]),
    "paired-bars": paired_bars("T", ("a", "b"), [("1", 2, 3)]),
    "line-plot": line_plot("T", [Line("l", [(0, 0, None, None)])], x_label="x", y_label="y"),
}


def test_every_table_has_two_files_and_every_figure_one_each_had_by_its_name():
    texts = tables_and_figures(document())
    assert list(texts) == ["strengths.csv", "strengths.tex", "plot.svg"]
    assert document_file(document(), "strengths", "csv", folder="f") == texts["strengths.csv"].encode()
    whole = document_file(document(), "report", "json", folder="f")
    assert whole is not None
    assert json.loads(whole) == json.loads(json.dumps(document_json(document())))
    for key, extension in (("strengths", "svg"), ("beauty", "csv"), ("report", "exe")):
        assert document_file(document(), key, extension, folder="f") is None


def test_an_archive_of_the_same_document_has_the_same_bytes():
    packed = zip_document(document(), folder="s-report")
    assert packed == zip_document(document(), folder="s-report")
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        assert archive.testzip() is None
        assert archive.namelist()[:2] == ["s-report/report.html", "s-report/strengths.csv"]
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


@pytest.mark.parametrize("kind", list(DRAWINGS))
def test_a_figure_on_its_own_has_plain_colours_and_a_size(kind):
    root = ET.fromstring(svg_file(DRAWINGS[kind]))
    assert float(root.attrib["width"]) == 720
    assert float(root.attrib["height"]) > 50
    style = root.findtext("{http://www.w3.org/2000/svg}style")
    assert style is not None
    assert f".{kind} text" in style
    assert "var(" not in style
    assert "#1d1f1e" in style
