"""Cells of a CSV that a spreadsheet would run as a formula, and how to keep it from that."""

from __future__ import annotations

# The full-width signs, too: a spreadsheet set to Chinese or Japanese reads them as the narrow ones.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def escape_formula(text: str) -> str:
    """With an apostrophe before it, which makes it text to a spreadsheet, where it would run otherwise.

    One that begins with apostrophes and goes on like a formula gets another, so that `as_written` is exact.
    """
    return f"'{text}" if text.lstrip("'").startswith(_FORMULA_STARTS) else text


def unescape_formula(cell: str) -> str:
    """What `defused` was given."""
    return cell[1:] if cell.startswith("'") and cell.lstrip("'").startswith(_FORMULA_STARTS) else cell
