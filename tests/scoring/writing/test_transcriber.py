"""Transcripts by a tiny Whisper, whose windows last two seconds."""

from __future__ import annotations

import pytest
from transformers import WhisperForConditionalGeneration, WhisperProcessor

from scoring.backbones.loading.sounds import decode
from scoring.metrics.contract import SetupError
from scoring.metrics.registry import Runtime
from scoring.writing.contract import WritingRequest
from scoring.writing.text_writer import open_writer
from scoring.writing.transcriber import RATE
from tests.scoring.checkpoints import tiny_whisper
from tests.scoring.sounds import sound


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return tiny_whisper(tmp_path_factory.mktemp("whisper"))


@pytest.fixture
def runtime(tmp_path) -> Runtime:
    return Runtime(tmp_path / "features", 0, "cpu")


def test_short_and_long_sounds_are_transcribed_as_whisper_itself_does(tmp_path, runtime, checkpoint):
    sounds = [sound(tmp_path, seconds=seconds, seed=n) for n, seconds in enumerate((0.7, 1.5, 4.5))]
    writer = open_writer("transcript", str(checkpoint), {"language": "german"}, None, runtime)
    found = writer.write([WritingRequest(n, each) for n, each in enumerate(sounds)])
    model = WhisperForConditionalGeneration.from_pretrained(checkpoint)
    processor = WhisperProcessor.from_pretrained(checkpoint)
    for each, text in zip(sounds, found, strict=True):
        is_long = each.seconds > 2
        features = processor(
            decode(each, rate=RATE, seconds=60), sampling_rate=RATE, return_tensors="pt",
            return_attention_mask=True, **({"truncation": False, "padding": "longest"} if is_long else {}),
        )  # fmt: skip
        said = model.generate(**features, language="de", task="transcribe", return_timestamps=is_long)
        assert text.text == processor.batch_decode(said, skip_special_tokens=True)[0].strip()
        assert "<|" not in text.text
        assert text.completion_tokens > 0
    assert writer.identity["language"] == "german"
    assert writer.identity["backbone"]["weights"].startswith("sha256:")


def test_faults_stay_with_their_sounds(tmp_path, runtime, checkpoint):
    broken = tmp_path / "broken.wav"
    broken.write_bytes(b"RIFF....")
    heard = sound(tmp_path, seconds=0.5)
    writer = open_writer("transcript", str(checkpoint), {}, None, runtime)
    asked = [
        WritingRequest(1, None),
        WritingRequest(2, type(heard)("0" * 64, broken, 1.0)),
        WritingRequest(3, heard),
    ]
    nothing, undecodable, text = writer.write(asked)
    assert (nothing.fault.code, undecodable.fault.code) == ("no_sound", "undecodable")
    assert text.text


@pytest.mark.parametrize(
    ("multilingual", "language", "why"),
    [
        (True, "Klingon", "knows no language 'Klingon'; it knows de, en"),
        (False, "German", "knows English only"),
    ],
)
def test_a_language_that_the_model_does_not_know_is_refused(
    tmp_path, runtime, checkpoint, multilingual, language, why
):
    folder = checkpoint if multilingual else tiny_whisper(tmp_path, multilingual=False)
    with pytest.raises(SetupError, match=why):
        open_writer("transcript", str(folder), {"language": language}, None, runtime)
