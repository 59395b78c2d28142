"""Any server that speaks the OpenAI API as a backbone: vLLM on another machine, mostly.

What is relied on, as vLLM documents it:

- a sound travels inside the message, as `input_audio` with base64 and its format;
- `logprobs` with `top_logprobs` lists the likeliest tokens of each position with log-probabilities over the whole
  vocabulary, before any temperature (`--logprobs-mode raw_logprobs`, the default); no more than `--max-logprobs` of
  them, 20 unless set, which is OpenAI's own limit;
- since mid-2026 `logprob_token_ids` asks for chosen tokens instead, however unlikely they are. It takes token ids,
  which vLLM's /tokenize tells. A server that does not know both is asked for the list alone, and an answer that is not
  on it is known by an upper bound only.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

from scoring.backbones.contract import AnswerTokens, Hearing, Written, YesNo
from scoring.backbones.openai_calls import ALLOWED_VARIABLE, KEY_VARIABLE, Calls, Spent, is_own
from scoring.backbones.openai_messages import listed, messages, wav_base64, written, yes_no
from scoring.backbones.sounds import decode
from scoring.metrics.contract import ExampleError, SetupError, Sound
from scoring.metrics.registry import Workplace

_log = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")

CODE = 1
AT_ONCE = 8
LISTED = 20
# What the supported models hear themselves. One form for every file: the same sound must not score differently for
# its container, and WAV is what every such server reads (OpenAI's own takes WAV and MP3 only).
HEARD_AT = 16_000
# What the model behind hears is its own to say, but nothing longer is any of the supported models' to hear, and each
# minute is 2.6 MB in a request.
LONGEST_S = 40 * 60.0


def open_server(url: str, *, workplace: Workplace) -> OpenAIServer:
    """A backbone from a name such as http://host:8000/v1#Qwen/Qwen2.5-Omni-7B. Raises SetupError.

    The key, where the server wants one, is read from CONCORD_SERVER_KEY; it goes to CONCORD_SERVER_URL alone.
    """
    base, model = check_address(url)
    calls = Calls(base, key=_key_for(base), at_once=AT_ONCE)
    try:
        served = _served(calls)
    except ExampleError as error:
        raise SetupError(
            f"{error.fault.message} Start the server, for example `vllm serve {model or 'MODEL'} --port 8000`, or "
            "correct the address."
        ) from error
    if model not in served:
        names = ", ".join(served) or "nothing"
        raise SetupError(
            f"{base} does not serve {model!r} but {names}. Name one of them after the #: {base}#MODEL."
        )
    return OpenAIServer(calls, model=model, weights=served[model])


class OpenAIServer:
    """See Backbone. The served name, and the weights that the server says it stands for, are taken at their word; the
    address is not part of the identity, since clusters give the same server a new one each day."""

    def __init__(self, calls: Calls, *, model: str, weights: str) -> None:
        self.identity: Mapping[str, Any] = {
            "backbone": "server",
            "code": CODE,
            "model": model,
            "weights": weights,
            "sound": f"{HEARD_AT} Hz, mono, 16-bit WAV",
        }
        self._calls = calls
        self._model = model
        self._tokens: dict[AnswerTokens, _Tokens] = {}
        self._is_silent = False

    @property
    def spent(self) -> Spent:
        """Requests and tokens so far, as the server counts them."""
        return self._calls.spent

    def prepare(self, sounds: Sequence[Sound]) -> None:
        """Nothing: a request's own thread reads its sound, while the other threads wait for the server."""

    def ask(
        self, hearings: Sequence[Hearing], *, system: str, answers: AnswerTokens
    ) -> list[Sequence[YesNo] | Exception]:
        if answers not in self._tokens:
            self._tokens[answers] = self._told(answers)

        def one(sounds: Sequence[str], question: str) -> YesNo:
            return self._yes_no(messages(sounds, question, system=system), self._tokens[answers])

        return self._each(hearings, one)

    def write(
        self, hearings: Sequence[Hearing], *, system: str, max_new_tokens: int
    ) -> list[Sequence[Written] | Exception]:
        def one(sounds: Sequence[str], question: str) -> Written:
            said = messages(sounds, question, system=system)
            return written(self._chat(said, max_tokens=max_new_tokens))

        return self._each(hearings, one)

    def _yes_no(self, said: list[dict[str, Any]], tokens: _Tokens) -> YesNo:
        asked = {"logprob_token_ids": tokens.ids} if tokens.ids else {}
        try:
            found = listed(self._chat(said, max_tokens=1, logprobs=True, top_logprobs=LISTED, **asked))
        except ExampleError as error:
            if "logprob" not in error.fault.message or error.fault.code != "server_refused":
                raise
            if not asked:
                raise SetupError(
                    f"{error.fault.message} The log-probabilities of {LISTED} tokens are needed; vLLM gives "
                    "them unless it was started with a smaller --max-logprobs."
                ) from error
            tokens.ids = []
            return self._yes_no(said, tokens)
        counted = tokens.counted
        if asked and not all(spelling in found for spelling in (*counted.yes, *counted.no)):
            tokens.ids = []  # an older server, which lists its likeliest tokens all the same
        return yes_no(found, counted)

    def _told(self, answers: AnswerTokens) -> _Tokens:
        """What the server's tokenizer says of the spellings. Where it says nothing, any of them may count."""
        ids: dict[str, int] = {}
        for spelling in (*answers.yes, *answers.no):
            body = {"model": self._model, "prompt": spelling, "add_special_tokens": False}
            told = self._calls.attempt(self._calls.base.removesuffix("/v1") + "/tokenize", body)
            tokens = told.get("tokens") if told else None
            if not isinstance(tokens, list):
                return _Tokens([], answers)
            if len(tokens) == 1 and isinstance(tokens[0], int):
                ids[spelling] = tokens[0]
        counted = AnswerTokens(
            *(tuple(one for one in both if one in ids) for both in (answers.yes, answers.no))
        )
        return _Tokens(list(ids.values()), counted) if counted.yes and counted.no else _Tokens([], answers)

    def _chat(self, said: list[dict[str, Any]], **settings: Any) -> dict[str, Any]:
        return self._calls.send(
            "/chat/completions", {"model": self._model, "messages": said, "temperature": 0, **settings}
        )

    def _each(
        self, hearings: Sequence[Hearing], one: Callable[[Sequence[str], str], _Answer]
    ) -> list[Sequence[_Answer] | Exception]:
        """`one(sounds, question)` for every question, AT_ONCE of them at a time."""
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="openai-server") as pool:
            futures = [
                [pool.submit(_answer, one, heard, question) for question in hearing.questions]
                for hearing in hearings
                for heard in [_Heard(hearing.sounds)]
            ]
            try:
                found = [_gathered(answers) for answers in futures]
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        _log.info("%s: %s so far", self._model, self.spent)
        self._listen_for_silence(found)
        return found

    def _listen_for_silence(self, found: Sequence[object]) -> None:
        """A row that was not answered keeps its fault: it may be what brought the server down. Two batches without one
        answer are about the server."""
        silent = [isinstance(one, ExampleError) and one.fault.code == "server_unreachable" for one in found]
        if not silent:
            return
        if all(silent) and self._is_silent:
            raise SetupError(
                f"{self._calls.base} has answered nothing for two batches. Start it again and retry the run: it "
                "goes on where it stopped."
            )
        self._is_silent = all(silent)


@dataclass
class _Tokens:
    """The spellings that count, those being left out that are no single token, and the ids to ask for; no ids where
    the server takes none."""

    ids: list[int]
    counted: AnswerTokens


class _Heard:
    """A hearing's sounds as they are sent: read by the first question that is asked, let go with the last."""

    def __init__(self, sounds: Sequence[Sound]) -> None:
        self._sounds = sounds
        self._reading = threading.Lock()
        self._encoded: list[str] | None = None

    def encoded(self) -> list[str]:
        with self._reading:
            if self._encoded is None:
                self._encoded = [
                    wav_base64(decode(sound, rate=HEARD_AT, seconds=LONGEST_S), rate=HEARD_AT)
                    for sound in self._sounds
                ]
            return self._encoded


def _answer(one: Callable[[Sequence[str], str], _Answer], heard: _Heard, question: str) -> _Answer:
    return one(heard.encoded(), question)


def _gathered(answers: Sequence[Future[_Answer]]) -> Sequence[_Answer] | Exception:
    """All answers of a hearing, or the first fault among them. Raises what concerns every hearing."""
    try:
        return [answer.result() for answer in answers]
    except ExampleError as error:
        return error


def check_address(url: str) -> tuple[str, str]:
    """Where the API begins, and the model's name. Nothing is sent.

    Raises SetupError for what is no address, or that of a server that may not be asked here.
    """
    base, model = _parts(url)
    _require_allowed(base)
    return base, model


def _parts(url: str) -> tuple[str, str]:
    """Where the API begins, and the model's name."""
    base, _, model = url.strip().partition("#")
    address = urlsplit(base)
    if address.scheme not in ("http", "https") or not address.hostname or address.query:
        raise SetupError(f"{base} is no address of a server. Write it as http://host:8000/v1#MODEL.")
    if address.username is not None or address.password is not None:
        raise SetupError(f"Leave the key out of the address, where everyone sees it, and set {KEY_VARIABLE}.")
    return base.rstrip("/"), model.strip()


def _key_for(base: str) -> str:
    return os.environ.get(KEY_VARIABLE, "") if is_own(base) else ""


def _require_allowed(base: str) -> None:
    allowed = [each.strip().rstrip("/") for each in os.environ.get(ALLOWED_VARIABLE, "").split(",")]
    if any(allowed) and base not in allowed:
        raise SetupError(
            f"{base} is not among the servers that may be asked here. The operator adds it to {ALLOWED_VARIABLE}."
        )


def _served(calls: Calls) -> dict[str, str]:
    """The models that a server offers and what it says of their weights (vLLM's `root`)."""
    models = calls.send("/models").get("data")
    entries = [entry for entry in models if isinstance(entry, dict)] if isinstance(models, list) else []
    return {str(entry["id"]): str(entry.get("root") or entry["id"]) for entry in entries if "id" in entry}
