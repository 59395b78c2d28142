"""An item's page: judgments in words, its timeline, and what an expert may not know yet."""

from __future__ import annotations

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.models import (
    Answer,
    Assignment,
    CaseReason,
    Correction,
    Draft,
    Exclusion,
    Item,
    ItemVersion,
    Judgment,
    Return,
    ReviewCase,
    Task,
)
from annotation.models.people import Role
from annotation.review import cases
from annotation.studies.protocols import load_protocol
from tests.annotation.importing.reviewing import case, vote
from tests.factories import StudyFactory, UserFactory, comparison_task, member, rater, rating_task

pytestmark = pytest.mark.django_db

# Words that nobody may read before judging: of a rater, a rule's evidence, a model, and another expert.
SECRETS = (
    "the birds are recorded twice",
    "1.234",
    "a drafted question",
    "look at second nine",
    "confusing, they said",
)


@pytest.fixture
def expert(study):
    return member(study, Role.EXPERT, name="Eva Expert")


@pytest.fixture
def task(study) -> Task:
    task = rating_task(study, "bird-1", question="What sings at dawn?")
    vote(task, 2, rater=rater(study), codes=("Q",), comment=SECRETS[0])
    vote(task, 5, rater=rater(study))
    return task


@pytest.fixture
def flagged(task, expert) -> ReviewCase:
    """A case with everything in it that others said and did."""
    found = case(task, rules=("disagreement",))
    CaseReason.objects.create(case=found, rule="disagreement", evidence={"variance": 1.234})
    cases.record_event(found, "claimed", actor=expert)
    Draft.objects.create(case=found, item_version=task.item_version, field="question", text=SECRETS[2])
    Return.objects.create(case=found, task=task, comment=SECRETS[3], created_by=expert, n_wanted=1)
    return found


def correct(found: ReviewCase, expert) -> None:
    """As the desk leaves it: another version, the votes on the one before set aside, a task in place of its task."""
    before = found.item_version
    after = ItemVersion.objects.create(
        item=found.item, number=2, question="What sings at dusk?", content_sha256="1" * 64
    )
    Correction.objects.create(
        study=found.study, case=found, version_before=before, version_after=after, field="question", author=expert,
        before=before.question, after=after.question, reason="wrong", comment=SECRETS[4],
    )  # fmt: skip
    for judgment in Judgment.objects.filter(task=found.task).exclude(origin=Judgment.Origin.EXPERT):
        Exclusion.objects.create(
            study=found.study, judgment=judgment, action="exclude", reason="item_corrected", actor=expert
        )
    renewed = rating_task(found.study, "bird-1~v2")
    Task.objects.filter(pk=renewed.pk).update(item_version=after, replaces=found.task)
    ReviewCase.objects.filter(pk=found.pk).update(state="resolved", decision="corrected", decided_by=expert)


def judged_blind(found: ReviewCase, expert) -> None:
    own = vote(found.task, 3, rater=expert.raters.get(), origin=Judgment.Origin.EXPERT)
    ReviewCase.objects.filter(pk=found.pk).update(blind_judgment=own)


def page_of(client, user, item) -> str:
    client.force_login(user)
    return client.get(reverse("item_history", args=[item.study.slug, item.pk])).text


def test_the_way_from_a_flag_to_being_judged_again_is_on_one_page(client, flagged, expert, researcher):
    judged_blind(flagged, expert)
    correct(flagged, expert)
    vote(Task.objects.get(replaces=flagged.task), 4, rater=rater(flagged.study))
    page = page_of(client, researcher, flagged.item)
    chain = [
        "Imported", "Judged 2 times", "Flagged", "Eva Expert claimed it", "A model was asked for a draft",
        "Eva Expert asked for more judgments", "Eva Expert judged it, before seeing",
        "Eva Expert corrected it: version 2", "2 judgments of version 1 were set aside",
        "One task about version 2 took the place", "Judged once",
    ]  # fmt: skip
    timeline = page[page.index('<ol class="timeline">') :]
    places = [timeline.index(words) for words in chain]
    assert places == sorted(places)
    assert "<del>" in page
    assert "dusk" in page
    assert all(words in page for words in SECRETS if words != "1.234")
    assert "1.23" in page


def test_an_expert_who_has_not_judged_learns_nothing_but_the_rules_that_fired(client, flagged, expert):
    page = page_of(client, expert, flagged.item)
    assert "Disagreement" in page
    assert "is shown once you have judged it yourself" in page
    assert [words for words in (*SECRETS, "1.23", "system-1", "Judged", "correctness") if words in page] == []


def test_what_an_import_brought_beside_is_not_for_who_has_yet_to_judge_blind(
    client, flagged, expert, researcher
):
    version = ItemVersion.objects.create(
        item=flagged.item, number=2, question="?", extra={"made_by": "Aria-1"}, content_sha256="2" * 64
    )
    Item.objects.filter(pk=flagged.item_id).update(current_version=version)
    assert "Aria-1" not in page_of(client, expert, flagged.item)
    assert "Aria-1" in page_of(client, researcher, flagged.item)


def test_after_judging_blind_the_expert_sees_everything(client, flagged, expert):
    judged_blind(flagged, expert)
    page = page_of(client, expert, flagged.item)
    assert [words for words in SECRETS[2:4] if words not in page] == []
    assert SECRETS[0] in page
    assert "1.23" in page


def test_what_another_expert_judged_opens_nothing(client, flagged, study):
    judged_blind(flagged, member(study, Role.EXPERT))
    page = page_of(client, member(study, Role.EXPERT), flagged.item)
    assert SECRETS[0] not in page


def test_a_later_case_that_waits_closes_the_earlier_votes_again(client, flagged, expert):
    judged_blind(flagged, expert)
    correct(flagged, expert)
    case(Task.objects.get(replaces=flagged.task))
    page = page_of(client, expert, flagged.item)
    assert [words for words in SECRETS if words in page] == []
    assert "dusk" in page  # what the item says is no secret


def test_votes_on_a_corrected_version_stay_closed_to_whoever_corrected_it(client, flagged, expert):
    judged_blind(flagged, expert)
    correct(flagged, expert)
    vote(Task.objects.get(replaces=flagged.task), 4, rater=rater(flagged.study), comment="better now")
    page = page_of(client, expert, flagged.item)
    assert SECRETS[0] in page
    assert "better now" not in page


def test_its_queries_do_not_grow_with_what_happened(
    client, flagged, researcher, django_assert_max_num_queries
):
    for _number in range(5):
        vote(flagged.task, 3, rater=rater(flagged.study))
    client.force_login(researcher)
    with django_assert_max_num_queries(32):
        client.get(reverse("item_history", args=["s", flagged.item_id]))


def test_raters_and_strangers_have_no_way_to_it(client, flagged, study):
    path = reverse("item_history", args=[study.slug, flagged.item_id])
    client.force_login(member(study))
    assert client.get(path).status_code == 403
    client.force_login(UserFactory())
    assert client.get(path).status_code == 404


def test_an_item_is_found_in_its_own_study_only(client, flagged, researcher):
    other = StudyFactory(slug="other")
    people_see = reverse("item_history", args=[other.slug, flagged.item_id])
    client.force_login(member(other, Role.RESEARCHER))
    assert client.get(people_see).status_code == 404


def test_a_comment_about_both_clips_is_on_the_page_and_nobodys_in_particular(client):
    study = StudyFactory(slug="music", preset="cmi-pref")
    task = comparison_task(study, "tune")
    user = member(study, name="Rosa Rater")
    judgment = vote(task, 2, rater=user.raters.get(), confidence=4, presentation=[1, 0])
    question = load_protocol(judgment.protocol_version_id).question_ids["evidence"]
    Answer.objects.create(judgment=judgment, task=task, question_id=question, text="both crackle")
    page = page_of(client, member(study, Role.RESEARCHER), task.item_version.item)
    assert '<b>system-2</b> <span class="letter">A</span>' in page
    assert "How sure are you? <b>4 of 5 (Quite)</b>" in page
    heard = page[page.index("What did you hear?") : page.index("both crackle")]
    assert "system-" not in heard
    assert "Rosa Rater" in page  # who runs the study knows who the pseudonym is
    assert reverse("api_item_clips", args=["music", task.item_version.item_id]) in page


def test_split_votes_are_told_by_system(client):
    study = StudyFactory(slug="music", preset="cmi-pref")
    task = comparison_task(study, "tune")
    found = case(task, rules=("disagreement",))
    evidence = {
        "question": "alignment",
        "n": 3,
        "votes": {"1": 2, "2": 1},
        "minority": 0.333,
        "tasks": [task.pk],
    }
    CaseReason.objects.create(case=found, rule="disagreement", evidence=evidence)
    page = page_of(client, member(study, Role.RESEARCHER), task.item_version.item)
    assert "system-1: 2, system-2: 1" in page
    assert "Which follows the instruction better?" in page


def test_a_skip_is_on_the_page_with_its_reason_and_comment(client, task, researcher):
    leaving = rater(task.study)
    Assignment.objects.create(
        task=task, rater=leaving, protocol_version=task.study.protocol_version, presentation=[0], skip_reason="audio",
        state=Assignment.State.SKIPPED, expires_at=timezone.now(), closed_at=timezone.now(), skip_comment="only noise",
    )  # fmt: skip
    page = page_of(client, researcher, task.item_version.item)
    assert "The recording does not play" in page
    assert "only noise" in page
