"""A protocol changes while its study runs: new versions, drafts, overlap."""

from __future__ import annotations

import copy

import pytest

from annotation.errors import Conflict, InvalidInput
from annotation.models import GoldKey, Judgment, Question, Study, Task
from annotation.protocols import definition_of_preset
from annotation.rating import judgments, leases
from annotation.rating.overlap import set_study_overlap
from annotation.rating.stopping import question_ids
from annotation.studies import protocol_drafts, protocols
from tests import factories
from tests.annotation.importing.answers import rating

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    study = factories.StudyFactory(overlap=3)
    factories.rating_task(study, "one")
    return study


def reworded(text: str = "Is the answer right?") -> dict:
    definition = copy.deepcopy(definition_of_preset("orca"))
    definition["questions"][0]["title"] = text
    return definition


def rescaled() -> dict:
    definition = reworded()
    definition["questions"][0]["points"] = [{"value": value} for value in (1, 2, 3)]
    return definition


def vote(study: Study) -> Judgment:
    user = factories.member(study)
    held = leases.lease_next(user, study.slug)[1]
    judgments.submit(user, held.id, rating(4))
    return Judgment.objects.latest("pk")


def test_who_holds_a_task_answers_it_by_the_version_it_was_handed_out_under(study):
    user = factories.member(study)
    held = leases.lease_next(user, study.slug)[1]
    version = protocols.publish_protocol(study, reworded(), actor=None)
    judgments.submit(user, held.id, rating(4))
    later = vote(study)
    first = Judgment.objects.earliest("pk")
    assert (first.protocol_version.number, later.protocol_version_id) == (1, version.pk)


def test_a_scale_stands_once_somebody_holds_a_task_and_each_refusal_names_its_place(study):
    protocols.publish_protocol(study, rescaled(), actor=None)
    protocols.publish_protocol(study, definition_of_preset("orca"), actor=None)
    leases.lease_next(factories.member(study), study.slug)
    with pytest.raises(InvalidInput) as refusal:
        protocols.publish_protocol(study, rescaled(), actor=None)
    (problem,) = refusal.value.problems
    assert (problem.field, refusal.value.code) == ("questions[0].points", "protocol_fixed")
    assert "copy of the study" in problem.remedy
    assert study.protocol_versions.count() == 3


def test_a_scale_that_gold_tasks_do_not_fit_is_refused_before_the_first_vote(study):
    gold = factories.rating_task(study, "two")
    Task.objects.filter(pk=gold.pk).update(kind=Task.Kind.GOLD)
    GoldKey.objects.create(task=gold, question_key="correctness", value=5)
    with pytest.raises(InvalidInput) as refusal:
        protocols.publish_protocol(study, rescaled(), actor=None)
    problem = refusal.value.problems[0]
    assert (problem.field, "gold tasks" in problem.message) == ("questions[0].points", True)
    protocols.publish_protocol(study, reworded(), actor=None)
    Task.objects.filter(pk=gold.pk).update(kind=Task.Kind.REGULAR)
    protocols.publish_protocol(study, rescaled(), actor=None)
    assert not GoldKey.objects.filter(task=gold).exists()


def asking(kind: str, **fields) -> dict:
    """The first question of another kind, under its key."""
    definition = reworded()
    kept = {name: definition["questions"][0][name] for name in ("key", "title")}
    definition["questions"][0] = {**kept, "kind": kind, **fields}
    return definition


GENRES = ("jazz", "folk", "pop")


def genres(*keys: str, kind: str = "choice") -> dict:
    return asking(kind, options=[{"key": key, "title": key} for key in keys])


@pytest.mark.parametrize(
    ("changed", "fits"),
    [
        (genres(*GENRES, "rock"), True),
        (genres("folk", "jazz", "pop"), False),
        (genres("jazz", "pop"), False),
        (genres(*GENRES, kind="choices"), False),
        (asking("rating", level="ordinal", points=[{"value": value} for value in (1, 2, 3)]), False),
        (asking("text"), False),
    ],
)
def test_a_gold_task_expects_the_same_option_after_a_change_or_the_change_is_refused(study, changed, fits):
    protocols.publish_protocol(study, genres(*GENRES), actor=None)
    gold = factories.rating_task(study, "two")
    Task.objects.filter(pk=gold.pk).update(kind=Task.Kind.GOLD)
    GoldKey.objects.create(task=gold, question_key="correctness", value=2)
    if fits:
        protocols.publish_protocol(study, changed, actor=None)
        return
    with pytest.raises(InvalidInput, match="Nothing was changed") as refusal:
        protocols.publish_protocol(study, changed, actor=None)
    assert "gold tasks" in refusal.value.problems[0].message
    Task.objects.filter(pk=gold.pk).update(kind=Task.Kind.REGULAR)
    protocols.publish_protocol(study, changed, actor=None)
    assert not GoldKey.objects.filter(task=gold).exists()


def test_what_was_written_for_an_earlier_version_is_not_published_over_a_later_one(study):
    protocol_drafts.save_draft(study, reworded("Mine?"), actor=None)
    protocols.publish_protocol(study, reworded("Theirs?"), actor=None, base=1)
    with pytest.raises(Conflict, match="Version 2 of the protocol was published meanwhile"):
        protocol_drafts.publish_draft(study, actor=None)
    assert protocol_drafts.draft_of(study).definition == reworded("Mine?")


def test_a_draft_may_have_faults_and_two_windows_do_not_overwrite_each_other(study):
    first = protocol_drafts.save_draft(study, {"questions": []}, actor=None, revision=0)
    protocol_drafts.save_draft(study, reworded(), actor=None, revision=first.revision)
    with pytest.raises(Conflict, match="in another window"):
        protocol_drafts.save_draft(study, rescaled(), actor=None, revision=first.revision)
    version = protocol_drafts.publish_draft(study, actor=None)
    assert (version.number, version.definition) == (2, reworded())
    assert protocol_drafts.draft_of(study).revision == 0


def test_the_api_shows_tries_and_publishes_changes(api, study):
    researcher = api(factories.member(study, "researcher"))
    vote(study)
    tried = researcher.post(f"studies/{study.slug}/protocol/changes/", {"definition": rescaled()}).json()
    assert not tried["allowed"]
    assert [row["where"] for row in tried["changes"] if not row["allowed"]] == ["questions[0].points"]
    body = {"definition": reworded(), "base": 1}
    assert researcher.post(f"studies/{study.slug}/protocol/", body).json()["number"] == 2
    rows = researcher.get(f"studies/{study.slug}/protocol/changes/?since=1").json()["changes"]
    english = [(row["where"], row["after"]) for row in rows if row["language"] == "en"]
    assert english == [("questions[0].title", "Is the answer right?")]
    assert api(factories.member(study)).post(f"studies/{study.slug}/protocol/", body).status_code == 403


def test_overlap_changes_for_tasks_that_are_there_and_not_below_what_they_have(study):
    factories.rating_task(study, "own", overlap=7)
    vote(study)
    vote(study)

    def overlaps() -> list[int]:
        return list(Task.objects.order_by("pk").values_list("overlap", flat=True))

    set_study_overlap(study, 1, actor=None)
    lowered = overlaps()
    study.refresh_from_db()
    set_study_overlap(study, 5, actor=None)
    assert (lowered[1], overlaps()) == (7, [5, 7])
    assert lowered[0] in (1, 2)


def test_a_question_comes_back_only_on_the_scale_of_the_answers_that_it_had(study):
    def asking(*options: str) -> dict:
        definition = reworded()
        if options:
            flaws = {"key": "flaws", "kind": "choice", "title": "Flaws", "required": False}
            definition["questions"].append(
                {**flaws, "options": [{"key": key, "title": key} for key in options]}
            )
        return definition

    protocols.publish_protocol(study, asking("noise", "hum"), actor=None)
    vote(study)
    protocols.publish_protocol(study, asking(), actor=None)
    with pytest.raises(InvalidInput) as refusal:
        protocols.publish_protocol(study, asking("hum", "noise"), actor=None)
    assert [problem.field for problem in refusal.value.problems] == ["questions[1]"]
    assert protocols.publish_protocol(study, asking("noise", "hum", "hiss"), actor=None).number == 4


def test_early_stopping_counts_votes_on_the_present_scale_only(study):
    protocols.publish_protocol(study, rescaled(), actor=None)
    protocols.publish_protocol(study, reworded(), actor=None)
    study.refresh_from_db()
    key = definition_of_preset("orca")["questions"][0]["key"]
    rows = Question.objects.filter(pk__in=question_ids(study, key))
    assert sorted(row.protocol_version.number for row in rows) == [1, 3]
