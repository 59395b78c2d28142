r"""A table as LaTeX for a paper that has `\usepackage{booktabs}`. Nothing else is asked for, unless names have letters
that the fonts of pdfLaTeX have not, as Chinese ones do: then the first line says what they need."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Sequence

from analytics.reports.document import Table
from analytics.reports.render.layout import Entry, Head, TableLayout, lay_out_table

_ESCAPED = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\char34{}",
}  # fmt: skip
# A label is not broken into shorter lines.
_LABEL = 9
# What not every font of a paper has as a letter of its own.
_SIGNS = {
    "−": "$-$", "–": "--", "—": "---", "±": r"$\pm$", "×": r"$\times$", "·": r"$\cdot$", "≤": r"$\leq$",
    "≥": r"$\geq$", "≠": r"$\neq$", "≈": r"$\approx$", "→": r"$\to$", "²": "$^2$", "°": r"$^\circ$", "…": r"\dots{}",
    "\N{NO-BREAK SPACE}": "~", "\N{NARROW NO-BREAK SPACE}": r"\,", "“": "``", "”": "''", "‘": "`", "’": "'",
    "«": r"$\ll$", "»": r"$\gg$", "‹": r"\textless{}", "›": r"\textgreater{}", "′": r"$'$", "″": r"$''$",
}  # fmt: skip
_GREEK = {
    **{chr(0x3B1 + place): rf"$\{name}$" for place, name in enumerate((
        "alpha", "beta", "gamma", "delta", "varepsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu",
        "xi", "mathit{o}", "pi", "rho", "varsigma", "sigma", "tau", "upsilon", "varphi", "chi", "psi", "omega",
    ))},
    **{chr(ord(name) - 0x20): rf"$\{sign}$" for name, sign in zip("γδθλξπσυφψω", (
        "Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega",
    ), strict=True)},
    **dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΧ", "ABEZHIKMNOPTX", strict=True)),
}  # fmt: skip
_NAMES = {ord(letter): name for letter, name in (_ESCAPED | _SIGNS | _GREEK).items()}
_BREAKS = re.compile(r"\s*[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]\s*")
# Control and format characters, and halves of others: nothing of them would be seen in print.
_UNSEEN = ("Cc", "Cf", "Cs")
# Beyond accented Latin letters, what pdfLaTeX knows in its first encoding.
_KNOWN = frozenset("¡¢£¥§©ª¬®¶¹³º¼½¾¿ÆØßæ÷øıŁłŒœŒ€™†‡•‐‑")
_OGONEK = "\N{COMBINING OGONEK}"


def escape_latex(text: str) -> str:
    """Text that means itself to LaTeX, on one line."""
    line = _BREAKS.sub(" ", unicodedata.normalize("NFC", text)).replace("\t", " ")
    return "".join(one for one in line if unicodedata.category(one) not in _UNSEEN).translate(_NAMES)


def latex_text(table: Table) -> str:
    """A floating table with its caption above it and its notes below."""
    layout = lay_out_table(table)
    lines = [
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{escape_latex(table.caption)}}}",
        rf"  \label{{tab:{table.key}}}",
        *([r"  \footnotesize\setlength{\tabcolsep}{3pt}"] if layout.is_wide else []),
        rf"  \begin{{tabular}}{{{''.join(_alignment(head) for head in layout.heads)}}}",
        r"    \toprule",
        _row([_heading(head, width) for head, width in zip(layout.heads, layout.widths, strict=True)]),
        r"    \midrule",
        *(_row([_entry(entry) for entry in row]) for row in layout.rows),
        r"    \bottomrule",
        r"  \end{tabular}",
        *_notes(layout, table),
        r"\end{table}",
    ]
    body = "\n".join(lines) + "\n"
    return _font_comment(body) + body


def _font_comment(body: str) -> str:
    """A comment, where the table has letters that pdfLaTeX would stop at."""
    foreign = {
        letter for letter in body if not (letter.isascii() or letter in _KNOWN or _is_accented(letter))
    }
    if not foreign:
        return ""
    if any(_is_wide(letter) for letter in foreign):
        return "% Compile with XeLaTeX or LuaLaTeX and \\usepackage{ctex}.\n"
    return "% Compile with XeLaTeX or LuaLaTeX, \\usepackage{fontspec} and a \\setmainfont that has all letters.\n"


def _is_accented(letter: str) -> bool:
    """A Latin letter with an accent that can be set over any other."""
    apart = unicodedata.normalize("NFD", letter)
    return letter <= "ž" and len(apart) == 2 and apart[0].isascii() and apart[1] != _OGONEK


def _is_wide(letter: str) -> bool:
    """Of Chinese, Japanese or Korean; pictures are as wide."""
    return unicodedata.east_asian_width(letter) in "WF" and unicodedata.category(letter) != "So"


def _notes(layout: TableLayout, table: Table) -> list[str]:
    reasons = [rf"\textsuperscript{{{letter}}} {escape_latex(text)}" for letter, text in layout.reasons]
    notes = [*reasons, *map(escape_latex, table.notes)]
    if not notes:
        return []
    inside = [rf"    {note}\par" for note in notes]
    return [r"  \par\smallskip", r"  \begin{minipage}{\linewidth}\footnotesize", *inside, r"  \end{minipage}"]


def _entry(entry: Entry) -> str:
    marked = escape_latex(entry.text) + (rf"\textsuperscript{{{entry.letter}}}" if entry.letter else "")
    # A cell that began with a bracket would be read as the length of the line break before it.
    guarded = f"{{}}{marked}" if marked.startswith("[") else marked
    return f"{guarded} & {escape_latex(entry.interval)}" if entry.head.spread else guarded


def _heading(head: Head, width: int) -> str:
    """Broken between words where it would be wider than its column, since LaTeX breaks no cell by itself."""
    columns, side = (2, "c") if head.spread else (1, "l" if head.kind != "number" else "r")
    lines = [
        escape_latex(line) for line in textwrap.wrap(head.label, max(width, _LABEL), break_on_hyphens=False)
    ]
    label = "".join(lines)
    if len(lines) > 1:
        label = rf"\begin{{tabular}}[b]{{@{{}}{side}@{{}}}}" + r"\\".join(lines) + r"\end{tabular}"
    return rf"\multicolumn{{{columns}}}{{{side}}}{{{label}}}"


def _row(cells: Sequence[str]) -> str:
    return "    " + " & ".join(cells) + r" \\"


def _alignment(head: Head) -> str:
    """Texts that are no names are set as paragraphs, a quarter of the page wide."""
    if head.kind != "number":
        return "l" if head.kind == "name" else r"p{0.25\linewidth}"
    return "r@{ }l" if head.spread else "r"
