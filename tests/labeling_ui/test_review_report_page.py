from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from django.test import TestCase
from django.urls import reverse

from analytics.reports import review_report
from analytics.reports.document import Table
from annotation.jobs import jobs
from annotation.models import Job
from annotation.models.people import Role
from tests.analytics.reviewed import reviewed
from tests.factories import member

ADDRESS = reverse("review_report", args=["s"])


class TestReport(TestCase):
    """A class, so that the study is written down once."""

    @classmethod
    def setUpTestData(cls) -> None:
        cls.world = reviewed(slug="s")
        cls.researcher = member(cls.world.study, Role.RESEARCHER)

    def setUp(self) -> None:
        self.client.force_login(self.researcher)

    def made(self) -> str:
        """Ask for a report, do the worker's part, and open it."""
        self.client.post(ADDRESS)
        jobs.run(Job.objects.get().pk)
        return self.client.get(ADDRESS).text

    def rows(self, title: str) -> list[tuple[object, ...]]:
        document = self.client.get(ADDRESS).context["document"]
        blocks = [block for section in document.sections for block in section.blocks]
        (table,) = [block for block in blocks if isinstance(block, Table) and block.caption == title]
        return [tuple(row) for row in table.rows]

    def test_opening_the_page_computes_nothing(self):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(review_report, "review_report", None)
            assert "Generate the report" in self.client.get(ADDRESS).text
        assert not Job.objects.exists()

    def test_it_is_made_once_however_often_the_button_is_pressed(self):
        self.client.post(ADDRESS)
        self.client.post(ADDRESS)
        assert Job.objects.count() == 1
        shown = self.client.get(ADDRESS).text
        assert 'hx-trigger="every 2s"' in shown

    def test_every_number_stands_with_its_definition(self):
        shown = self.made()
        document = self.client.get(ADDRESS).context["document"]
        tables = [
            block for section in document.sections for block in section.blocks if isinstance(block, Table)
        ]
        assert len(tables) >= 10
        assert all(table.notes for table in tables)
        assert "All ratings that can be compared are equal" in shown
        assert self.rows("Corrections by field") == [
            ("Question", 1, 1, 0, 0, 0),
            ("Reference answer", 1, 0, 1, 0, 0),
            ("Rationale", 0, 0, 0, 0, 1),
            ("All fields", 2, 1, 1, 0, 1),
        ]
        assert self.rows("Corrections by field and benchmark")[-1] == ("Items", 2, 2)
        agreement = {row[0]: row[2:] for row in self.rows("Agreement before and after")}
        assert agreement["Before the review"] == (4, 8)
        assert agreement["Set aside by the review"] == (2, 4)
        assert self.rows("Answers on which raters are far apart")[:2] == [
            ("variance by n, above 1", "all answers", 0.25, 0, 0),
            ("variance by n, above 1", "answers with two ratings or more", 0.25, 0, 0),
        ]
        assert self.rows("Systems") == [("system-1", 3, 6, 3.5, 4.0)]
        assert ("the expert said the same", "100.0\u00a0%") in self.rows("Experts before they saw the votes")
        assert "3 min" in shown

    def test_it_can_be_had_as_data_and_as_figures(self):
        self.made()
        data = self.client.get(reverse("review_report_data", args=["s"])).json()
        assert data["corrections"]["n"] == 2
        figure_url = reverse("review_report_figure", args=["s", "correctness"])
        assert f'href="{figure_url}"' in self.client.get(ADDRESS).text
        answer = self.client.get(figure_url)
        assert answer.headers["Content-Type"] == "image/svg+xml"
        assert ET.fromstring(answer.content).tag == "{http://www.w3.org/2000/svg}svg"
        assert self.client.get(reverse("review_report_figure", args=["s", "beauty"])).status_code == 404

    def test_without_a_report_there_is_no_data(self):
        assert self.client.get(reverse("review_report_data", args=["s"])).status_code == 404

    def test_a_report_that_failed_says_why_and_the_last_one_stays(self):
        self.made()
        Job.objects.create(
            kind="review_report", study=self.world.study, params={}, state="failed", message="Out of luck."
        )
        shown = self.client.get(ADDRESS).text
        assert "Out of luck." in shown
        assert "Corrections by field" in shown

    def test_the_job_leads_to_the_report(self):
        self.made()
        shown = self.client.get(reverse("job", args=[Job.objects.get().pk])).text
        assert ADDRESS in shown
