"""The outbox against a mail server that answers over a socket: as it should, not at all, late, or with a refusal."""

from __future__ import annotations

import socketserver
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from django.utils import timezone

from annotation.mail import delivery, messages, outbox
from annotation.models import AuditEvent, Mail

pytestmark = pytest.mark.django_db
OFFER = b"250-mail.example\r\n250-SIZE 10000000\r\n250 8BITMIME\r\n"


@dataclass
class Server:
    """What a mail server is to do, and what it got. `answers` replace those to a command, by its first word."""

    port: int = 0
    answers: dict[str, bytes] = field(default_factory=dict)
    wait: float = 0.0
    received: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)


@pytest.fixture
def server(settings) -> Iterator[Server]:
    """Of SMTP as RFC 5321 has it, without TLS, on a port of this machine."""
    state = Server()

    class Conversation(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.answer("CONNECT", b"220 mail.example ESMTP\r\n")
            for line in self.rfile:
                command = line.split()[0].decode().upper()
                state.commands.append(command)
                self.answer(command, {"EHLO": OFFER, "DATA": b"354 go on\r\n"}.get(command, b"250 fine\r\n"))
                if command == "QUIT":
                    return
                if command == "DATA" and "DATA" not in state.answers:
                    text = b"".join(iter(self.rfile.readline, b".\r\n"))
                    state.received.append(text.decode())
                    self.answer("TEXT", b"250 queued\r\n")

        def answer(self, command: str, usual: bytes) -> None:
            time.sleep(state.wait)
            self.wfile.write(state.answers.get(command, usual))

        def handle_error(self) -> None: ...

    class Listener(socketserver.ThreadingTCPServer):
        daemon_threads = allow_reuse_address = True

        def handle_error(self, request: object, client_address: object) -> None:
            """The client hung up, as it does after a timeout."""

    with Listener(("127.0.0.1", 0), Conversation) as listener:
        state.port = listener.server_address[1]
        threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", state.port
        settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
        settings.EMAIL_TIMEOUT = 0.3
        yield state
        listener.shutdown()


def post(name: str = "ada") -> Mail:
    link = "https://concord.example/lost-password/1/secret-token/"
    kind = Mail.Kind.PASSWORD_RESET
    mail = outbox.post(f"{name}@example.org", lambda: messages.password_reset(link=link), kind=kind)
    assert mail is not None
    return mail


def send(mail: Mail) -> Mail:
    """One try, whether or not it is due."""
    Mail.objects.filter(state="waiting").update(due_at=timezone.now())
    delivery.send_due()
    mail.refresh_from_db()
    return mail


def test_several_mails_go_out_over_one_connection(server):
    assert all(send(post(name)).state == "sent" for name in ("ada", "bob"))
    for name in ("eve", "dan"):
        post(name)
    server.commands.clear()
    assert delivery.send_due() == 2
    assert server.commands.count("EHLO") == 1
    assert [text for text in server.received if "To: ada@example.org" in text]
    assert "secret-token" in server.received[0]


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"wait": 0.5}, "timed out"),
        ({"answers": {"CONNECT": b"421 too busy\r\n"}}, "421"),
        ({"answers": {"RCPT": b"451 greylisted, try again\r\n"}}, "greylisted"),
        ({"answers": {"MAIL": b"530 authentication required\r\n"}}, "authentication required"),
        ({"answers": {"DATA": b"452 no room\r\n"}}, "no room"),
        ({"answers": {"TEXT": b"451 scanner is down\r\n"}}, "scanner is down"),
    ],
)
def test_what_may_pass_is_said_and_tried_again_until_it_has(server, fault, said):
    for name, value in fault.items():
        setattr(server, name, value)
    mail = send(post())
    assert (mail.state, mail.n_tries) == ("waiting", 1)
    assert said in mail.error
    assert timezone.now() < mail.due_at <= timezone.now() + delivery.RETRY_AFTER[0]
    assert mail.text
    server.answers, server.wait = {}, 0.0
    assert (send(mail).state, mail.error) == ("sent", "")
    assert len([text for text in server.received if "To: ada@example.org" in text]) <= 2


def test_nothing_goes_out_in_the_clear_where_the_server_has_no_starttls(server, settings):
    settings.EMAIL_USE_TLS = True
    mail = send(post())
    assert (mail.state, server.received) == ("waiting", [])
    assert "STARTTLS" in mail.error


def test_a_server_that_is_not_there_is_said_and_waited_for(server, settings):
    settings.EMAIL_PORT = 1
    mail = send(post())
    assert mail.state == "waiting"
    assert "refused" in mail.error
    settings.EMAIL_PORT = server.port
    assert send(mail).state == "sent"


def test_an_address_that_the_server_does_not_know_is_given_up_at_once(server):
    server.answers = {"RCPT": b"550 no such person\r\n"}
    mail = send(post())
    assert (mail.state, mail.text) == ("failed", "")
    assert "no such person" in mail.error
    assert AuditEvent.objects.get().action == "mail.failed"


def test_one_refused_address_holds_nobody_else_up(server):
    server.answers = {"RCPT": b"550 no such person\r\n"}
    post("ghost"), post("ada")
    assert delivery.send_due() == 0
    assert server.commands.count("QUIT") == 2
    server.answers = {}
    assert send(post("bob")).state == "sent"
    assert set(Mail.objects.filter(state="failed").values_list("to", flat=True)) == {
        "ghost@example.org",
        "ada@example.org",
    }
