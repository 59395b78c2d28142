from __future__ import annotations

import io
import json
import xml.etree.ElementTree as ET
import zipfile

import pytest

from analytics.reports.document import document_json
from analytics.reports.render.bars import paired_bars
from analytics.reports.render.files import document_file, svg_file, tables_and_figures, zip_document
from analytics.reports.render.interval_plot import Block, Point, interval_plot
from analytics.reports.render.line_plot import Line, line_plot
from tests.analytics.reports.render.documents import document

DRAWINGS = {
    "interval-plot": interval_plot("T", [Block("b", [Point("p", 0.5, 0.1, 0.9, "0.5")])]),
    "paired-bars": paired_bars("T", ("a", "b"), [("1", 2, 3)]),
    "line-plot": line_plot("T", [Line("l", [(0, 0, None, None)])], x_label="x", y_label="y"),
}


def test_every_table_has_two_files_and_every_figure_one():
    assert list(tables_and_figures(document())) == ["strengths.csv", "strengths.tex", "plot.svg"]


def test_a_file_is_had_by_its_name():
    assert (
        document_file(document(), "strengths", "csv", folder="f")
        == tables_and_figures(document())["strengths.csv"].encode()
    )
    whole = document_file(document(), "report", "json", folder="f")
    assert whole is not None
    assert json.loads(whole) == json.loads(json.dumps(document_json(document())))
    for key, extension in (("strengths", "svg"), ("beauty", "csv"), ("report", "exe")):
        assert document_file(document(), key, extension, folder="f") is None


def test_an_archive_of_the_same_document_has_the_same_bytes():
    made = zip_document(document(), folder="s-report")
    assert made == zip_document(document(), folder="s-report")
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        assert archive.testzip() is None
        assert archive.namelist()[:2] == ["s-report/report.html", "s-report/strengths.csv"]
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


@pytest.mark.parametrize("kind", list(DRAWINGS))
def test_a_figure_on_its_own_has_plain_colours_and_a_size(kind):
    made = svg_file(DRAWINGS[kind])
    root = ET.fromstring(made)
    assert float(root.attrib["width"]) == 720
    assert float(root.attrib["height"]) > 50
    style = root.findtext("{http://www.w3.org/2000/svg}style")
    assert style is not None
    assert f".{kind} text" in style
    assert "var(" not in style
    assert "#1d1f1e" in style
