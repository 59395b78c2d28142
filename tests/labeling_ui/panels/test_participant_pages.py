"""A participant's way from the panel's link to the code, over the pages that they open."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import AuditEvent, Participant, Place, Rater, Study, Task, User
from annotation.models.people import Role
from annotation.onboarding import onboarding_settings
from annotation.panels import links, participants
from annotation.rating import judgments, leases
from annotation.studies import studies
from tests.annotation.importing.answers import rating
from tests.factories import StudyFactory, member, rating_task

pytestmark = pytest.mark.django_db

PID, OTHER_PID = "5f1a0c2b3d4e5f6a7b8c9d0e", "5f1a0c2b3d4e5f6a7b8c9d0f"


@pytest.fixture
def study() -> Study:
    study = StudyFactory(slug="s", title="Bird calls", overlap=2)
    for n in range(3):
        rating_task(study, f"task-{n}")
    return study


@pytest.fixture
def link(study):
    return links.create_link(
        study, actor=None, name="Prolific", panel="prolific", batch_size=2, completed_code="DONE1",
        screened_out_code="FULL1", failed_quality_code="BAD1",
    )  # fmt: skip


def address(link, pid=PID, **more) -> str:
    query = "&".join(f"{name}={value}" for name, value in {"PROLIFIC_PID": pid, **more}.items())
    return f"{reverse('enter_panel', args=[link.token])}?{query}"


def begin(link, pid=PID, client=None, **more) -> Client:
    client = client or Client()
    assert client.post(address(link, pid, **more)).url == reverse("work", args=["s"])
    client.post(reverse("guidelines", args=["s"]))
    return client


def participant_user(pid=PID) -> User:
    user = Participant.objects.get(external_id=pid).rater.user
    assert user
    return user


def judge(n: int, pid=PID) -> None:
    user = participant_user(pid)
    for _ in range(n):
        _rater, lease = leases.lease_next(user, "s")
        assert lease
        judgments.submit(user, lease.id, rating(4))


def text_of(response) -> str:
    return unescape(re.sub(r"<[^>]+>|\s+", " ", response.content.decode()))


def test_a_participant_goes_from_the_link_to_the_code_without_an_account(link):
    client = Client()
    page = client.get(address(link, STUDY_ID="a", SESSION_ID="b", age="30"))
    assert "You judge 2 tasks" in text_of(page)
    assert not Participant.objects.exists()
    begin(link, client=client, STUDY_ID="a", SESSION_ID="b", age="30")
    place = Place.objects.get()
    assert place.parameters == {"STUDY_ID": "a", "SESSION_ID": "b"}
    work = client.get(reverse("work", args=["s"]))
    assert '"progress": {"done": 0, "tasks": 2}' in work.content.decode()
    judge(2)
    assert leases.lease_next(participant_user(), "s")[1] is None  # the batch is full, although a task is open
    assert client.get(reverse("work", args=["s"])).url == reverse("take_part_finish")
    finish = client.get(reverse("take_part_finish"))
    assert 'value="DONE1"' in finish.content.decode()
    assert 'href="https://app.prolific.com/submissions/complete?cc=DONE1"' in finish.content.decode()
    actions = set(AuditEvent.objects.values_list("action", flat=True))
    assert {"panel.link_created", "panel.place_taken", "panel.place_ended"} <= actions


def test_no_step_before_the_rating_leads_a_participant_to_studies_that_they_do_not_have(link, study):
    question = {"key": "age", "texts": {"en": "How old are you?"}, "required": True}
    onboarding_settings.set_onboarding(study, actor=None, questions=[question])
    client = begin(link)
    missing = client.post(reverse("save_demographics", args=["s"]), {})
    assert "Some answers are missing" in missing.text
    assert "My studies" not in missing.text


def test_a_second_device_takes_over_and_the_first_is_told(link):
    first = begin(link)
    second = begin(link)
    assert Participant.objects.count() == Place.objects.count() == 1
    moved = first.get(reverse("work", args=["s"]))
    assert moved.url == reverse("take_part")
    assert "Go on here instead" in text_of(first.get(moved.url))
    assert first.post(reverse("go_on_here")).url == reverse("work", args=["s"])
    assert second.get(reverse("work", args=["s"])).url == reverse("take_part")


@pytest.mark.parametrize(
    ("pid", "sentence"),
    [
        ("", "Your panel did not say who you are"),
        ("{{%PROLIFIC_PID%}}", "Your panel did not say who you are"),
        ("me", "This participant id does not look right"),
    ],
)
def test_a_link_without_a_usable_id_is_answered_kindly_and_stores_nothing(link, pid, sentence):
    for response in (Client().get(address(link, pid)), Client().post(address(link, pid))):
        assert sentence in text_of(response)
        assert response.status_code == 400
    assert not Participant.objects.exists()


def test_a_participant_reaches_nothing_but_their_study(link, study):
    other = StudyFactory(slug="other")
    client = begin(link)
    for name, arguments in (
        ("home", []),
        ("profile", []),
        ("tokens", []),
        ("study", ["s"]),
        ("people", ["s"]),
        ("quality_rules", ["s"]),
    ):
        assert client.get(reverse(name, args=arguments)).url == reverse("take_part")
    for name, arguments in (("api_studies", []), ("api_study", ["s"])):
        assert client.get(reverse(name, args=arguments)).status_code == 404
    assert client.get(reverse("work", args=[other.slug])).status_code == 404
    assert client.post(reverse("dismiss_notices", args=["s"])).url == reverse("work", args=["s"])
    researcher = Client()
    researcher.force_login(member(study, Role.RESEARCHER))
    assert participant_user().name not in text_of(researcher.get(reverse("people", args=["s"])))


def test_full_quotas_send_back_with_the_screen_out_code_before_any_work(link):
    links.change_link(
        link, actor=member(link.study, Role.ADMIN), recorded_parameters=["sex"],
        quotas=[{"field": "sex", "value": "male", "places": 1}, {"field": "sex", "value": "*", "places": 5}],
    )  # fmt: skip
    begin(link, sex="Male")
    full = Client().post(address(link, OTHER_PID, sex="male"))
    assert full.status_code == 409
    assert 'value="FULL1"' in full.content.decode()
    begin(link, OTHER_PID, sex="female")
    assert Participant.objects.count() == 2


def test_a_reused_link_after_the_end_gives_no_second_batch_unless_the_study_allows_one(link):
    client = begin(link)
    judge(2)
    assert client.get(address(link)).url == reverse("take_part")
    assert client.get(reverse("take_part")).url == reverse("take_part_finish")
    assert "You have finished this study" in text_of(Client().post(address(link)))
    assert "Begin another part" not in text_of(client.get(reverse("take_part_finish")))
    links.change_link(link, actor=member(link.study, Role.ADMIN), max_batches=2, batch_size=1)
    assert client.post(reverse("another_batch")).url == reverse("work", args=["s"])
    judge(1)
    assert 'value="DONE1"' in client.get(reverse("take_part_finish")).content.decode()
    assert Place.objects.filter(state=Place.State.COMPLETED).count() == 2


def test_a_study_that_stops_lets_the_task_at_hand_be_finished_and_paid(link, study):
    client, user = begin(link), participant_user()
    _rater, lease = leases.lease_next(user, "s")
    studies.set_study_state(study, Study.State.PAUSED, actor=None)
    assert client.get(reverse("work", args=["s"])).status_code == 200
    judgments.submit(user, lease.id, rating(4))
    finish = client.get(reverse("take_part_finish"))
    assert 'value="DONE1"' in finish.content.decode()
    assert "The study ended early" in text_of(finish)
    assert "takes no new participants" in text_of(Client().get(address(link, OTHER_PID)))


def test_a_test_participant_goes_the_whole_way_and_counts_nowhere(link):
    walk = participants.walk_address(link)
    client = Client()
    assert "Nothing that you answer counts" in text_of(client.get(walk))
    client.post(walk)
    test = Rater.objects.get()
    judge(2, Participant.objects.get().external_id)
    test.refresh_from_db()
    assert (test.origin, test.n_judgments, test.n_surplus) == ("test", 0, 2)
    assert not Task.objects.filter(n_judgments__gt=0).exists()
    assert not Task.objects.filter(n_leases__gt=0).exists()
    assert 'value="DONE1"' in client.get(reverse("take_part_finish")).content.decode()


def test_whoever_is_excluded_goes_back_with_the_code_for_it(link):
    client = begin(link)
    Rater.objects.update(state=Rater.State.EXCLUDED)
    assert client.get(reverse("work", args=["s"])).url == reverse("take_part_finish")
    assert 'value="BAD1"' in client.get(reverse("take_part_finish")).content.decode()


def test_mechanical_turk_previews_opens_in_a_tab_and_hands_in_by_its_own_form(study):
    link = links.create_link(study, actor=None, name="MTurk", panel="mturk", batch_size=1)
    path = reverse("enter_panel", args=[link.token])
    preview = Client().get(path, {"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE", "hitId": "H"})
    assert "This is a preview" in text_of(preview)
    query = {
        "assignmentId": "ASG1", "hitId": "H", "workerId": "A1B2C3D4E5",
        "turkSubmitTo": "https://workersandbox.mturk.com",
    }  # fmt: skip
    frame = Client().get(path, query)
    assert "X-Frame-Options" not in frame.headers
    assert "Open the study" in text_of(frame)
    assert "frame-ancestors https://www.mturk.com" in frame["Content-Security-Policy"]
    client = Client()
    client.get(path, query | {"in_tab": "1"})
    client.post(f"{path}?{'&'.join(f'{key}={value}' for key, value in (query | {'in_tab': '1'}).items())}")
    judge(1, "A1B2C3D4E5")
    for page in (client.get(reverse("take_part_finish")), Client().get(path, query)):
        if page.status_code == 200 and "Hand in" in text_of(page):
            assert 'action="https://workersandbox.mturk.com/mturk/externalSubmit"' in page.content.decode()
    assert 'name="assignmentId" value="ASG1"' in Client().get(path, query).content.decode()


def test_the_frame_tells_how_work_ended_to_nobody_who_names_its_worker_alone(study):
    link = links.create_link(
        study, actor=None, name="MTurk", panel="mturk", batch_size=1, completed_code="DONE1"
    )
    links.change_link(link, actor=member(study, Role.ADMIN), recorded_parameters=["hitId"])
    path, worker = reverse("enter_panel", args=[link.token]), "A1B2C3D4E5"
    Client().post(f"{path}?workerId={worker}&hitId=H&in_tab=1")
    judge(1, worker)
    page = Client().get(path, {"workerId": worker})
    assert "Open the study" in text_of(page)
    assert "DONE1" not in page.content.decode()
