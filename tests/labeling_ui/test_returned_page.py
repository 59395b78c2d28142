"""What an expert asked a rater to look at again: their own answer, the expert's words, and nothing else."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.models import Return
from annotation.models.people import Role
from annotation.review import returns
from tests.annotation.importing.answers import rating
from tests.annotation.importing.desk import give, judged
from tests.annotation.importing.reviewing import vote
from tests.factories import member, rater, rating_task

pytestmark = pytest.mark.django_db


@pytest.fixture
def task(study):
    return rating_task(study, "bird-1", overlap=3)


@pytest.fixture
def user(study):
    return member(study)


@pytest.fixture
def asked(study, task, user) -> Return:
    """A vote that an expert returned, beside one of somebody else."""
    vote(task, 5, rater=rater(study), comment="somebody else’s words")
    said = give(user, task, rating(2, codes=["Q"], comment="Too quiet to tell."))
    expert = member(study, Role.EXPERT, name="Eva Expert")
    [found] = returns.return_to_rater(
        expert, judged(expert, task).pk, [said.client_id], "Is it really a bell?"
    )
    return found


def page_of(client, user) -> str:
    client.force_login(user)
    return client.get(reverse("returned", args=["s"])).text


def test_it_shows_the_comment_and_ones_own_answer_and_nothing_of_anybody_else(client, asked, user):
    page = page_of(client, user)
    for words in ("Is it really a bell?", "How correct is the answer", ">2 ", "Too quiet to tell."):
        assert words in page
    for words in ("somebody else’s words", "system-1", "Eva Expert", "bird-1"):
        assert words not in page
    assert f"?again={asked.assignment_id}" in page


def test_home_says_how_many_wait_and_leads_there(client, asked, user):
    client.force_login(user)
    page = client.get(reverse("home")).text
    assert "An expert asks you to look again (1)" in page
    assert reverse("returned", args=["s"]) in page


def test_an_answer_that_is_kept_waits_no_more_and_the_reply_is_told(client, asked, user):
    client.force_login(user)
    path = reverse("keep_returned", args=["s", asked.pk])
    answer = client.post(path, {"reply": "I listened again: it is."}, follow=True)
    asked.refresh_from_db()
    assert (asked.state, asked.reply) == ("kept", "I listened again: it is.")
    assert "stays as it is" in answer.text
    assert "There are no more requests for you" in answer.text
    again = client.post(path, {"reply": "twice"}, follow=True)
    assert "This request is closed" in again.text


def test_nobody_keeps_what_was_returned_to_somebody_else(client, asked, study):
    client.force_login(member(study))
    assert client.post(reverse("keep_returned", args=["s", asked.pk])).status_code == 404
    assert "Is it really a bell?" not in client.get(reverse("returned", args=["s"])).text


def test_those_who_run_the_study_have_no_such_page(client, asked, researcher):
    client.force_login(researcher)
    assert client.get(reverse("returned", args=["s"])).status_code == 403
