"""Where points and intervals lie, and what they are called."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from analytics.reports.render.interval_plot import Block, Point, interval_plot

SVG = "{http://www.w3.org/2000/svg}"


def drawn(*points: Point, **more) -> ET.Element:
    return ET.fromstring(interval_plot("Title", [Block("Heading", points)], **more))


def texts(picture: ET.Element) -> list[str]:
    return [element.text for element in picture.iter(f"{SVG}text")]


def test_a_point_lies_within_its_interval_and_the_scale():
    picture = drawn(Point("one", 0.45, 0.4, 0.5, "0.450"), Point("two", 0.3, 0.2, 0.4, "0.300"))
    first, second = (float(circle.get("cx")) for circle in picture.iter(f"{SVG}circle"))
    ranges = [line for line in picture.iter(f"{SVG}line") if line.get("class") == "range"]
    assert float(ranges[0].get("x1")) < first < float(ranges[0].get("x2"))
    assert second < first
    ticks = [text for text in texts(picture) if text.startswith("0.") and len(text) <= 4]
    assert (ticks[0], ticks[-1]) == ("0.2", "0.5")


def test_the_scale_reaches_below_zero_with_a_real_minus():
    assert "−0.2" in texts(drawn(Point("one", -0.1, -0.15, 0.3, "−0.100")))


@pytest.mark.parametrize("value", [0.0, 0.5, -3.0, 12.0])
def test_one_value_alone_still_has_a_scale(value):
    (circle,) = drawn(Point("one", value, None, None, "x")).iter(f"{SVG}circle")
    assert 0 <= float(circle.get("cx")) <= 720


def test_what_is_not_defined_has_a_name_and_no_point():
    picture = drawn(Point("one", None, None, None, "–"))
    assert not list(picture.iter(f"{SVG}circle"))
    assert texts(picture)[-2:] == ["one", "–"]


def test_names_are_text_and_nothing_else():
    picture = drawn(Point("<script>&", 0.5, None, None, "0.5"), Point("x" * 80, 0.5, None, None, "0.5"))
    assert "<script>&" in texts(picture)
    assert "x" * 37 + "…" in texts(picture)
