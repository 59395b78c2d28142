"""What is said to a server with the OpenAI API and how its log-probabilities are read: plain values, no network."""

from __future__ import annotations

import base64
import io
import math
import wave
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.backbones.contract import AnswerTokens, Written, YesNo
from scoring.metrics.contract import ExampleError, SetupError

# Spellings that a list leaves out may hold so much of an answer's probability before it counts as bounded: 1 % moves
# a score by a quarter of a hundredth at most.
NEGLIGIBLE = 0.01


def wav_base64(samples: NDArray[np.float32], *, rate: int) -> str:
    """Mono samples, full scale at -1 and 1, as a 16-bit WAV file in base64."""
    pcm = np.clip(np.rint(samples * 32768.0), -32768, 32767).astype("<i2")
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(rate)
        writer.writeframes(pcm.tobytes())
    return base64.b64encode(file.getvalue()).decode("ascii")


def messages(sounds: Sequence[str], question: str, *, system: str) -> list[dict[str, Any]]:
    """The conversation that asks one question: sounds (WAV, base64) first, in their order, then the text."""
    parts: list[dict[str, Any]] = [
        {"type": "input_audio", "input_audio": {"data": sound, "format": "wav"}} for sound in sounds
    ]
    # A text alone is sent as a text: models without ears know no parts.
    content: Any = [*parts, {"type": "text", "text": question}] if parts else question
    spoken = [{"role": "user", "content": content}]
    return [{"role": "system", "content": system}, *spoken] if system else spoken


def written(answer: Mapping[str, Any]) -> Written:
    """The text of an answer, and whether it was cut off. Raises ExampleError `no_answer`."""
    text = _part(answer, "message", "content")
    if not isinstance(text, str):
        raise ExampleError("no_answer", "The server's answer holds no text.")
    # JSON can hold halves of characters, where a server cut an answer short; nothing else can.
    whole = text.encode(errors="replace").decode()
    n_read, n_written = tokens(answer.get("usage"))
    cut = _first_choice(answer).get("finish_reason") == "length"
    return Written(whole, cut=cut, prompt_tokens=n_read, completion_tokens=n_written)


def tokens(usage: Any) -> tuple[int, int]:
    """Tokens read and written, as an answer counts them; 0 where it does not say."""
    counts = usage if isinstance(usage, dict) else {}
    read, written = counts.get("prompt_tokens"), counts.get("completion_tokens")
    return (int(read) if isinstance(read, int) else 0), (int(written) if isinstance(written, int) else 0)


def listed(answer: Mapping[str, Any]) -> dict[str, float]:
    """The log-probabilities that an answer lists for its first token, by spelling.

    Raises SetupError where the server gives none at all, ExampleError `no_logprobs` where it wrote nothing.
    """
    positions = _part(answer, "logprobs", "content")
    if positions is None:
        raise SetupError(
            "The server returns no log-probabilities. Use one that answers `logprobs` and `top_logprobs`, as vLLM does "
            "for every model, or a scorer that reads what the model writes: prompting or cascade."
        )
    if not positions:
        raise ExampleError(
            "no_logprobs", "The model wrote nothing, so there are no log-probabilities to read."
        )
    try:
        # Two tokens may read alike once decoded; the likelier one stands first.
        entries = reversed(positions[0].get("top_logprobs") or [])
        found = {str(entry["token"]): float(entry["logprob"]) for entry in entries}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ExampleError(
            "no_logprobs", f"The server's log-probabilities are not in the form of the API ({error!r})."
        ) from error
    if not found:
        raise SetupError(
            "The server lists no likely tokens beside the one it chose (`top_logprobs`), and both answers are needed."
        )
    return found


def yes_no(found: Mapping[str, float], answers: AnswerTokens) -> YesNo:
    """What a list of the likeliest tokens says of both answers.

    A spelling that is not listed is no likelier than the least likely one that is. Raises ExampleError `no_logprobs`
    where neither answer is listed: then nothing is known of their ratio.
    """
    if not any(spelling in found for spelling in (*answers.yes, *answers.no)):
        likeliest = max(found, key=lambda token: found[token])
        raise ExampleError(
            "no_logprobs",
            f"Neither answer is among the {len(found)} tokens that the server lists; the likeliest is {likeliest!r}. "
            "The model does not answer with yes or no here, or spells them otherwise.",
        )
    least = min(found.values())
    yes, yes_bounded = _summed(found, answers.yes, least)
    no, no_bounded = _summed(found, answers.no, least)
    bounded = [name for name, is_bounded in (("yes", yes_bounded), ("no", no_bounded)) if is_bounded]
    return YesNo(yes, no, tuple(bounded))


def _summed(found: Mapping[str, float], spellings: Sequence[str], least: float) -> tuple[float, bool]:
    """The log of the spellings' summed probability, and whether it is no more than an upper bound."""
    known = [found[spelling] for spelling in spellings if spelling in found]
    n_unknown = len(spellings) - len(known)
    total = _log_sum(known)
    if not n_unknown or (known and math.log(n_unknown) + least - total < math.log(NEGLIGIBLE)):
        return total, False
    return _log_sum([*known, *[least] * n_unknown]), True


def _log_sum(values: Sequence[float]) -> float:
    if not values:
        return -math.inf
    top = max(values)
    return top + math.log(sum(math.exp(value - top) for value in values))


def _part(answer: Mapping[str, Any], of: str, name: str) -> Any:
    """`choices[0].of.name`, None where something on the way is missing."""
    part = _first_choice(answer).get(of)
    return part.get(name) if isinstance(part, dict) else None


def _first_choice(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = answer.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else {}
