"""Changing how a study reviews."""

from __future__ import annotations

import pytest

from annotation.errors import InvalidInput
from annotation.models import AuditEvent, FlagSweep
from annotation.review import settings as review_settings
from annotation.review.flag_rules import FlagRules
from annotation.review.rules import ReviewSettings
from tests import factories

pytestmark = pytest.mark.django_db


def test_settings_and_rules_change_together_and_what_is_not_named_stays(study):
    researcher = factories.member(study, "researcher")
    review_settings.change_review_settings(
        study, actor=researcher, flags={"codes": {"min_raters": 2}}, undo_minutes=60
    )
    changed = review_settings.change_review_settings(
        study, actor=researcher, flags={"audit": {"on": True}}, claim_minutes=5
    )
    settings, rules = ReviewSettings.of(changed.rules), FlagRules.of(changed.rules)
    assert (settings.undo_minutes, settings.claim_minutes) == (60, 5)
    assert (rules["codes"]["min_raters"], rules["audit"].on) == (2, True)
    assert "listening" in changed.rules
    event = AuditEvent.objects.filter(action="study.changed", actor=researcher).latest("pk")
    assert event.data["review"]["claim_minutes"] == [30, 5]
    assert event.data["review"]["audit"][1]["on"] is True


def test_new_rules_are_applied_to_everything_and_other_settings_are_not(study):
    FlagSweep.objects.create(study=study, seen={"judgments": 5})
    review_settings.change_review_settings(
        study, actor=None, undo_minutes=60, flags={"codes": {"min_raters": 1}}
    )
    assert FlagSweep.objects.filter(study=study).exists()
    review_settings.change_review_settings(study, actor=None, flags={"codes": {"min_raters": 2}})
    assert not FlagSweep.objects.filter(study=study).exists()


def test_every_fault_is_named_and_nothing_changes(study):
    before = dict(study.rules)
    with pytest.raises(InvalidInput) as error:
        review_settings.change_review_settings(
            study, actor=None, flags={"codes": {"codes": ["X"]}}, undo_minutes=-1, claim_minutes=9
        )
    assert {problem.field for problem in error.value.problems} == {"flags.codes.codes", "undo_minutes"}
    study.refresh_from_db()
    assert study.rules == before
