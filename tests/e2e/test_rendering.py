"""What comes out of the loudspeaker, sample by sample: the page's own player, rendered by the browser.

The clips travel as they do in the product: parts of canonical FLAC files, decoded by the browser.
"""

from __future__ import annotations

import base64
import random
from pathlib import Path

import numpy as np
import pytest

from annotation.audio.flac import FlacWriter, quantise
from annotation.audio.parts import PaddedParts, padded_sizes, part_offsets

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

RATE = 48_000
SAMPLES = 6 * RATE
QUANTUM = 128
SCRIPT = (Path(__file__).parent / "rendering.js").read_text(encoding="utf-8")
# A hundred different moments, but for the first and the last tenth of a second.
SWITCHES = sorted(random.Random(3).sample(range(40, SAMPLES // QUANTUM - 40), 100))


@pytest.fixture
def rendered(page, live_server, tmp_path):
    """What the player makes of two clips and a hundred switches at random moments: (left, right)."""

    def render(a: np.ndarray, b: np.ndarray, *, fade_ms: float) -> np.ndarray:
        page.goto(live_server.url)
        facts = {
            "clips": {"a": parts_of(a, tmp_path / "a.flac"), "b": parts_of(b, tmp_path / "b.flac")},
            "switches": SWITCHES,
            "samples": SAMPLES,
            "fadeMs": fade_ms,
            "root": "/static/js/player/",
        }
        result = page.evaluate(SCRIPT, facts)
        assert result["switches"] == 100
        return np.stack(
            [np.frombuffer(base64.b64decode(result[side]), dtype="<f4") for side in ("left", "right")]
        )

    return render


def parts_of(samples: np.ndarray, path: Path) -> list[str]:
    with FlacWriter(path, channels=1, bits=16, rate=RATE) as writer:
        writer.push(quantise(samples[np.newaxis].astype(np.float32), bits=16))
    with path.open("rb") as file:
        offsets = part_offsets(file)
    sizes = padded_sizes([offsets])
    parts = PaddedParts(path.open("rb"), offsets=offsets, n_samples=len(samples), sizes=sizes)
    data = b"".join(parts.read(0, parts.size))
    return [
        base64.b64encode(data[start:end]).decode()
        for start, end in zip([0, *parts.ends], parts.ends, strict=False)
    ]


def clicks(amplitude: float) -> np.ndarray:
    track = np.zeros(SAMPLES)
    track[::480] = amplitude
    return track


def sine(hertz: float) -> np.ndarray:
    return 0.5 * np.sin(2 * np.pi * hertz * np.arange(SAMPLES) / RATE)


@pytest.mark.parametrize("fade_ms", [0, 5, 50])
def test_a_hundred_switches_keep_the_place_to_the_sample(rendered, fade_ms):
    left, right = rendered(clicks(0.8), clicks(0.4), fade_ms=fade_ms)
    assert np.array_equal(left, right)
    where = np.flatnonzero(np.abs(left) > 0.01)
    assert np.array_equal(where, np.arange(0, SAMPLES, 480))
    heights = left[where]
    assert (np.abs(heights - 0.8) < 0.001).sum() > 100
    assert (np.abs(heights - 0.4) < 0.001).sum() > 100


def test_each_clip_sounds_exactly_between_its_switches(rendered):
    left, _ = rendered(np.full(SAMPLES, 0.5), np.full(SAMPLES, 0.25), fade_ms=0)
    edges = np.flatnonzero(np.diff(left)) + 1
    assert edges.tolist() == [quantum * QUANTUM for quantum in SWITCHES]


def test_no_switch_has_a_step_beyond_the_slope_of_the_sounds_and_the_fade(rendered):
    low, high, fade_ms = 311.0, 467.0, 5
    left, _ = rendered(sine(low), sine(high), fade_ms=fade_ms)
    own = 0.5 * 2 * np.pi * high / RATE
    of_the_fade = 2 * 0.5 * np.pi / (2 * RATE * fade_ms / 1000)
    assert np.abs(np.diff(left)).max() <= own + of_the_fade
    assert np.abs(left[-4800:]).max() > 0.49


def test_the_same_sound_on_both_sides_goes_through_a_hundred_switches_unchanged(rendered):
    left, _ = rendered(sine(440), sine(440), fade_ms=5)
    expected = quantise(sine(440)[np.newaxis].astype(np.float32), bits=16)[0] / 32768
    assert np.abs(left - expected).max() < 1e-4
