"""Text encoding and cell separator of tables, detected from a bounded prefix.

Any bytes are text in an encoding of single bytes, so that detection can be wrong: the result is shown, and can be
named instead.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path

# The encodings that can be named, with what people call them.
ENCODINGS = {
    "utf-8": "UTF-8",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16 (big-endian)",
    "windows-1252": "Windows-1252",
    "latin-1": "Latin-1",
    "gb18030": "GB18030",
    "big5": "Big5",
    "shift_jis": "Shift JIS",
    "euc-kr": "EUC-KR",
    "windows-1251": "Windows-1251",
}
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
# What a separator is called in a command or a form.
SEPARATOR_NAMES = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Of a table no more is read to see how it is written.
PREFIX_BYTES = 1 << 20
SAMPLE_CHARACTERS = 64 * 1024
SAMPLE_ROWS = 50
# The first line in which Excel states the separator.
SEPARATOR_LINE = re.compile(r"sep=(.)\s*\Z")
_HIGH_BYTES = re.compile(rb"[\x80-\xff]+")
_BEYOND_ASCII = re.compile("[^\x00-\x7f]")
_CONTROLS_OF_LATIN_1 = re.compile(rb"[\x80-\x9f]")
_UNUSED_BY_WINDOWS_1252 = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
# Chinese is written in pairs of bytes; a few words with umlauts hold a pair now and then.
MIN_PAIRED_BYTES, MIN_PAIRED_SHARE = 4, 0.9


@dataclass(frozen=True)
class Dialect:
    """How a table's text is written: a key of ENCODINGS, the bytes of its byte order mark, and its separator."""

    encoding: str = "utf-8"
    n_mark_bytes: int = 0
    separator: str = ","

    @property
    def encoding_title(self) -> str:
        return ENCODINGS.get(self.encoding, self.encoding)

    @property
    def separator_title(self) -> str:
        return SEPARATORS.get(self.separator, repr(self.separator))


def detect_dialect(source: Path, *, encoding: str = "", separator: str = "") -> Dialect:
    """The encoding and separator of a file of cells; a named one is not detected."""
    with source.open("rb") as file:
        prefix = file.read(PREFIX_BYTES)
    is_whole = len(prefix) < PREFIX_BYTES
    mark, marked = next(
        ((len(mark), name) for mark, name in BYTE_ORDER_MARKS if prefix.startswith(mark)), (0, "")
    )
    if encoding and encoding != marked:
        mark = 0
    encoding = encoding or marked or detect_encoding(prefix, is_whole=is_whole)
    text = codecs.getincrementaldecoder(encoding)("replace").decode(prefix[mark:])
    return Dialect(encoding, mark, separator or detect_separator(text, is_whole=is_whole))


def detect_encoding(prefix: bytes, *, is_whole: bool) -> str:
    """A key of ENCODINGS for text without a byte order mark."""
    if len(prefix) >= 4 and b"\0" in (prefix[0:1], prefix[1:2]) and prefix[:2] != b"\0\0":
        return "utf-16-be" if prefix[0] == 0 else "utf-16-le"
    if _decodes(prefix, "utf-8", is_whole=is_whole) or _is_broken_utf8(prefix):
        return "utf-8"
    if _looks_chinese(prefix) and _decodes(prefix, "gb18030", is_whole=is_whole):
        return "gb18030"
    uses_windows = _CONTROLS_OF_LATIN_1.search(prefix) and not _UNUSED_BY_WINDOWS_1252.search(prefix)
    return "windows-1252" if uses_windows else "latin-1"


def _decodes(prefix: bytes, encoding: str, *, is_whole: bool) -> bool:
    try:
        codecs.getincrementaldecoder(encoding)().decode(prefix, final=is_whole)
    except UnicodeDecodeError:
        return False
    return True


def _is_broken_utf8(prefix: bytes) -> bool:
    """Whether most of what is beyond ASCII is UTF-8: then a line in another encoding is the fault, not all others."""
    text = prefix.decode("utf-8", "replace")
    n_broken = text.count("\ufffd")
    return len(_BEYOND_ASCII.findall(text)) - n_broken > n_broken


def _looks_chinese(prefix: bytes) -> bool:
    """Whether bytes beyond ASCII nearly always come in pairs, as GB2312's characters do."""
    runs = [len(run) for run in _HIGH_BYTES.findall(prefix)]
    paired = sum(n for n in runs if n % 2 == 0)
    return paired >= MIN_PAIRED_BYTES and paired >= MIN_PAIRED_SHARE * sum(runs)


def detect_separator(text: str, *, is_whole: bool = True) -> str:
    """The separator that cuts the header and every row of a sample into as many cells; a comma where none does."""
    sample = text[:SAMPLE_CHARACTERS]
    if not is_whole or len(text) > SAMPLE_CHARACTERS:
        sample = sample[: sample.rfind("\n") + 1]
    first_line = sample.partition("\n")[0].rstrip("\r")
    if match := SEPARATOR_LINE.match(first_line):
        return match[1]
    cut = {separator: _cells_per_row(sample, separator) for separator in SEPARATORS}
    even = [sign for sign, counts in cut.items() if counts and counts[0] > 1 and len(set(counts)) == 1]
    if even:
        return even[0] if even[0] == "," else max(even, key=lambda sign: cut[sign][0])
    header_counts = {sign: counts[0] for sign, counts in cut.items() if counts}
    best = max(header_counts, key=header_counts.__getitem__, default=",")
    return best if header_counts.get(best, 1) > header_counts.get(",", 1) else ","


def _cells_per_row(sample: str, separator: str) -> list[int]:
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=separator)
    counts: list[int] = []
    try:
        for cells in reader:
            if any(cells):
                counts.append(len(cells))
            if len(counts) >= SAMPLE_ROWS:
                break
    except csv.Error:
        pass
    return counts
