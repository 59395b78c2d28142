"""The type of a file by its content, whatever its name: pictures, documents, archives and programs hold no table."""

from __future__ import annotations

import re
from pathlib import Path

ACCEPTED = (
    "Choose a table (CSV, TSV, Excel .xlsx, JSON, JSONL, Parquet), a .zip of a folder, or sounds in a folder."
)
SAVE_TABLE = "Save the table as .xlsx or CSV."
SIGNATURES: tuple[tuple[bytes, str, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "a picture (PNG)", ACCEPTED),
    (b"\xff\xd8\xff", "a picture (JPEG)", ACCEPTED),
    (b"GIF8", "a picture (GIF)", ACCEPTED),
    (b"BM", "a picture (BMP)", ACCEPTED),
    (b"II*\0", "a picture (TIFF)", ACCEPTED),
    (b"MM\0*", "a picture (TIFF)", ACCEPTED),
    (b"%PDF-", "a PDF document", SAVE_TABLE),
    (b"{\\rtf", "a text document (RTF)", SAVE_TABLE),
    (b"\xd0\xcf\x11\xe0", "an Excel workbook of before 2007 (.xls) or another old office file", SAVE_TABLE),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "Make it a .zip."),
    (b"Rar!\x1a\x07", "a RAR archive", "Make it a .zip."),
    (b"BZh", "packed with bzip2", "Unpack it, or make it a .zip."),
    (b"\xfd7zXZ\0", "packed with xz", "Unpack it, or make it a .zip."),
    (b"\x28\xb5\x2f\xfd", "packed with zstd", "Unpack it, or make it a .zip."),
    (b"\x7fELF", "a program", ACCEPTED),
    (b"MZ", "a program", ACCEPTED),
    (b"SQLite format 3\0", "an SQLite database", SAVE_TABLE),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file", SAVE_TABLE),
    (b"\x93NUMPY", "a NumPy array", SAVE_TABLE),
    (b"ARROW1\0\0", "an Arrow file", "Write it as Parquet."),
)
# Names of entries that identify an archive of XML files.
OFFICE_PARTS = (
    ("word/document.xml", "a Word document"),
    ("ppt/presentation.xml", "a PowerPoint presentation"),
    ("content.xml", "an OpenDocument file"),
)
WEB_PAGE = re.compile(rb"\s*(?:<!doctype html|<html)", re.IGNORECASE)
XML = re.compile(rb"\s*<\?xml", re.IGNORECASE)
SAMPLE_BYTES = 4096
# Bytes that no text has: control characters but tab, line feed, form feed, carriage return and escape.
CONTROL_BYTES = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")


def unusable_content(source: Path) -> tuple[str, str] | None:
    """What a file is that holds no table, as in "is a picture (PNG)", with the remedy; None for what may be text.

    Sounds, Parquet files, workbooks and archives are detected elsewhere.
    """
    with source.open("rb") as file:
        sample = file.read(SAMPLE_BYTES)
    if not sample:
        return "is empty", ACCEPTED
    if sample[:4] == b"RIFF" and sample[8:12] == b"WEBP":
        return "is a picture (WebP)", ACCEPTED
    for signature, what, remedy in SIGNATURES:
        if sample.startswith(signature) and (len(signature) > 2 or _is_binary(sample)):
            return f"is {what}", remedy
    if WEB_PAGE.match(sample):
        return "is a web page", "Save the table itself, not the page that shows it."
    if XML.match(sample):
        return "is an XML file", SAVE_TABLE
    return None


def sound_format(source: Path) -> str:
    """WAV, FLAC, … for what begins as a sound does; "" for anything else."""
    with source.open("rb") as file:
        start = file.read(16)
    if start[:4] in (b"RIFF", b"RF64") and start[8:12] == b"WAVE":
        return "WAV"
    if start.startswith(b"ID3") or (len(start) > 1 and start[0] == 0xFF and start[1] & 0xE6 == 0xE2):
        return "MP3"
    if start[4:8] == b"ftyp":
        return "MP4"
    if start[:4] == b"FORM" and start[8:11] == b"AIF":
        return "AIFF"
    return {b"fLaC": "FLAC", b"OggS": "Ogg", b"\x1aE\xdf\xa3": "WebM"}.get(start[:4], "")


def is_binary(source: Path, encoding: str) -> bool:
    """Whether a file holds characters that no text in this encoding has."""
    with source.open("rb") as file:
        sample = file.read(SAMPLE_BYTES)
    if encoding.startswith("utf-16"):
        sample = sample.decode(encoding, "replace").encode()
    return _is_binary(sample)


def _is_binary(sample: bytes) -> bool:
    return CONTROL_BYTES.search(sample) is not None
