from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.jobs import jobs
from annotation.models import Job
from tests.analytics.votes import vote
from tests.factories import StudyFactory, rating_task

pytestmark = pytest.mark.django_db


def test_starting_an_export_leads_to_its_job(signed_in, researcher):
    answer = signed_in.post(reverse("export", args=["s"]), {"format": "csv", "texts": "original"})
    job = Job.objects.get()
    assert answer.url == reverse("job", args=[job.pk])
    assert (job.kind, job.params, job.created_by) == (
        "export",
        {"format": "csv", "texts": "original"},
        researcher,
    )


def test_an_unknown_format_starts_nothing(signed_in):
    answer = signed_in.post(reverse("export", args=["s"]), {"format": "xls", "texts": "both"})
    assert list(answer.context["form"].errors) == ["format"]
    assert not Job.objects.exists()


@pytest.mark.django_db(transaction=True)  # the job reports its progress over a connection of its own
def test_a_finished_export_can_be_downloaded_from_its_page_and_the_list(signed_in, study):
    vote(rating_task(study, "one"), 3)
    signed_in.post(reverse("export", args=["s"]), {"format": "jsonl", "texts": "both"})
    job = Job.objects.get()
    jobs.run(job.pk)
    file = reverse("api_export_file", args=[job.pk])
    assert file in signed_in.get(reverse("job", args=[job.pk])).text
    assert file in signed_in.get(reverse("export", args=["s"])).text
    assert signed_in.get(file).headers["Content-Type"] == "application/zip"


def test_exports_of_other_studies_and_cancelled_ones_are_not_listed(signed_in, study):
    Job.objects.create(kind="export", study=StudyFactory(), params={"format": "jsonl"}, state="done")
    Job.objects.create(kind="export", study=study, params={"format": "jsonl"}, state="cancelled")
    assert "There are none yet." in signed_in.get(reverse("export", args=["s"])).text
