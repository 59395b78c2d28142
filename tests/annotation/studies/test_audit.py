"""The audit log: by whom it says that a thing was done, and the whole site's for those who operate it."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.test import Client

from annotation.access import tokens
from annotation.models import AuditEvent, Membership, Rater
from annotation.models.people import Role
from annotation.studies import audit
from tests import factories

pytestmark = pytest.mark.django_db


def lines(response) -> list[dict]:
    return [json.loads(line) for line in b"".join(response.streaming_content).splitlines()]


@pytest.fixture
def acts(world):
    """One thing that each of them did, beside a rater's revision by each who rates."""
    for role in ("annotator", "expert", "researcher", "admin"):
        audit.record(f"{role}.acted", actor=getattr(world, role), study=world.study)
    for role in ("annotator", "expert"):
        audit.record(f"judgment.revised_by_{role}", actor=getattr(world, role), study=world.study)
    audit.record("nobody.acted", actor=None, study=world.study)
    return world


def actors(api, world) -> dict[str, str | None]:
    """As the list says, which the file must say, too."""
    me = api(world.researcher)
    listed = me.get("studies/here/audit/?limit=200").json()["results"]
    assert lines(me.get("studies/here/audit/file/")) == [
        {**event, "at": event["at"].replace("Z", "+00:00")} for event in reversed(listed)
    ]
    return {event["action"]: event["actor"] for event in listed}


class TestActors:
    def test_raters_are_told_by_pseudonym_and_whoever_runs_the_study_by_name(self, api, acts):
        pseudonym = dict(Rater.objects.filter(study=acts.study).values_list("user__email", "pseudonym"))
        told = actors(api, acts)
        annotator, expert = pseudonym[acts.annotator.email], pseudonym[acts.expert.email]
        assert (told["annotator.acted"], told["judgment.revised_by_annotator"]) == (annotator, annotator)
        assert (told["expert.acted"], told["judgment.revised_by_expert"]) == (expert, expert)
        assert (told["researcher.acted"], told["admin.acted"]) == ("SECRET researcher", "SECRET admin")
        assert told["nobody.acted"] is None

    def test_who_has_withdrawn_is_not_told_at_all(self, api, acts):
        Rater.objects.filter(study=acts.study).update(state=Rater.State.WITHDRAWN)
        told = actors(api, acts)
        assert (told["annotator.acted"], told["judgment.revised_by_annotator"]) == (None, None)
        assert (told["expert.acted"], told["judgment.revised_by_expert"]) == (None, None)
        assert told["admin.acted"] == "SECRET admin"

    def test_nor_is_who_has_left_the_study(self, api, acts):
        Membership.objects.filter(study=acts.study, user=acts.annotator).delete()
        assert actors(api, acts)["annotator.acted"] == Rater.objects.get(user=acts.annotator).pseudonym

    def test_whoever_rated_once_and_runs_the_study_now_answers_for_that_by_name(self, api, acts):
        Membership.objects.filter(user=acts.annotator).update(role=Role.RESEARCHER)
        told = actors(api, acts)
        assert told["annotator.acted"] == "SECRET annotator"
        assert told["judgment.revised_by_annotator"] == Rater.objects.get(user=acts.annotator).pseudonym
        Rater.objects.filter(user=acts.annotator).update(state=Rater.State.WITHDRAWN)
        told = actors(api, acts)
        assert (told["annotator.acted"], told["judgment.revised_by_annotator"]) == ("SECRET annotator", None)


def test_the_file_of_a_study_comes_as_a_table_too_and_as_nothing_else(api, acts):
    me = api(acts.researcher)
    response = me.get("studies/here/audit/file/?format=csv")
    assert response["Content-Type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode())))
    assert len(rows) == AuditEvent.objects.filter(study=acts.study).count()
    assert me.get("studies/here/audit/file/?format=xml").status_code == 400


class TestWholeSite:
    @pytest.fixture
    def operator(self):
        return factories.UserFactory(is_superuser=True, name="Op")

    def test_it_has_every_study_and_what_is_of_none(self, api, acts, elsewhere, operator):
        audit.record("user.signed_in", actor=acts.annotator, subject=f"user {acts.annotator.pk}")
        audit.record("member.invited", actor=elsewhere.admin, study=elsewhere.study)
        me = api(operator)  # signing in is in the log
        listed = me.get("audit/?limit=200").json()["results"]
        assert len(listed) == min(200, AuditEvent.objects.count())
        told = {event["action"]: (event["study"], event["actor"]) for event in reversed(listed)}
        assert told["user.signed_in"] == (None, "Op")
        assert told["member.invited"] == ("elsewhere", "SECRET admin")
        rater = Rater.objects.get(user=acts.annotator)
        assert told["judgment.revised_by_annotator"] == ("here", rater.pseudonym)
        signed = [event for event in listed if event["action"] == "user.signed_in"]
        assert "SECRET annotator" in {event["actor"] for event in signed}

    def test_it_comes_in_pages_and_as_a_file_with_the_same(self, api, acts, operator):
        me = api(operator)
        first = me.get("audit/?limit=2").json()
        second = me.get(first["next"]).json()
        file = lines(me.get("audit/file/"))
        assert [event["id"] for event in [*first["results"], *second["results"]]] == [
            event["id"] for event in reversed(file)
        ][: 2 + len(second["results"])]
        text = b"".join(me.get("audit/file/?format=csv").streaming_content).decode()
        rows = list(csv.DictReader(io.StringIO(text)))
        assert len(rows) == len(file) == AuditEvent.objects.count()
        assert list(rows[0]) == ["id", "at", "study", "actor", "action", "subject", "data"]

    def test_a_token_that_is_limited_to_studies_does_not_reach_it(self, api, acts, operator):
        for studies, status in ((None, 200), (["here"], 403)):
            _, secret = tokens.create_token(operator, name="x", scopes=["read"], days=1, studies=studies)
            client = Client(headers={"Authorization": f"Bearer {secret}"})
            assert client.get("/api/v1/audit/").status_code == status
            assert client.get("/api/v1/audit/file/").status_code == status

    def test_who_runs_a_study_does_not_reach_it(self, api, acts):
        for path in ("audit/", "audit/file/"):
            assert api(acts.admin).get(path).status_code == 403
