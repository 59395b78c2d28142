from __future__ import annotations

import re
from dataclasses import replace

import pytest

from analytics.reports.document import Column, Table
from analytics.reports.render.html import render_part, render_standalone
from tests.analytics.reports.render.documents import TABLE, document


def text(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def long_table(n: int) -> Table:
    return replace(TABLE, columns=(Column("n", "N", "count"),), rows=[(row,) for row in range(n)])


def test_a_file_asks_for_nothing_from_anywhere():
    made = render_standalone(document())
    assert "<script" not in made
    assert "<link" not in made
    assert "url(" not in made
    assert set(re.findall(r"https?://[^\s\"<)]+", made)) == {"http://www.w3.org/2000/svg"}


def test_a_file_brings_its_style_for_the_screen_and_for_paper():
    style = re.search(r"<style>(.*?)</style>", render_standalone(document()), re.DOTALL)
    assert style
    for rule in (
        "@page",
        "@media print",
        "screen and (prefers-color-scheme: dark)",
        ".interval-plot",
        ".paper-table",
    ):
        assert rule in style[1]


def test_what_people_typed_is_text():
    made = render_standalone(document())
    assert "<title>Report: a &lt;b&gt;</title>" in made
    assert "Two systems &lt; three." in made


def test_values_intervals_and_reasons_stand_in_the_table():
    made = render_standalone(document())
    assert "Table 1. Strengths of 2 systems &amp; more" in text(made)
    assert '<th scope="col" class="number" colspan="2">Strength</th>' in made
    assert '<td class="number">0.00</td><td class="number spread">[−0.50, 0.25]</td>' in made
    assert '<td class="number">–<sup>a</sup></td><td class="number spread"></td>' in made
    assert '<p class="paper-note"><sup>a</sup> Nobody voted.</p>' in made
    assert '<p class="paper-note"><sup>b</sup> Only one cluster.</p>' in made
    assert '<p class="paper-warning">Not enough.</p>' in made


def test_tables_and_figures_are_numbered_through_the_document():
    other = replace(TABLE, key="other", caption="Others")
    made = text(render_standalone(document(TABLE, other)))
    assert "Table 2. Others" in made
    assert "Figure 1. Strengths" in made


def test_in_chinese_the_words_around_are_chinese():
    assert "Table 1" not in text(render_standalone(replace(document(), language="zh-hans")))


def test_a_page_links_the_files_and_cuts_long_tables():
    made = render_part(
        document(long_table(8)), address=lambda key, extension: f"/f/{key}.{extension}", most_rows=5
    )
    assert re.findall(r'href="(/f/[^"]+)"', made) == ["/f/strengths.csv", "/f/strengths.tex", "/f/plot.svg"]
    assert made.count("<tr>") == 1 + 5
    assert "3 more rows are in the files." in made


def test_a_file_has_every_row_and_no_links():
    made = render_standalone(document(long_table(80)))
    assert made.count("<tr>") == 1 + 80
    assert "more rows" not in made
    assert not re.findall(r'href="[^#]', made)


@pytest.mark.parametrize(("rows", "classes"), [(30, "paper-table whole"), (31, "paper-table ")])
def test_a_table_that_fits_on_a_page_stays_on_one(rows, classes):
    assert f'class="{classes}"' in render_standalone(document(long_table(rows)))


def test_a_table_that_needs_small_print_gets_it():
    wide = replace(
        TABLE, columns=[Column(f"c{n}", f"Column {n}") for n in range(12)], rows=[("a long name",) * 12]
    )
    assert 'class="paper-table whole wide"' in render_standalone(document(wide))
    assert 'class="paper-table whole"' in render_standalone(document(TABLE))
