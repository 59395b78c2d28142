"""How high bars stand and what they are called."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from analytics.reports.render.bars import value_bars

SVG = "{http://www.w3.org/2000/svg}"


def drawn(rows: list[tuple[str, int]]) -> ET.Element:
    return ET.fromstring(value_bars("Ratings & <more>", rows))


def test_bars_are_as_high_as_their_counts_and_counts_stand_on_them():
    picture = drawn([("1", 1000), ("2", 250), ("3", 0)])
    heights = [float(bar.get("height")) for bar in picture.iter(f"{SVG}rect")]
    assert heights[0] == 4 * heights[1] > heights[2] == 0
    assert {element.text for element in picture.iter(f"{SVG}text")} == {"1", "2", "3", "1,000", "250", "0"}


def test_many_long_labels_are_thinned_out_and_nothing_is_drawn_flat():
    shown = [e.text for e in drawn([(f"{10 * n}–{10 * n + 10}", 0) for n in range(20)]).iter(f"{SVG}text")]
    assert 4 <= len(shown) < 20
    assert drawn([]).tag == f"{SVG}svg"
