"""How long the pieces of a bar are, and what is written in and beside it."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from analytics.reports.render.bars import stacked_bars

SVG = "{http://www.w3.org/2000/svg}"


def drawn(values, rows) -> ET.Element:
    return ET.fromstring(stacked_bars("Shares <1–5>", values, rows, on_its_own=False))


def pieces(picture: ET.Element) -> list[ET.Element]:
    return [piece for piece in picture.iter(f"{SVG}rect") if piece.find(f"{SVG}title") is not None]


def texts(picture: ET.Element) -> list[str]:
    return [element.text for element in picture.iter(f"{SVG}text")]


def test_pieces_are_as_long_as_their_shares_and_lie_end_to_end():
    one, two, three = pieces(drawn(["1", "2", "3"], [("alto", [1, 1, 2])]))
    lengths = [float(piece.get("width")) for piece in (one, two, three)]
    assert lengths == pytest.approx([lengths[0], lengths[0], 2 * lengths[0]], abs=0.2)
    assert float(two.get("x")) == pytest.approx(float(one.get("x")) + lengths[0], abs=0.2)
    assert one.find(f"{SVG}title").text == "1: 1"


def test_values_go_from_light_to_dark_so_that_they_read_without_colour():
    strengths = [float(p.get("fill-opacity")) for p in pieces(drawn(["1", "2", "3"], [("alto", [1, 1, 1])]))]
    assert strengths == sorted(strengths)
    assert len(set(strengths)) == 3


def test_names_counts_and_shares_are_written_where_they_fit():
    picture = drawn(
        ["bad & worse", "good"], [("a system with a very, very long name", [1, 99]), ("none", [0, 0])]
    )
    written = texts(picture)
    assert {"bad & worse", "good", "n = 100", "n = 0", "99 %", "none"} <= set(written)
    assert any(one.startswith("a system") and one.endswith("…") for one in written)
    assert "1 %" not in texts(picture)
    assert len(pieces(picture)) == 2
