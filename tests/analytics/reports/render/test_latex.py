from __future__ import annotations

import pytest

from analytics.reports.document import Column, Table
from analytics.reports.render.latex import escape_latex, latex_text
from tests.analytics.reports.render.documents import TABLE


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


def test_every_letter_means_itself():
    assert escape_latex(r"a\b{c}$d&e#f_g%h~i^j") == (
        r"a\textbackslash{}b\{c\}\$d\&e\#f\_g\%h\textasciitilde{}i\textasciicircum{}j"
    )
    assert escape_latex("α ≥ 0.8 − “so”…") == r"$\alpha$ $\geq$ 0.8 $-$ ``so''\dots{}"
    assert escape_latex("one\n\ntwo") == "one two"
    assert escape_latex('the "best" η, Ω and Ρ') == r"the \char34{}best\char34{} $\eta$, $\Omega$ and P"


def test_what_is_not_seen_in_print_is_dropped():
    assert escape_latex("zero\u200bwidth, \u202eturned\u202c, \x00nothing\u2028and\ta line") == (
        "zerowidth, turned, nothing and a line"
    )
    assert escape_latex("Cafe\u0301") == "Café"


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


def test_a_wide_table_is_set_smaller():
    columns = [Column(f"c{n}", f"Column {n}") for n in range(12)]
    wide = Table("t", "", columns, [("a long name",) * 12])
    assert r"\footnotesize\setlength{\tabcolsep}{3pt}" in latex_text(wide)
    assert "tabcolsep" not in latex_text(TABLE)


def test_a_row_that_begins_with_a_bracket_is_not_taken_for_a_length():
    table = Table("t", "", (Column("x", ""),), [("a",), ("[2em]",)])
    assert r"{}[2em] \\" in latex_text(table)
