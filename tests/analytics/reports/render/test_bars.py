"""Bar charts: how high or long bars are, and what is written in and beside them."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from analytics.reports.render.bars import paired_bars, stacked_bars, value_bars

SVG = "{http://www.w3.org/2000/svg}"


def paired(
    rows: list[tuple[str, int, int]], names: tuple[str, str] = ("Before", "After & now")
) -> ET.Element:
    return ET.fromstring(paired_bars("Ratings <1–5>", names, rows))


def single(rows: list[tuple[str, int]]) -> ET.Element:
    return ET.fromstring(value_bars("Ratings & <more>", rows))


def stacked(values, rows) -> ET.Element:
    return ET.fromstring(stacked_bars("Shares <1–5>", values, rows))


def heights(picture: ET.Element) -> list[float]:
    return [float(bar.get("height")) for bar in bars(picture)]


def bars(picture: ET.Element) -> list[ET.Element]:
    """Without the legend's, which have no title."""
    return [bar for bar in picture.iter(f"{SVG}rect") if bar.find(f"{SVG}title") is not None]


def texts(picture: ET.Element) -> list[str]:
    return [element.text for element in picture.iter(f"{SVG}text")]


def test_bars_are_as_high_as_their_counts_and_counts_stand_on_them():
    picture = paired([("1", 1000, 500), ("2", 250, 0)])
    first, second, third, nothing = heights(picture)
    assert first == 2 * second == 4 * third > nothing == 0
    assert {"Before", "After & now", "1", "2", "1,000", "500", "250", "0"} == set(texts(picture))
    picture = single([("1", 1000), ("2", 250), ("3", 0)])
    first, second, nothing = heights(picture)
    assert first == 4 * second > nothing == 0
    assert set(texts(picture)) == {"1", "2", "3", "1,000", "250", "0"}


def test_many_long_labels_are_thinned_out():
    rows = [(f"{10 * n} – {10 * n + 10}", n, n) for n in range(10)]
    assert texts(paired(rows))[2:] == ["0 – 10", "20 – 30", "40 – 50", "60 – 70", "80 – 90"]


def test_nothing_counted_is_drawn_flat():
    assert heights(paired([("1", 0, 0)])) == [0, 0]
    assert heights(single([("1", 0)])) == [0]
    assert paired([]).tag == single([]).tag == f"{SVG}svg"


def test_a_long_name_in_the_legend_pushes_the_other_below_it():
    for names, places in (
        (("Before", "After"), {"15"}),
        (("Which follows the instruction better?", "B"), {"15", "33"}),
    ):
        picture = paired([("1", 2, 3)], names)
        assert {text.get("y") for text in picture.iter(f"{SVG}text") if text.text in names} == places


def test_pieces_are_as_long_as_their_shares_and_lie_end_to_end():
    one, two, three = bars(stacked(["1", "2", "3"], [("alto", [1, 1, 2])]))
    lengths = [float(piece.get("width")) for piece in (one, two, three)]
    assert lengths == pytest.approx([lengths[0], lengths[0], 2 * lengths[0]], abs=0.2)
    assert float(two.get("x")) == pytest.approx(float(one.get("x")) + lengths[0], abs=0.2)
    assert one.find(f"{SVG}title").text == "1: 1"


def test_values_go_from_light_to_dark_so_that_they_read_without_colour():
    strengths = [float(p.get("fill-opacity")) for p in bars(stacked(["1", "2", "3"], [("alto", [1, 1, 1])]))]
    assert strengths == sorted(strengths)
    assert len(set(strengths)) == 3


def test_names_counts_and_shares_are_written_where_they_fit():
    picture = stacked(
        ["bad & worse", "good"], [("a system with a very, very long name", [1, 99]), ("none", [0, 0])]
    )
    written = texts(picture)
    assert {"bad & worse", "good", "n = 100", "n = 0", "99 %", "none"} <= set(written)
    assert any(one.startswith("a system") and one.endswith("…") for one in written)
    assert "1 %" not in written
    assert len(bars(picture)) == 2
