"""How high bars stand and what they are called."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from analytics.reports.render.bars import paired_bars

SVG = "{http://www.w3.org/2000/svg}"


def drawn(rows: list[tuple[str, int, int]]) -> ET.Element:
    return ET.fromstring(paired_bars("Ratings <1–5>", ("Before", "After & now"), rows))


def texts(picture: ET.Element) -> list[str]:
    return [element.text for element in picture.iter(f"{SVG}text")]


def test_bars_are_as_high_as_their_counts_and_counts_stand_on_them():
    picture = drawn([("1", 1000, 500), ("2", 250, 0)])
    heights = [float(bar.get("height")) for bar in picture.iter(f"{SVG}rect")][2:]  # after the legend's
    assert heights[0] == 2 * heights[1] == 4 * heights[2] > 0
    assert heights[3] == 0
    assert {"Before", "After & now", "1", "2", "1,000", "500", "250", "0"} == set(texts(picture))


def test_many_long_labels_are_thinned_out():
    rows = [(f"{10 * n} – {10 * n + 10}", n, n) for n in range(10)]
    shown = texts(drawn(rows))
    assert shown[2:] == ["0 – 10", "20 – 30", "40 – 50", "60 – 70", "80 – 90"]


def test_nothing_counted_is_drawn_flat():
    assert [float(bar.get("height")) for bar in drawn([("1", 0, 0)]).iter(f"{SVG}rect")][2:] == [0, 0]
    assert drawn([]).tag == f"{SVG}svg"


def test_a_long_name_in_the_legend_pushes_the_other_below_it():
    for names, places in (
        (("Before", "After"), {"15"}),
        (("Which follows the instruction better?", "B"), {"15", "33"}),
    ):
        picture = ET.fromstring(paired_bars("T", names, [("1", 2, 3)]))
        assert {text.get("y") for text in picture.iter(f"{SVG}text") if text.text in names} == places
