"""Setting up what comes before the rating; axe finds nothing serious. Raters walk it in tests/e2e/test_panels.py."""

from __future__ import annotations

import pytest

from annotation.checks import keys
from annotation.checks.expected import ExpectedAnswer
from annotation.onboarding import consent, onboarding_settings
from tests.e2e import studies
from tests.e2e.test_accessibility import check_widths
from tests.factories import member

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
AGE = {
    "key": "age",
    "texts": {"en": "How old are you?"},
    "required": True,
    "options": [{"key": key, "texts": {"en": key.title()}} for key in ("young", "old")],
}


@pytest.fixture
def study():
    study = studies.rating_study(tasks=2)
    task = study.tasks.order_by("pk").first()
    expected = [ExpectedAnswer("correctness", "5", tolerance=1, explanation={"en": "A bell is heard."})]
    keys.set_gold(study, task, expected, actor=None, kind="training")
    consent.publish_version(
        study, texts={"en": "We store **your votes**."}, reconsent="everybody", actor=None
    )
    return onboarding_settings.set_onboarding(
        study,
        actor=None,
        consent=True,
        guidelines=True,
        questions=[AGE],
        training={"required": True, "pass_mark": 1},
    )


def test_setting_it_up(looked_at, signed_in, study):
    signed_in(member(study, "researcher"))
    for address in ("", "preview/", f"training/{study.tasks.order_by('pk').first().pk}/"):
        looked_at.goto(f"/studies/{study.slug}/settings/before-rating/{address}")
        check_widths(looked_at)
