"""Asking a server: what it says, what it leaves out, and what becomes of its faults."""

from __future__ import annotations

import threading
import wave
from base64 import b64decode
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import numpy as np
import pytest

from scoring.backbones.contract import AnswerTokens, Hearing
from scoring.backbones.openai import client
from scoring.backbones.openai.server import yes_no_logprobs
from scoring.metrics.contract import SetupError, Sound
from tests.scoring.backbones.encoders.asking import (
    ANY_CASE,
    RATE,
    ask,
    codes,
    conversation,
    opened,
    tone,
    write,
)
from tests.scoring.openai_double import OpenAIDouble, answer, logprobs


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    monkeypatch.setattr(client, "FIRST_BACKOFF_S", 0.001)
    monkeypatch.delenv(client.KEY_VARIABLE, raising=False)


@pytest.fixture(scope="session")
def sounds(tmp_path_factory) -> list[Sound]:
    folder = tmp_path_factory.mktemp("sounds")
    return [tone(folder / f"{pitch}.wav", pitch) for pitch in (300, 400, 500)]


@pytest.mark.parametrize("chosen_tokens", [False, True])
def test_log_probabilities_are_those_that_the_server_says_in_the_order_asked(sounds, chosen_tokens):
    hearings = [
        Hearing((sounds[0],), ("Is it rain?", "Is it wind?")),
        Hearing((sounds[1], sounds[2]), ("Which?",)),
        Hearing((), ("A text alone?",)),
    ]
    with OpenAIDouble(chosen_tokens=chosen_tokens) as server:
        found = ask(opened(server), *hearings, answers=ANY_CASE)
    for hearing, answers in zip(hearings, found, strict=True):
        for question, one in zip(hearing.questions, answers, strict=True):
            said = logprobs(conversation(question, *hearing.sounds))
            if chosen_tokens:
                assert one.bounded == ()
            if not one.bounded:
                assert one.yes == pytest.approx(np.logaddexp(said["Yes"], said["yes"]), abs=0.011)
                assert one.no == pytest.approx(np.logaddexp(said["No"], said["no"]), abs=0.011)


def test_one_request_asks_one_question_for_one_token(sounds):
    with OpenAIDouble() as server:
        ask(opened(server), Hearing((sounds[0],), ("Is it rain?",)))
    (body,) = server.requests
    assert body["messages"] == conversation("Is it rain?", sounds[0])
    settings = {name: value for name, value in body.items() if name != "messages"}
    assert settings == {
        "model": server.model, "temperature": 0, "max_tokens": 1, "logprobs": True, "top_logprobs": 20,
    }  # fmt: skip


def test_a_sound_of_any_format_reaches_the_server_as_the_same_samples(sounds, tmp_path):
    (sound,) = conversation("?", sounds[0])[-1]["content"][:1]
    (tmp_path / "sent.wav").write_bytes(b64decode(sound["input_audio"]["data"]))
    with wave.open(str(tmp_path / "sent.wav")) as sent, wave.open(str(sounds[0].path)) as original:
        assert sent.getparams()[:3] == (1, 2, RATE)
        sent_pcm = np.frombuffer(sent.readframes(-1), "<i2").astype(int)
        pcm = np.frombuffer(original.readframes(-1), "<i2").astype(int)
    inner = slice(400, -400)
    assert sent_pcm.size == pcm.size
    assert np.abs(sent_pcm[inner] - pcm[inner]).max() <= 3


def test_an_answer_off_the_list_is_known_by_the_least_listed(sounds):
    with OpenAIDouble(fault="yes-missing") as server:
        ((one,),) = ask(opened(server), Hearing((sounds[0],), ("Is it wind?",)))
    said = logprobs(conversation("Is it wind?", sounds[0]))
    listed = [said[token] for token in list(said)[:20] if token not in ("Yes", "yes")]
    assert "yes" in one.bounded
    assert one.yes == min(listed)


def test_spellings_off_the_list_count_only_where_they_could_matter():
    said = {"Yes": -0.1, "No": -3.0, "the": -4.0}
    found = yes_no_logprobs(said, ANY_CASE)
    # "yes" may hold e^-4, 2 % of "Yes", and "no" 37 % of "No".
    assert found.bounded == ("yes", "no")
    assert found.yes == pytest.approx(np.logaddexp(-0.1, -4.0))
    found = yes_no_logprobs({"Yes": -0.1, "No": -3.0, "the": -9.0}, ANY_CASE)
    assert (found.yes, found.no, found.bounded) == (-0.1, -3.0, ())


def test_neither_answer_listed_is_a_fault_of_its_row(sounds):
    with OpenAIDouble(next_faults=["both-missing"]) as server:
        backbone = opened(server)
        (first,) = ask(backbone, Hearing((sounds[0],), ("Is it rain?",)))
        (second,) = ask(backbone, Hearing((sounds[0],), ("Is it rain?",)))
    assert first.fault.code == "no_logprobs"
    assert "token" in first.fault.message
    assert len(second) == 1


def test_log_probabilities_in_another_form_are_a_fault_of_their_row(sounds):
    with OpenAIDouble(next_faults=["odd-logprobs"]) as server:
        backbone = opened(server)
        (first,) = ask(backbone, Hearing((sounds[0],), ("Is it rain?",)))
        (second,) = ask(backbone, Hearing((sounds[0],), ("Is it rain?",)))
    assert first.fault.code == "no_logprobs"
    assert "KeyError('logprob')" in first.fault.message
    assert len(second) == 1


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("no-logprobs", "returns no log-probabilities"),
        ("no-top", "`top_logprobs`"),
        ("bad-logprobs", "--max-logprobs"),
        ("401", "CONCORD_SERVER_KEY"),
        ("404", "still serves this model"),
    ],
)
def test_what_concerns_every_row_is_raised_and_says_what_mends_it(sounds, fault, words):
    with OpenAIDouble(fault=fault) as server:
        backbone = opened(server)
        with pytest.raises(SetupError) as found:
            ask(backbone, *[Hearing((sounds[0],), ("Is it rain?",))] * 20)
    assert words in str(found.value)


def test_an_older_server_that_passes_over_chosen_tokens_is_not_asked_for_them_again(sounds):
    with OpenAIDouble(chosen_tokens=True) as server:
        backbone = opened(server)
        server.fault = "yes-missing"
        ask(backbone, Hearing((sounds[0],), ("Is it rain?",)))
        ask(backbone, Hearing((sounds[0],), ("Is it rain?",)))
    assert ["logprob_token_ids" in body for body in server.requests] == [True, False]


def test_spellings_that_are_no_single_token_do_not_count(sounds):
    answers = AnswerTokens(("Yes", "YES"), ("No", "NO"))
    with OpenAIDouble(chosen_tokens=True) as server:
        ((one,),) = ask(opened(server), Hearing((sounds[0],), ("Is it rain?",)), answers=answers)
    said = logprobs(conversation("Is it rain?", sounds[0]))
    assert (one.yes, one.no, one.bounded) == (said["Yes"], said["No"], ())


def test_a_busy_tokenizer_is_asked_again(sounds):
    class Busy(OpenAIDouble):
        asked = 0

        def tokens(self, spelling):
            self.asked += 1
            return [] if self.asked == 1 else super().tokens(spelling)

    with Busy(chosen_tokens=True) as server:
        ask(opened(server), Hearing((sounds[0],), ("Is it rain?",)))
    assert "logprob_token_ids" in server.requests[0]


def test_a_server_that_refuses_chosen_tokens_is_asked_for_its_list(sounds):
    with OpenAIDouble(chosen_tokens=True, next_faults=["bad-logprobs"]) as server:
        (found,) = ask(opened(server), Hearing((sounds[0],), ("Is it rain?",)))
    assert len(found) == 1
    assert ["logprob_token_ids" in body for body in server.requests] == [True, False]


@pytest.mark.parametrize("fault", ["429", "500", "503", "malformed", "drop"])
def test_what_may_pass_is_tried_again(sounds, fault):
    with OpenAIDouble(next_faults=[fault, fault]) as server:
        ((written,),) = write(opened(server), Hearing((sounds[0],), ("Describe it.",)))
    assert written.text == answer(conversation("Describe it.", sounds[0]))
    assert len(server.requests) == 3


def test_an_answer_that_the_server_cut_off_is_told_from_a_whole_one(sounds):
    with OpenAIDouble(next_faults=["cut"]) as server:
        hearing = Hearing((sounds[0],), ("Describe it.",))
        answers = [write(opened(server), hearing) for _ in range(2)]
    assert [written.cut for ((written,),) in answers] == [True, False]
    assert answers[0][0][0].text == answers[1][0][0].text


def test_retry_after_is_waited_for(sounds, monkeypatch):
    monkeypatch.setattr(client, "FIRST_BACKOFF_S", 3600.0)
    with OpenAIDouble(next_faults=["429"]) as server:  # it says Retry-After: 0
        assert codes(write(opened(server), Hearing((), ("Describe it.",)))) == ["fine"]
    assert client._backoff_seconds(1, 1e9) == client.LONGEST_BACKOFF_S


@pytest.mark.parametrize(
    ("fault", "code", "tries"),
    [
        ("400", "server_refused", 1),
        ("429", "server_refused", 6),
        ("500", "server_refused", 6),
        ("503", "server_unreachable", 6),
        ("malformed", "server_refused", 6),
        ("drop", "server_unreachable", 6),
        ("no-text", "no_answer", 1),
    ],
)
def test_what_stays_is_a_fault_of_its_row_after_so_many_tries(sounds, fault, code, tries):
    with OpenAIDouble(fault=fault) as server:
        (found,) = write(opened(server), Hearing((), ("Describe it.",)))
    assert found.fault.code == code
    assert len(server.requests) == tries
    if fault.isdigit():
        assert f"({fault}: {fault} as told)" in found.fault.message


def test_a_server_that_takes_too_long_is_given_up(monkeypatch):
    monkeypatch.setattr(client, "RETRY_FOR_S", 0.0)
    with OpenAIDouble(fault="slow") as server:
        backbone = opened(server)
        backbone._calls._client.timeout = httpx2.Timeout(0.2)
        (found,) = write(backbone, Hearing((), ("Describe it.",)))
    assert found.fault.code == "server_unreachable"
    assert "timed out" in found.fault.message
    assert len(server.requests) == 1


def test_faults_stay_with_their_hearings(sounds):
    gone = Sound("0" * 64, Path("gone.wav"), 1.0)
    with OpenAIDouble() as server:
        found = write(
            opened(server), *[Hearing((sound,), ("Hm?",)) for sound in (sounds[0], gone, sounds[1])]
        )
    assert codes(found) == ["fine", "missing", "fine"]


def test_a_server_that_dies_and_comes_back_costs_nothing(sounds, monkeypatch):
    monkeypatch.setattr(client, "FIRST_BACKOFF_S", 0.05)
    twentieth = threading.Event()

    class Dying(OpenAIDouble):
        def fault_of_this(self, body, key):
            super().fault_of_this(body, key)
            if len(self.requests) <= 20:
                return ""
            twentieth.set()
            self.stopping.wait(20)
            return "drop"

    hearings = [Hearing((sounds[0],), (f"Question {number}?",)) for number in range(40)]
    with Dying() as server, ThreadPoolExecutor(1) as aside:
        backbone = opened(server)
        running = aside.submit(write, backbone, *hearings)
        assert twentieth.wait(20)
        server.stop()
        with OpenAIDouble(port=server.port) as again:
            found = running.result()
    assert [one[0].text for one in found] == [
        answer(conversation(h.questions[0], sounds[0])) for h in hearings
    ]
    assert len(again.requests) == 20


def test_a_server_that_stays_away_leaves_each_row_its_reason(sounds):
    with OpenAIDouble() as server:
        backbone = opened(server)
    found = write(backbone, *[Hearing((sounds[0],), ("Hm?",))] * 3)
    assert codes(found) == ["server_unreachable"] * 3
    assert server.url in found[0].fault.message


def test_a_server_silent_for_two_batches_stops_the_run(sounds):
    with OpenAIDouble() as server:
        backbone = opened(server)
    assert codes(write(backbone, *[Hearing((), ("Hm?",))] * 2)) == ["server_unreachable"] * 2
    with pytest.raises(SetupError, match="Start it again and retry the run"):
        write(backbone, *[Hearing((), ("Hm?",))] * 2)
    with OpenAIDouble(port=server.port):
        assert codes(write(backbone, Hearing((), ("Hm?",)))) == ["fine"]


def test_a_row_that_brings_the_server_down_does_not_stop_the_run(sounds):
    hearings = [Hearing((), (f"{number}?",)) for number in range(3)]
    with OpenAIDouble() as server:
        backbone = opened(server)
        for _ in range(3):
            server.next_faults.extend(["drop"] * client.TRIES)
            assert codes(write(backbone, hearings[0])) == ["server_unreachable"]
            assert codes(write(backbone, *hearings[1:])) == ["fine"] * 2


def test_eight_questions_are_under_way_at_once_and_no_more(sounds):
    # Nobody is answered before eight have asked.
    meeting = threading.Barrier(8, timeout=20)
    under_way = [0]
    most = []

    class Counting(OpenAIDouble):
        def fault_of_this(self, body, key):
            with self.counting:
                under_way[0] += 1
                most.append(under_way[0])
            meeting.wait()
            with self.counting:
                under_way[0] -= 1
            return super().fault_of_this(body, key)

    with Counting() as server:
        found = ask(opened(server), *[Hearing((sounds[0],), ("One?", "Two?"))] * 12)
    assert codes(found) == ["fine"] * 12
    assert max(most) == 8
