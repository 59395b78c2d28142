"""Releases and withdrawals on the study's pages."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.jobs import jobs
from annotation.models import Job, Judgment, Rater, RaterWithdrawal, Study, Task
from tests import factories
from tests.annotation.importing.reviewing import vote
from tests.labeling_ui.cases import released

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return factories.StudyFactory(slug="here")


@pytest.fixture
def researcher(study, client):
    user = factories.member(study, "researcher")
    client.force_login(user)
    return user


def test_a_release_is_asked_for_with_what_its_card_is_to_say(client, study, researcher):
    form = {"note": "for the paper", "audio": "", "license": "cc-by-4.0", "language": "en, zh"}
    answer = client.post(reverse("releases", args=["here"]), form)
    job = Job.objects.get(kind="release")
    assert answer["Location"] == reverse("job", args=[job.pk])
    assert (job.params["language"], job.params["license"], job.created_by) == (
        ["en", "zh"],
        "cc-by-4.0",
        researcher,
    )
    again = client.post(reverse("releases", args=["here"]), form)
    assert "is being made" in again.text


def test_a_release_says_what_it_holds_and_what_is_other(client, study, researcher):
    told = {"since": 0, "tables": {"judgments": {"removed": {"rows": 4, "why": {"rater withdrawn": 4}}}}}
    released(study, differences={**told, "since": 7})
    page = client.get(reverse("release", args=["here", 1])).text
    for text in ("for the paper", "ab" * 32, "Excluded: careless", "rater withdrawn (4)", "release 7"):
        assert text in page
    assert "Superseded" not in page


def test_one_that_could_not_be_compared_does_not_look_like_the_first(client, study, researcher):
    released(study, differences={"since": 7, "unknown": "no_file"})
    page = client.get(reverse("release", args=["here", 1])).text
    assert "release 7" in page
    assert "Not known: that release had no file any more" in page
    assert "the same rows" not in page


def test_one_whose_rater_has_withdrawn_is_marked_wherever_it_is_named(client, study, researcher):
    released(study)
    gone = Rater.objects.create(study=study, pseudonym="R-GONE", state="withdrawn")
    RaterWithdrawal.objects.create(rater=gone, mode="removed")
    for page in (reverse("releases", args=["here"]), reverse("release", args=["here", 1])):
        assert "Superseded" in client.get(page).text
    assert "Release 1" in client.get(reverse("withdraw_rater", args=["here", "R-GONE"])).text


def test_nobody_is_withdrawn_by_accident_and_who_is_has_a_certificate(client, study, researcher):
    rater = Rater.objects.create(study=study, pseudonym="R-HERE")
    vote(factories.rating_task(study, "one"), 4, rater=rater)
    Task.objects.update(n_judgments=1)
    address = reverse("withdraw_rater", args=["here", "R-HERE"])
    assert "cannot be undone" in client.get(address).text
    client.post(address, {"mode": "removed"})
    assert not RaterWithdrawal.objects.exists()
    client.post(address, {"mode": "removed", "note": "by letter", "sure": "on"})
    assert "still being taken out" in client.get(address).text
    promised = reverse("api_withdrawal_certificate", args=["here", "R-HERE"])
    assert client.get(promised).status_code == 409
    assert "/cancel/" not in client.get(reverse("job", args=[Job.objects.get().pk])).text
    jobs.run(Job.objects.get(kind="withdraw_rater").pk)
    page = client.get(address).text
    assert "by letter" in page
    assert "still being taken out" not in page
    assert Judgment.objects.get().excluded
    certificate = client.get(promised).json()
    assert certificate["left_the_figures"] == {"judgments": 1, "answers": 1, "listening_checks": 0}
    assert certificate == client.get(promised).json()


def test_the_finished_job_names_its_tables_whatever_they_are_called(client, study, researcher):
    report = {"release": released(study).number, "rows": {"judgments": 3, "items": 1234}}
    job = Job.objects.create(kind="release", study=study, params={}, state="done", report=report)
    page = client.get(reverse("job", args=[job.pk])).text
    assert "<code>items</code>" in page
    assert "1,234" in page
