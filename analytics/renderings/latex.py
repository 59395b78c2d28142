r"""A table as LaTeX for a paper that has `\usepackage{booktabs}`; nothing else is asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from analytics.renderings.layout import Entry, laid_out
from analytics.reports.document import Column, Table

_ESCAPED = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}",
}  # fmt: skip
# What not every font of a paper has as a letter of its own.
_SIGNS = {
    "−": "$-$", "–": "--", "—": "---", "±": r"$\pm$", "×": r"$\times$", "·": r"$\cdot$", "≤": r"$\leq$",
    "≥": r"$\geq$", "≠": r"$\neq$", "≈": r"$\approx$", "→": r"$\to$", "²": "$^2$", "°": r"$^\circ$", "…": r"\dots{}",
    "\N{NO-BREAK SPACE}": "~", "\N{NARROW NO-BREAK SPACE}": r"\,", "α": r"$\alpha$", "β": r"$\beta$",
    "κ": r"$\kappa$", "λ": r"$\lambda$", "μ": r"$\mu$", "ν": r"$\nu$", "ρ": r"$\rho$", "σ": r"$\sigma$",
    "τ": r"$\tau$", "χ": r"$\chi$", "Δ": r"$\Delta$", "“": "``", "”": "''", "‘": "`", "’": "'",
}  # fmt: skip
_NAMES = {ord(letter): name for letter, name in (_ESCAPED | _SIGNS).items()}


def escaped(text: str) -> str:
    """Text that means itself to LaTeX, on one line."""
    return re.sub(r"\s*\n\s*", " ", text).translate(_NAMES)


def latex_text(table: Table, *, label: str) -> str:
    """A floating table with its caption above it and its notes below."""
    found = laid_out(table)
    lines = [
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{escaped(table.caption)}}}",
        rf"  \label{{tab:{label}}}",
        rf"  \begin{{tabular}}{{{''.join(_alignment(column) for column in table.columns)}}}",
        r"    \toprule",
        f"    {_row([rf'\multicolumn{{1}}{{{_alignment(c)}}}{{{escaped(c.label)}}}' for c in table.columns])}",
        r"    \midrule",
        *(f"    {_row([_entry(entry) for entry in row])}" for row in found.rows),
        r"    \bottomrule",
        r"  \end{tabular}",
    ]
    if notes := [*(rf"\textsuperscript{{{letter}}} {escaped(text)}" for letter, text in found.reasons), *map(escaped, table.notes)]:
        lines += [r"  \par\smallskip", rf"  \begin{{minipage}}{{\linewidth}}\footnotesize", *(rf"    {note}\par" for note in notes), r"  \end{minipage}"]
    return "\n".join([*lines, r"\end{table}", ""])


def _entry(entry: Entry) -> str:
    marked = escaped(entry.text) + (rf"\textsuperscript{{{entry.letter}}}" if entry.letter else "")
    return f"{marked} {escaped(entry.interval)}" if entry.interval else marked


def _row(cells: Sequence[str]) -> str:
    # A row that began with a bracket would be read as the length of the line break before it.
    return " & ".join(f"{{}}{cell}" if cell.startswith("[") else cell for cell in cells) + r" \\"


def _alignment(column: Column) -> str:
    return "l" if column.kind == "text" else "r"
