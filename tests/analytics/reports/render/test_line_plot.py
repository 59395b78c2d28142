"""Where lines and their bands lie, and that they can be told apart without colour."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET

import pytest

from analytics.reports.render.line_plot import WIDTH, Line, axis_ticks, line_plot, tick_label

SVG = "{http://www.w3.org/2000/svg}"


def drawn(*lines: Line, **more) -> ET.Element:
    return ET.fromstring(line_plot("Title", lines, **{"x_label": "Votes", "y_label": "Share", **more}))


def corners(shape: ET.Element) -> list[tuple[float, float]]:
    return [tuple(map(float, corner.split(","))) for corner in shape.get("points").split()]


def of_class(picture: ET.Element, name: str) -> list[ET.Element]:
    return [element for element in picture.iter() if name in element.get("class", "").split()]


def test_a_line_rises_to_the_right_within_its_band():
    picture = drawn(Line("one", [(0, 0.2, 0.1, 0.3), (100, 0.6, 0.5, 0.8)]))
    (start, end) = corners(of_class(picture, "line")[1])
    assert start[0] < end[0] <= WIDTH
    assert start[1] > end[1]
    high_start, high_end, low_end, low_start = corners(of_class(picture, "band")[0])
    assert high_start[1] < start[1] < low_start[1]
    assert high_end[1] < end[1] < low_end[1]


def test_a_band_is_drawn_only_where_it_has_both_ends():
    points = [(0, 1, 0, 2), (1, 1, 0, 2), (2, 1, None, None), (3, 1, 0, None), (4, 1, 0, 2), (5, 1, 0, 2)]
    assert [len(corners(band)) for band in of_class(drawn(Line("one", points)), "band")] == [4, 4]


def test_axes_end_on_round_numbers_around_everything_drawn():
    picture = drawn(Line("one", [(3, 0.23, 0.11, 0.3), (97, 0.5, 0.4, 0.71)]))
    ticks = [text.text for text in of_class(picture, "soft")]
    assert ticks[:8] == ["0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8"]
    assert ticks[-3:] == ["100", "Votes", "Share"]


def test_a_given_range_holds_and_what_lies_beyond_stays_at_its_end():
    picture = drawn(Line("one", [(0, 0.5, None, None), (2, 7, None, None)]), x_range=(0, 1), y_range=(0, 1))
    assert corners(of_class(picture, "line")[1])[1] == tuple(map(float, top_right(picture)))


def top_right(picture: ET.Element) -> tuple[str, str]:
    highest = min(of_class(picture, "tick"), key=lambda line: float(line.get("y1")))
    return highest.get("x2"), highest.get("y1")


def test_lines_differ_in_their_marks_and_a_reference_line_in_its_dashes():
    picture = drawn(
        Line("one", [(0, 0, None, None), (1, 1, None, None)]),
        Line("two", [(0, 1, None, None), (1, 0, None, None)]),
        Line("ideal", [(0, 0, None, None), (1, 1, None, None)], dashed=True),
    )
    kinds = [[mark.tag.removeprefix(SVG) for mark in of_class(group, "mark")] for group in groups(picture)]
    assert kinds == [["circle", "circle"], ["rect", "rect"], []]
    assert len(of_class(picture, "dashed")) == 2  # the line and its swatch


def groups(picture: ET.Element) -> list[ET.Element]:
    return [group for group in picture.iter(f"{SVG}g") if group.find(f"{SVG}title") is not None]


def test_a_line_of_many_points_has_few_marks():
    picture = drawn(Line("one", [(n, n, None, None) for n in range(1000)]))
    assert len(of_class(picture, "mark")) <= 13


def test_long_names_go_below_each_other():
    names = [
        "a fairly long name of a line",
        "another fairly long name of a line",
        "评分员人数与票数的关系曲线说明文字",
    ]
    picture = drawn(*(Line(name, [(0, 0, None, None)]) for name in names))
    placed = {text.text: float(text.get("y")) for text in picture.iter(f"{SVG}text")}
    assert placed[names[0]] < placed[names[1]] <= placed[names[2]]


@pytest.mark.parametrize("points", [[], [(5, 5, None, None)], [(0, 0, 0, 0)]])
def test_next_to_nothing_still_has_axes(points):
    assert len(of_class(drawn(Line("one", points)), "tick")) >= 2


@pytest.mark.parametrize("strange", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_not_drawn(strange):
    with pytest.raises(ValueError, match="'one' cannot be drawn"):
        drawn(Line("one", [(0, 1, strange, 2)]))


def test_names_are_text_and_nothing_else():
    picture = drawn(Line("<script>&", [(0, 0, None, None)]), x_label="<x>", y_label="&y")
    assert {"<script>&", "<x>", "&y"} <= {text.text for text in picture.iter(f"{SVG}text")}


@pytest.mark.parametrize("width", [1e-6, 0.3, 1, 7, 100, 12_345, 3e9])
def test_an_axis_has_a_few_round_numbers(width):
    found = axis_ticks([0, width], None)
    assert 2 <= len(found.ticks) <= 8
    assert found.start <= 0
    assert found.end >= width * (1 - 1e-9)


@pytest.mark.parametrize("ends", [(1.0, 1.0), (2.0, 1.0)])
def test_an_axis_that_goes_nowhere_is_refused(ends):
    with pytest.raises(ValueError, match="goes upwards"):
        axis_ticks([], ends)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.1 + 0.2, "0.3"), (-0.5, "−0.5"), (-0.0, "0"), (2000, "2000"), (1e5, "100\u202f000")],
)
def test_how_numbers_are_written(value, text):
    assert tick_label(value) == text
