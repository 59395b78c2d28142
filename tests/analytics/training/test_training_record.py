"""Which release the votes that a version learned from are in."""

from __future__ import annotations

import pytest
from django.db.models import Max

from analytics.models import Release
from analytics.training.run import release_with
from annotation.models import Judgment, Study
from tests.analytics import learning

pytestmark = pytest.mark.django_db


def released(study: Study, *, number: int, last: int) -> None:
    manifest = {"cut": {"horizon": {"judgments": last}}}
    Release.objects.create(study=study, number=number, manifest=manifest, sha256=f"{number}" * 64)


def test_the_newest_release_is_told_where_it_has_all_votes():
    study = learning.music(prompts=3)
    last = Judgment.objects.filter(study=study).aggregate(last=Max("pk"))["last"]
    assert release_with(study) is None
    released(study, number=1, last=last)
    released(study, number=2, last=last + 7)
    assert release_with(study) == {"number": 2, "sha256": "2" * 64}


def test_a_release_that_lacks_votes_is_none():
    study = learning.music(prompts=3)
    last = Judgment.objects.filter(study=study).aggregate(last=Max("pk"))["last"]
    released(study, number=1, last=last - 1)
    assert release_with(study) is None
