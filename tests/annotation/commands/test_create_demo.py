"""The demo: made through the product's own import, known truth kept out of it, harmless to repeat."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management import call_command

from annotation import demo
from annotation.demo import write
from annotation.management.commands import create_demo
from annotation.models import Judgment, Membership, Rater, ReviewCase, Study, Task, User
from annotation.models.people import Role
from annotation.rating import leases

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture
def small_demo(monkeypatch):
    """Six prompts and five questions instead of all."""
    monkeypatch.setattr(
        create_demo, "write_demo", lambda folder: write.write_demo(Path(folder), prompts=6, questions=5)
    )
    call_command("create_demo")


def test_it_is_ready_for_every_role_and_harmless_to_repeat(small_demo):
    # One test, since making the demo takes seconds.
    check_studies_run_and_wait_for_judgments()
    check_raters_are_marked_as_simulated()
    check_every_role_has_an_account_in_both_studies()
    check_the_annotator_can_start_at_once()
    check_experts_find_cases_in_both_studies()
    counted = (Study, Task, Judgment, User, Membership, ReviewCase)
    before = [model.objects.count() for model in counted]
    call_command("create_demo")
    assert [model.objects.count() for model in counted] == before


def check_studies_run_and_wait_for_judgments() -> None:
    for study in Study.objects.all():
        assert study.state == Study.State.RUNNING
        assert study.tasks.filter(wants_more=True).exists()
        assert Judgment.objects.filter(study=study).exists()
    assert set(Study.objects.values_list("slug", flat=True)) == {"demo-music", "demo-audio-qa"}


def check_raters_are_marked_as_simulated() -> None:
    imported = Rater.objects.exclude(external_id="")
    assert set(imported.values_list("origin", flat=True)) == {Rater.Origin.SIMULATED}


def check_every_role_has_an_account_in_both_studies() -> None:
    for role in demo.DEMO_ROLES:
        user = User.objects.get(email=demo.demo_email(role))
        assert user.check_password(demo.DEMO_PASSWORD)
        assert list(Membership.objects.filter(user=user).values_list("role", flat=True)) == [role, role]
    assert set(demo.DEMO_ROLES) == set(Role.values)


def check_the_annotator_can_start_at_once() -> None:
    user = User.objects.get(email=demo.demo_email("annotator"))
    for slug in ("demo-music", "demo-audio-qa"):
        assert leases.lease_next(user, slug)[1] is not None


def check_experts_find_cases_in_both_studies() -> None:
    for slug in ("demo-music", "demo-audio-qa"):
        assert ReviewCase.objects.filter(study__slug=slug, task__isnull=False).exists()
