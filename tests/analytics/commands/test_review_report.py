"""`manage.py review_report`, as typed."""

from __future__ import annotations

import json
from functools import partial

import pytest
from django.core.management import CommandError

from tests.analytics.reports import reading
from tests.analytics.reviewed import reviewed

pytestmark = pytest.mark.django_db
typed = partial(reading.typed, "review_report")


def test_it_prints_the_figures_of_the_paper_and_all_of_them_as_json():
    slug = reviewed().study.slug
    lines = [" ".join(line.split()) for line in typed(slug).splitlines()]
    for expected in (
        "Cases: 4",
        "Decisions undone: 1",
        "Items corrected: 1",
        "Reference answer 1 0 1 0 0",
        "Reference answer Qwen 1 0 0 0 0 1 100.0 %",
        "5 2 1",
        "the expert said the same 100.0 %",
        "judgments still wanted: 1",
    ):
        assert expected in lines
    assert json.loads(typed(slug, "--json"))["corrections"]["n"] == 2


def test_a_study_that_is_not_there_is_named():
    with pytest.raises(CommandError, match="no study with the address 'nowhere'"):
        typed("nowhere")
