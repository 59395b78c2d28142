"""FENSE's votes (blmoistawinde/fense, branch experiment-code), from their files through the product's import to its
agreement. What the votes come to without the product is in test_fense.py."""

from __future__ import annotations

import io
import json

import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import TestCase

from annotation.models import Answer, Item, Study
from tests.reference.imported import imported

FOLDER = settings.REFERENCE_DATA / "fense"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no FENSE votes in {FOLDER}; set CONCORD_REFERENCE_DATA"),
]


def better(study: Study) -> dict:
    out = io.StringIO()
    call_command("agreement", study.slug, "--json", "--verify", stdout=out)
    return json.loads(out.getvalue())["questions"]["better"]


class TestAudioCapsEval(TestCase):
    """A class, so that they are imported once."""

    @classmethod
    def setUpTestData(cls) -> None:
        cls.study = imported(FOLDER / "audiocaps_eval.json", format="fense")

    def test_alpha(self):
        found = better(self.study)
        assert (found["level"], round(found["alpha"], 3)) == ("nominal", 0.492)
        assert (found["units"], found["ratings"], found["raters"]) == (1671, 6684, None)
        assert round(found["percent_agreement"], 3) == 0.758
        assert found["verify"]["difference"] < 1e-12

    def test_votes_keep_their_side_and_pairs_their_category(self):
        votes = Answer.objects.filter(judgment__study=self.study)
        counts = [votes.filter(choice=choice).count() for choice in (1, 2, 3)]
        assert counts == [4590, 1327, 767]
        tasks = Item.objects.filter(study=self.study, strata__category="MM")
        assert tasks.values("versions__tasks").count() == 921
        assert self.study.state == Study.State.CLOSED


class TestClothoEval(TestCase):
    @classmethod
    def setUpTestData(cls) -> None:
        cls.study = imported(FOLDER / "clotho_eval.json", format="fense")

    def test_alpha(self):
        found = better(self.study)
        assert (found["level"], round(found["alpha"], 3)) == ("nominal", 0.332)
        assert (found["units"], found["ratings"], found["raters"]) == (1750, 7000, None)
        assert found["verify"]["difference"] < 1e-12
