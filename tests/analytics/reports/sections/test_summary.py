"""The report's first page: in plain words what the sections say; and nothing in a report is empty."""

from __future__ import annotations

import pytest

from analytics.reports.document import Column, Figure, Measured, Paragraph, Section, Table
from analytics.reports.sections.material import ReportSettings
from analytics.reports.sections.summary import without_empty_blocks
from analytics.reports.study_report import study_report
from annotation.models import Study
from tests.analytics.votes import vote
from tests.factories import StudyFactory, rater, rating_task


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("language", "words"),
    [("en", ["How correct is the answer?", "4 of 4 judgments count", "s-good 4.50", "Krippendorff’s alpha is"]),
     ("zh-hans", ["这个回答有多正确？", "4 个判断中计入 4 个", "s-good 4.50", "克里彭多夫"])],
)  # fmt: skip
def test_the_first_section_says_what_was_asked_of_how_much_and_what_came_of_it(language, words):
    study = StudyFactory(overlap=4)
    raters = [rater(study), rater(study)]
    for system, values in (("s-good", (4, 5)), ("s-poor", (1, 2))):
        task = rating_task(study, system, system=system)
        for one, value in zip(raters, values, strict=True):
            vote(task, value, rater=one)
    study = Study.objects.get(pk=study.pk)
    document = study_report(study, ReportSettings(), language=language, progress=lambda _done: None)
    first = document.sections[0]
    text = "\n".join(block.text for block in first.blocks)
    assert first.key == "summary"
    assert [word for word in words if word not in text] == []
    # Read off the sections, so equal data give equal words.
    assert document == study_report(study, ReportSettings(), language=language, progress=lambda _done: None)


@pytest.mark.django_db
def test_a_study_without_votes_has_a_summary_and_no_empty_block():
    study = StudyFactory()
    document = study_report(study, ReportSettings(), language="en", progress=lambda _done: None)
    assert "0 of 0 judgments count" in document.sections[0].blocks[0].text
    assert without_empty_blocks(document.sections) == list(document.sections)


def test_empty_tables_figures_and_sections_are_left_out():
    column = Column("a", "A", "number")
    full = Table("full", "", (column,), [(Measured(1.0),)])
    axes = Figure("axes", "", '<svg><line class="axis"/></svg>')
    drawn = Figure("drawn", "", '<svg><circle r="2"/></svg>')
    sections = [
        Section("one", "One", [Table("none", "", (column,), []), full, axes, drawn, Paragraph(" ")]),
        Section("two", "Two", [axes]),
    ]
    assert without_empty_blocks(sections) == [Section("one", "One", [full, drawn])]
