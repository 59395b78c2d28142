"""Reports over HTTP."""

from __future__ import annotations

import pytest
from django.utils import timezone

from analytics.reports.document import document_json
from annotation.models import Job
from tests.analytics.reports.render.documents import document

pytestmark = pytest.mark.django_db


def test_before_the_first_report_there_is_none(api, world):
    found = api(world.researcher).get("studies/here/report/").json()
    assert found == {"computed_at": None, "settings": None, "document": None}


def test_the_last_report_is_had_as_data(api, world):
    fields = {
        "report": document_json(document()),
        "params": {"seed": 3},
        "state": "done",
        "finished_at": timezone.now(),
    }
    Job.objects.create(kind="report", study=world.study, **fields)
    found = api(world.admin).get("studies/here/report/").json()
    assert found["settings"] == {"seed": 3}
    assert [one["key"] for one in found["document"]["sections"]] == ["preferences", "methods"]


def test_one_can_be_asked_for_with_its_settings(api, world):
    answer = api(world.researcher).post("studies/here/report/", {"interval": "units", "seed": 5})
    assert (answer.status_code, answer.json()["state"]) == (202, "queued")
    params = {"interval": "units", "replicates": 1000, "seed": 5, "language": "en"}
    assert Job.objects.get(pk=answer.json()["job"]).params == params


@pytest.mark.parametrize("asked", [{"interval": "normal"}, {"seed": -1}, {"replicates": 0}, {"sed": 1}])
def test_what_cannot_be_done_is_refused_by_the_name_of_its_field(api, world, asked):
    answer = api(world.researcher).post("studies/here/report/", asked)
    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == list(asked)
    assert not Job.objects.filter(kind="report").exists()
