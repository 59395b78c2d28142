from __future__ import annotations

from xml.etree import ElementTree

from analytics.reports.render.win_matrix import MatrixCell, win_matrix

NAMES = ["Aria <1>", "Brook", "Cello"]
CELLS = {(0, 1): MatrixCell(0.75, 1200), (1, 0): MatrixCell(0.25, 1200)}


def texts(drawing: str) -> list[str]:
    svg = "{http://www.w3.org/2000/svg}"
    return ["".join(text.itertext()) for text in ElementTree.fromstring(drawing).iter(f"{svg}text")]


def test_every_share_is_printed_with_its_votes():
    found = texts(win_matrix("Wins", NAMES, CELLS))
    assert [found.count(printed) for printed in ("75", "25", "n 1,200")] == [1, 1, 2]
    assert "1 Aria <1>" in found


def test_a_pair_without_votes_stays_empty():
    assert win_matrix("Wins", NAMES, {}).count('class="ahead"') == 0
    assert win_matrix("Wins", NAMES, CELLS).count('class="ahead"') == 2


def test_many_systems_leave_no_room_for_votes():
    names = [f"S{n}" for n in range(30)]
    found = texts(win_matrix("Wins", names, CELLS))
    assert "75" in found
    assert not [text for text in found if text.startswith("n ")]


def test_nothing_to_show_is_still_a_picture():
    picture = ElementTree.fromstring(win_matrix("Wins", [], {}))
    assert picture.attrib["aria-label"] == "Wins"
