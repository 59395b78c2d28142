"""Drawings: how high bars are, where points, lines and bands lie, and what is written in and beside them."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET

import pytest

from analytics.reports.render.bars import paired_bars, stacked_bars, value_bars
from analytics.reports.render.interval_plot import Block, Point, interval_plot
from analytics.reports.render.line_plot import WIDTH, Line, axis_ticks, line_plot, tick_label
from analytics.reports.render.win_matrix import MatrixCell, win_matrix

SVG = "{http://www.w3.org/2000/svg}"


def texts(picture: ET.Element) -> list[str]:
    return ["".join(text.itertext()) for text in picture.iter(f"{SVG}text")]


def of_class(picture: ET.Element, name: str) -> list[ET.Element]:
    return [element for element in picture.iter() if name in element.get("class", "").split()]


def numbers(elements: list[ET.Element], name: str) -> list[float]:
    return [float(element.get(name)) for element in elements]


# Bars.


def paired(
    rows: list[tuple[str, int, int]], names: tuple[str, str] = ("Before", "After & now")
) -> ET.Element:
    return ET.fromstring(paired_bars("Ratings <1–5>", names, rows))


def single(rows: list[tuple[str, int]]) -> ET.Element:
    return ET.fromstring(value_bars("Ratings & <more>", rows))


def stacked(values: list[str], rows: list[tuple[str, list[int]]]) -> ET.Element:
    return ET.fromstring(stacked_bars("Shares <1–5>", values, rows))


def bars(picture: ET.Element) -> list[ET.Element]:
    """Without the legend's, which have no title."""
    return [bar for bar in picture.iter(f"{SVG}rect") if bar.find(f"{SVG}title") is not None]


def test_bars_are_as_high_as_their_counts_and_counts_stand_on_them():
    picture = paired([("1", 1000, 500), ("2", 250, 0)])
    first, second, third, nothing = numbers(bars(picture), "height")
    assert first == 2 * second == 4 * third > nothing == 0
    assert {"Before", "After & now", "1", "2", "1,000", "500", "250", "0"} == set(texts(picture))
    picture = single([("1", 1000), ("2", 250), ("3", 0)])
    first, second, nothing = numbers(bars(picture), "height")
    assert first == 4 * second > nothing == 0
    assert set(texts(picture)) == {"1", "2", "3", "1,000", "250", "0"}


def test_many_long_labels_are_thinned_out():
    rows = [(f"{10 * n} – {10 * n + 10}", n, n) for n in range(10)]
    assert texts(paired(rows))[2:] == ["0 – 10", "20 – 30", "40 – 50", "60 – 70", "80 – 90"]


def test_nothing_counted_is_drawn_flat():
    assert numbers(bars(paired([("1", 0, 0)])), "height") == [0, 0]
    assert numbers(bars(single([("1", 0)])), "height") == [0]
    assert paired([]).tag == single([]).tag == f"{SVG}svg"


@pytest.mark.parametrize(
    ("names", "places"),
    [(("Before", "After"), {"15"}), (("Which follows the instruction better?", "B"), {"15", "33"})],
)
def test_a_long_name_in_the_legend_pushes_the_other_below_it(names, places):
    picture = paired([("1", 2, 3)], names)
    assert {text.get("y") for text in picture.iter(f"{SVG}text") if text.text in names} == places


def test_pieces_are_as_long_as_their_shares_and_go_from_light_to_dark_so_that_they_read_without_colour():
    pieces = bars(stacked(["1", "2", "3"], [("alto", [1, 1, 2])]))
    one, two, three = numbers(pieces, "width")
    assert (two, three) == pytest.approx((one, 2 * one), abs=0.2)
    start, then, _last = numbers(pieces, "x")
    assert then == pytest.approx(start + one, abs=0.2)
    assert pieces[0].find(f"{SVG}title").text == "1: 1"
    light, middle, dark = numbers(pieces, "fill-opacity")
    assert light < middle < dark


def test_names_counts_and_shares_are_written_where_they_fit():
    rows = [("a system with a very, very long name", [1, 99]), ("none", [0, 0])]
    picture = stacked(["bad & worse", "good"], rows)
    written = texts(picture)
    assert {"bad & worse", "good", "n = 100", "n = 0", "99 %", "none"} <= set(written)
    assert any(one.startswith("a system") and one.endswith("…") for one in written)
    assert "1 %" not in written
    assert len(bars(picture)) == 2


# Points with intervals.


def points(*drawn: Point) -> ET.Element:
    return ET.fromstring(interval_plot("Title", [Block("Heading", drawn)]))


def test_a_point_lies_within_its_interval_and_the_scale():
    picture = points(Point("one", 0.45, 0.4, 0.5, "0.450"), Point("two", 0.3, 0.2, 0.4, "0.300"))
    first, second = numbers(of_class(picture, "point"), "cx")
    (low, _), (high, _) = (numbers(of_class(picture, "range"), end) for end in ("x1", "x2"))
    assert low < first < high
    assert second < first
    ticks = [text for text in texts(picture) if text.startswith("0.") and len(text) <= 4]
    assert (ticks[0], ticks[-1]) == ("0.2", "0.5")


def test_the_scale_reaches_below_zero_with_a_real_minus():
    assert "−0.2" in texts(points(Point("one", -0.1, -0.15, 0.3, "−0.100")))


@pytest.mark.parametrize("value", [0.0, 0.5, -3.0, 12.0])
def test_one_value_alone_still_has_a_scale(value):
    (x,) = numbers(of_class(points(Point("one", value, None, None, "x")), "point"), "cx")
    assert 0 <= x <= 720


def test_what_is_not_defined_has_a_name_and_no_point():
    picture = points(Point("one", None, None, None, "–"))
    assert not of_class(picture, "point")
    assert texts(picture)[-2:] == ["one", "–"]


# Lines with bands.


def lines(*drawn: Line, **options) -> ET.Element:
    return ET.fromstring(line_plot("Title", drawn, **{"x_label": "Votes", "y_label": "Share", **options}))


def corners(shape: ET.Element) -> list[tuple[float, float]]:
    return [tuple(map(float, corner.split(","))) for corner in shape.get("points").split()]


def test_a_line_rises_to_the_right_within_its_band():
    picture = lines(Line("one", [(0, 0.2, 0.1, 0.3), (100, 0.6, 0.5, 0.8)]))
    (start, end) = corners(of_class(picture, "line")[1])
    assert start[0] < end[0] <= WIDTH
    assert start[1] > end[1]
    high_start, high_end, low_end, low_start = corners(of_class(picture, "band")[0])
    assert high_start[1] < start[1] < low_start[1]
    assert high_end[1] < end[1] < low_end[1]


def test_a_band_is_drawn_only_where_it_has_both_ends():
    drawn = [(0, 1, 0, 2), (1, 1, 0, 2), (2, 1, None, None), (3, 1, 0, None), (4, 1, 0, 2), (5, 1, 0, 2)]
    assert [len(corners(band)) for band in of_class(lines(Line("one", drawn)), "band")] == [4, 4]


def test_axes_end_on_round_numbers_around_everything_drawn():
    picture = lines(Line("one", [(3, 0.23, 0.11, 0.3), (97, 0.5, 0.4, 0.71)]))
    ticks = [text.text for text in of_class(picture, "soft")]
    assert ticks[:8] == ["0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8"]
    assert ticks[-3:] == ["100", "Votes", "Share"]


def test_a_given_range_holds_and_what_lies_beyond_stays_at_its_end():
    picture = lines(Line("one", [(0, 0.5, None, None), (2, 7, None, None)]), x_range=(0, 1), y_range=(0, 1))
    highest = min(of_class(picture, "tick"), key=lambda line: float(line.get("y1")))
    top_right = float(highest.get("x2")), float(highest.get("y1"))
    assert corners(of_class(picture, "line")[1])[1] == top_right


def test_lines_differ_in_their_marks_and_a_reference_line_in_its_dashes():
    up, down = [(0, 0, None, None), (1, 1, None, None)], [(0, 1, None, None), (1, 0, None, None)]
    picture = lines(Line("one", up), Line("two", down), Line("ideal", up, dashed=True))
    groups = [group for group in picture.iter(f"{SVG}g") if group.find(f"{SVG}title") is not None]
    kinds = [[mark.tag.removeprefix(SVG) for mark in of_class(group, "mark")] for group in groups]
    assert kinds == [["circle", "circle"], ["rect", "rect"], []]
    assert len(of_class(picture, "dashed")) == 2  # the line and its swatch


def test_a_line_of_many_points_has_few_marks():
    assert len(of_class(lines(Line("one", [(n, n, None, None) for n in range(1000)])), "mark")) <= 13


def test_long_names_go_below_each_other():
    names = [
        "a fairly long name of a line",
        "another fairly long name of a line",
        "评分员人数与票数的关系曲线说明文字",
    ]
    picture = lines(*(Line(name, [(0, 0, None, None)]) for name in names))
    placed = {text.text: float(text.get("y")) for text in picture.iter(f"{SVG}text")}
    assert placed[names[0]] < placed[names[1]] <= placed[names[2]]


@pytest.mark.parametrize("drawn", [[], [(5, 5, None, None)], [(0, 0, 0, 0)]])
def test_next_to_nothing_still_has_axes(drawn):
    assert len(of_class(lines(Line("one", drawn)), "tick")) >= 2


@pytest.mark.parametrize("strange", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_not_drawn(strange):
    with pytest.raises(ValueError, match="'one' cannot be drawn"):
        lines(Line("one", [(0, 1, strange, 2)]))


def test_names_are_text_and_nothing_else():
    picture = points(Point("<script>&", 0.5, None, None, "0.5"), Point("x" * 80, 0.5, None, None, "0.5"))
    assert {"<script>&", "x" * 37 + "…"} <= set(texts(picture))
    picture = lines(Line("<script>&", [(0, 0, None, None)]), x_label="<x>", y_label="&y")
    assert {"<script>&", "<x>", "&y"} <= set(texts(picture))


@pytest.mark.parametrize("width", [1e-6, 0.3, 1, 7, 100, 12_345, 3e9])
def test_an_axis_has_a_few_round_numbers(width):
    axis = axis_ticks([0, width], None)
    assert 2 <= len(axis.ticks) <= 8
    assert axis.start <= 0
    assert axis.end >= width * (1 - 1e-9)


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


# Win matrices.

NAMES = ["Aria <1>", "Brook", "Cello"]
CELLS = {(0, 1): MatrixCell(0.75, 1200), (1, 0): MatrixCell(0.25, 1200)}


def matrix(names: list[str], cells: dict[tuple[int, int], MatrixCell]) -> ET.Element:
    return ET.fromstring(win_matrix("Wins", names, cells))


def test_every_share_is_printed_with_its_votes_and_a_pair_without_votes_stays_empty():
    written = texts(matrix(NAMES, CELLS))
    assert [written.count(printed) for printed in ("75", "25", "n 1,200")] == [1, 1, 2]
    assert "1 Aria <1>" in written
    assert [len(of_class(matrix(NAMES, cells), "ahead")) for cells in ({}, CELLS)] == [0, 2]


def test_many_systems_leave_no_room_for_votes():
    written = texts(matrix([f"S{n}" for n in range(30)], CELLS))
    assert "75" in written
    assert not [text for text in written if text.startswith("n ")]


def test_nothing_to_show_is_still_a_picture():
    assert matrix([], {}).attrib["aria-label"] == "Wins"
