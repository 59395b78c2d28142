"""`manage.py review_report`, as typed."""

from __future__ import annotations

import io
import json

import pytest
from django.core.management import CommandError, call_command

from tests.analytics.reviewed import reviewed

pytestmark = pytest.mark.django_db


def typed(*arguments: str) -> str:
    out = io.StringIO()
    call_command("review_report", *arguments, stdout=out)
    return out.getvalue()


def test_it_prints_the_figures_of_the_paper_and_all_of_them_as_json():
    slug = reviewed().study.slug
    said = typed(slug)
    for expected in (
        "Cases: 4 (1 corrected, 1 fine, 1 withdrawn); decisions undone: 1",
        "Corrections: 2 in 1 items; undone: 1",
        "  reference: 1 (1 draft)",
        "  drafts of reference by Qwen: 100.0 % of 1 settled accepted unedited",
        "  5: 2 before, 1 now",
        "the same as the raters' majority in 1 of 1",
        "Judged anew: 1 tasks on corrected texts, 2 judgments, 1 still wanted",
    ):
        assert expected in said
    assert json.loads(typed(slug, "--json"))["corrections"]["n"] == 2


def test_a_study_that_is_not_there_is_named():
    with pytest.raises(CommandError, match="no study with the address 'nowhere'"):
        typed("nowhere")
