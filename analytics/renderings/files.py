"""What of a document can be had as a file: each table for programs and for papers, each figure."""

from __future__ import annotations

import io
import json
import zipfile

from analytics.renderings.csv_tables import csv_text
from analytics.renderings.document_json import as_json
from analytics.renderings.figure_files import svg_file
from analytics.renderings.html import standalone
from analytics.renderings.latex import latex_text
from analytics.reports.document import Document, Figure, Paragraph, Table

# The key of the files that hold the whole report.
WHOLE = "report"
CONTENT_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "tex": "application/x-tex; charset=utf-8",
    "svg": "image/svg+xml",
    "html": "text/html; charset=utf-8",
    "json": "application/json",
    "zip": "application/zip",
}
# Equal documents make equal archives: every member carries this time, the earliest that a zip file can hold.
_TIME = (1980, 1, 1, 0, 0, 0)


def file_of(document: Document, key: str, extension: str, *, folder: str) -> bytes | None:
    """One file: of a table or a figure, or with the key WHOLE of all; None where the document has none of that name."""
    if key == WHOLE:
        return _whole(document, extension, folder)
    for block in _blocks(document):
        if block.key == key:
            text = _forms(block).get(extension)
            return None if text is None else text.encode()
    return None


def tables_and_figures(document: Document) -> dict[str, str]:
    """Text by name of file."""
    return {
        f"{block.key}.{extension}": text
        for block in _blocks(document)
        for extension, text in _forms(block).items()
    }


def zipped(document: Document, *, folder: str) -> bytes:
    """The report itself with all tables and figures, under the name of the folder."""
    texts = {"report.html": standalone(document), **tables_and_figures(document)}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in texts.items():
            member = zipfile.ZipInfo(f"{folder}/{name}", _TIME)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = 0o644 << 16
            archive.writestr(member, text.encode())
    return packed.getvalue()


def _whole(document: Document, extension: str, folder: str) -> bytes | None:
    if extension == "html":
        return standalone(document).encode()
    if extension == "json":
        return (json.dumps(as_json(document), ensure_ascii=False, indent=2) + "\n").encode()
    return zipped(document, folder=folder) if extension == "zip" else None


def _blocks(document: Document) -> list[Table | Figure]:
    blocks = [block for section in document.sections for block in section.blocks]
    return [block for block in blocks if not isinstance(block, Paragraph)]


def _forms(block: Table | Figure) -> dict[str, str]:
    if isinstance(block, Table):
        return {"csv": csv_text(block), "tex": latex_text(block)}
    return {"svg": svg_file(block.svg)}
