from __future__ import annotations

import io
import json

import pytest
from django.core.management import CommandError, call_command

from annotation.models import ReviewCase
from tests import factories
from tests.annotation.importing.reviewing import votes

pytestmark = pytest.mark.django_db


def typed(*arguments: str) -> str:
    out = io.StringIO()
    call_command("flag", *arguments, stdout=out)
    return out.getvalue()


def test_it_says_what_rules_find_and_then_opens_it():
    study = factories.StudyFactory(slug="answers")
    votes(factories.rating_task(study, "a"), 1, 5)
    assert "disagreement            1        1  a" in typed("answers", "--preview")
    assert not ReviewCase.objects.exists()
    assert json.loads(typed("answers", "--json"))["by_rule"] == {"disagreement": 1}
    assert typed("answers") == "0 cases opened (nothing new).\n"


def test_a_study_that_is_not_there_is_said_so():
    with pytest.raises(CommandError, match="nowhere"):
        typed("nowhere")
