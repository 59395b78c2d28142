"""Asking a server, as tests of servers do."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np

from scoring.backbones.contract import AnswerTokens, Hearing
from scoring.backbones.loading.sounds import decode
from scoring.backbones.openai.server import chat_messages, open_server, wav_base64
from scoring.metrics.contract import ExampleError, Sound
from scoring.metrics.registry import Runtime
from tests.scoring.openai_double import OpenAIDouble

SYSTEM = "Answer with yes or no."
RATE = 16_000
WORKPLACE = Runtime(Path("unused"), 0)
EXACT = AnswerTokens()
ANY_CASE = AnswerTokens(("Yes", "yes"), ("No", "no"))


def tone(path: Path, pitch: int) -> Sound:
    samples = np.sin(2 * np.pi * pitch * np.arange(RATE // 2) / RATE) * 0.3
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", ""))
        file.writeframes((samples * 32767).astype("<i2").tobytes())
    return Sound(f"{pitch:064}", path, 0.5)


def opened(server: OpenAIDouble):
    return open_server(server.name, runtime=WORKPLACE)


def conversation(question: str, *heard: Sound, system: str = SYSTEM):
    return chat_messages(
        [wav_base64(decode(sound, rate=RATE, seconds=60), rate=RATE) for sound in heard],
        question,
        system=system,
    )


def ask(backbone, *hearings: Hearing, answers: AnswerTokens = EXACT):
    return backbone.answer_logprobs(list(hearings), system=SYSTEM, answers=answers)


def write(backbone, *hearings: Hearing):
    return backbone.generate(list(hearings), system=SYSTEM, max_new_tokens=512)


def codes(answers):
    return [one.fault.code if isinstance(one, ExampleError) else "fine" for one in answers]
