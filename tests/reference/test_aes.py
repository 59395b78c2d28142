"""Audiobox Aesthetics' ratings of PAM's clips (arXiv 2502.05139), from their released file to the product's agreement.

No paper states these alphas: they are the file's, computed once apart from this code; ours must agree with them and
with the krippendorff package.
"""

from __future__ import annotations

import io
import json

import pandas as pd
import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import TestCase

from annotation.importing.formats.aes import AXES
from annotation.models import Study, System
from tests.reference.imported import imported
from tests.reference.report_tables import rating_tables

FILE = settings.REFERENCE_DATA / "aes_pam" / "AES_PAM.jsonl"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not FILE.is_file(), reason=f"there is no {FILE}; set CONCORD_REFERENCE_DATA"),
]


class TestReleasedRatings(TestCase):
    """A class, so that they are imported once."""

    @classmethod
    def setUpTestData(cls) -> None:
        cls.study = imported(FILE, format="aes")

    def test_alpha_of_each_axis(self):
        out = io.StringIO()
        call_command("agreement", self.study.slug, "--json", "--verify", stdout=out)
        found = json.loads(out.getvalue())["questions"]
        assert {key: round(one["alpha"], 3) for key, one in found.items()} == {
            "production_quality": 0.298,
            "production_complexity": 0.361,
            "content_enjoyment": 0.440,
            "content_usefulness": 0.303,
        }
        for one in found.values():
            assert (one["level"], one["units"], one["ratings"]) == ("interval", 1000, 10_000)
            assert (one["raters"], one["unnamed_raters"]) == (None, True)
            assert one["verify"]["difference"] < 1e-12

    def test_the_study_is_finished_and_has_five_systems_to_each_of_two_hundred_texts(self):
        assert self.study.state == Study.State.CLOSED
        assert (self.study.n_items, self.study.n_tasks) == (200, 1000)
        assert System.objects.filter(study=self.study).count() == 9

    def test_the_report_says_of_systems_what_pandas_finds_in_the_file(self):
        given = pd.read_json(FILE, lines=True)
        given["system"] = given.data_path.str.split("/").str[-2]
        given["text"] = given.data_path.str.split("/").str[-1]
        for column in ("Production_Quality", "Content_Enjoyment"):
            long = given[["system", "text", column]].explode(column).astype({column: float})
            *systems, everything = rating_tables(self.study, AXES[column])["systems"]
            expected = long.groupby("system")[column].agg(["mean", "count", "std", "median"])
            assert [row["system"] for row in systems] == list(
                expected.sort_values("mean", ascending=False).index
            )
            for row in systems:
                own = expected.loc[row["system"]]
                found = (row["mean"].value, row["ratings"], row["sd"], row["median"])
                assert found == pytest.approx((own["mean"], own["count"], own["std"], own["median"]))
                assert row["mean"].low < own["mean"] < row["mean"].high
            assert everything["mean"].value == pytest.approx(long[column].mean())
