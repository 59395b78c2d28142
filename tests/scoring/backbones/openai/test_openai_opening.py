"""Finding a server: its address, its model, its key, and what of its refusals is shown."""

from __future__ import annotations

import httpx2
import pytest

from scoring.backbones.contract import Hearing
from scoring.backbones.openai import client
from scoring.backbones.openai.server import open_server
from scoring.metrics.contract import SetupError, Sound
from tests.scoring.backbones.encoders.asking import WORKPLACE, opened, tone, write
from tests.scoring.openai_double import OpenAIDouble


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    monkeypatch.setattr(client, "FIRST_BACKOFF_S", 0.001)
    monkeypatch.delenv(client.KEY_VARIABLE, raising=False)


@pytest.fixture(scope="session")
def sounds(tmp_path_factory) -> list[Sound]:
    folder = tmp_path_factory.mktemp("sounds")
    return [tone(folder / f"{pitch}.wav", pitch) for pitch in (300, 400, 500)]


def test_the_identity_holds_the_model_and_neither_the_address_nor_the_key(monkeypatch):
    monkeypatch.setenv(client.KEY_VARIABLE, "sesame")
    identities = []
    for _ in range(2):
        with OpenAIDouble(key="sesame") as server:
            monkeypatch.setenv(client.SERVER_VARIABLE, f"{server.url}/")
            identities.append(opened(server).identity)
    assert identities[0] == identities[1]
    assert identities[0]["model"] == server.model
    assert not any(word in str(identities) for word in ("sesame", "127.0.0.1"))


def test_the_key_is_sent_and_never_shown(monkeypatch, caplog):
    monkeypatch.setenv(client.KEY_VARIABLE, "sesame")
    caplog.set_level("DEBUG")
    with OpenAIDouble(key="sesame") as server:
        monkeypatch.setenv(client.SERVER_VARIABLE, server.url)
        backbone = opened(server)
        write(backbone, Hearing((), ("Hm?",)))
        assert server.keys == ["Bearer sesame"]
        server.key = "another"  # the double's refusal repeats the key that it was given
        with pytest.raises(SetupError) as found:
            write(backbone, Hearing((), ("Hm?",)))
    assert "CONCORD_SERVER_KEY" in str(found.value)
    assert "sesame" not in str(found.value) + caplog.text


def test_the_key_goes_to_no_server_but_its_own(monkeypatch):
    monkeypatch.setenv(client.KEY_VARIABLE, "sesame")
    monkeypatch.setenv(client.SERVER_VARIABLE, "https://models.example.org/v1")
    with OpenAIDouble() as server:
        write(opened(server), Hearing((), ("Hm?",)))
        assert server.keys == [None]


@pytest.mark.parametrize("status", [400, 403, 404, 500])
@pytest.mark.parametrize(
    ("body", "shown", "shown_of_own"),
    [
        ('{"error": {"message": "as told", "secret": 1}}', "as told", "as told"),
        ('{"error": "hunter2"}', "", "hunter2"),
        ('{"detail": "hunter2"}', "", "hunter2"),
        ("<html>hunter2</html>", "", "hunter2"),
        ('["hunter2"]', "", "hunter2"),
    ],
)
def test_of_a_refusal_only_the_apis_own_words_are_shown(monkeypatch, status, body, shown, shown_of_own):
    calls = client.ApiClient("http://10.0.0.7/v1", key="", at_once=1)
    response = httpx2.Response(status, text=body)
    told = str(calls._refusal(response))
    assert "hunter2" not in told
    assert (f"({status}: {shown})" if shown else f"({status})") in told
    monkeypatch.setenv(client.SERVER_VARIABLE, "http://10.0.0.7/v1/")
    assert shown_of_own in str(calls._refusal(response))


def test_only_servers_that_the_operator_allows_are_asked(monkeypatch):
    with OpenAIDouble() as server:
        monkeypatch.setenv(client.ALLOWED_VARIABLE, "https://models.example.org/v1")
        with pytest.raises(SetupError, match="not among the servers that may be asked here"):
            opened(server)
        monkeypatch.setenv(client.ALLOWED_VARIABLE, f"https://models.example.org/v1, {server.url}/")
        assert opened(server).identity["model"] == server.model


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("{url}#other/model", "does not serve 'other/model' but tiny/listener"),
        ("{url}", "Name one of them after the #"),
        ("{root}#tiny/listener", "in /v1"),
        ("http://user:secret@localhost/v1#m", "CONCORD_SERVER_KEY"),
        ("http:///v1#m", "http://host:8000/v1#MODEL"),
    ],
)
def test_a_wrong_address_or_model_is_told_when_opening(name, words):
    with OpenAIDouble() as server:
        filled = name.format(url=server.url, root=server.url.removesuffix("/v1"))
        with pytest.raises(SetupError) as found:
            open_server(filled, runtime=WORKPLACE)
    assert words in str(found.value)
    assert "secret" not in str(found.value)


def test_no_server_and_no_key_are_told_when_opening():
    with OpenAIDouble(key="sesame") as server, pytest.raises(SetupError, match="set CONCORD_SERVER_KEY"):
        opened(server)
    with pytest.raises(SetupError, match="vllm serve tiny/listener"):
        opened(server)
