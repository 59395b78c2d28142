"""A study's tabs: in their order, the current one marked, and no tab without its page."""

from __future__ import annotations

import pytest
from django.urls import resolve

from labeling_ui.study import navigation


def tabs(rf, path, *, reviews_only=False):
    request = rf.get(path)
    request.resolver_match = resolve(path)
    groups = navigation.study_tabs(request, "s", reviews_only=reviews_only)
    return [[str(link.title) for link in links] for links in groups], [
        str(link.title) for links in groups for link in links if link.is_current
    ]


def test_daily_work_comes_first_and_setting_up_second(rf):
    (work, setup), current = tabs(rf, "/studies/s/")
    assert [title for title in work if title != "Data"] == [
        "Overview",
        "Raters",
        "Review",
        "Report",
        "Models",
    ]
    assert [title for title in setup if title != "Questions"] == ["Import", "People", "Export", "Settings"]
    assert current == ["Overview"]


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("/studies/s/review/report/", "Review"),
        ("/studies/s/review/rules/", "Settings"),
        ("/studies/s/releases/", "Export"),
        ("/studies/s/raters/R-1/", "Raters"),
        ("/studies/s/settings/listening/", "Settings"),
        ("/studies/s/writers/", "Models"),
    ],
)
def test_a_page_below_a_tab_marks_it(rf, path, title):
    assert tabs(rf, path)[1] == [title]


def test_an_expert_who_does_not_manage_has_the_review_alone(rf):
    assert tabs(rf, "/studies/s/review/", reviews_only=True) == ([["Review"]], ["Review"])
