from __future__ import annotations

from io import BytesIO

import av
import numpy as np
import pytest

from annotation.audio import check_sounds
from annotation.audio.check_sounds import RATE, SIZES, encode, huggins_noise, intervals, synthesise, tone
from annotation.audio.decode import Samples
from annotation.audio.loudness import LoudnessMeter
from annotation.listening.rules.checks import KINDS, draw_trials


def decibels(signal: np.ndarray) -> float:
    return float(20 * np.log10(np.sqrt(np.mean(signal.astype(np.float64) ** 2))))


def loudness(samples: Samples) -> float:
    meter = LoudnessMeter(channels=2, rate=RATE)
    meter.push(samples)
    meter.finish()
    assert meter.loudness_lufs is not None
    return meter.loudness_lufs


def parts(kind: str, samples: Samples) -> list[Samples]:
    return [samples[:, round(start * RATE) : round(end * RATE)] for start, end in intervals(kind)]


def spectrum(samples: np.ndarray) -> np.ndarray:
    """Of both ears; one bin is 1 Hz."""
    return np.fft.rfft(samples.astype(np.float64), axis=-1)


@pytest.mark.parametrize("kind", KINDS)
def test_sounds_depend_on_the_seed_alone(kind):
    one, other = draw_trials(kind, seed=1)[0], {**draw_trials(kind, seed=1)[0], "seed": 5}
    np.testing.assert_array_equal(synthesise(kind, one), synthesise(kind, one))
    assert encode(kind, synthesise(kind, one)) == encode(kind, synthesise(kind, one))
    if kind in ("level", "huggins"):  # the others hold no noise
        assert not np.array_equal(synthesise(kind, one), synthesise(kind, other))


@pytest.mark.parametrize("kind", KINDS)
def test_all_sounds_of_a_kind_are_of_one_size_and_decode_to_what_was_made(kind):
    for trial in draw_trials(kind, seed=2)[:3]:
        samples = synthesise(kind, trial)
        data = encode(kind, samples)
        assert len(data) == SIZES[kind]
        with av.open(BytesIO(data)) as container:
            assert container.streams.audio[0].rate == RATE
            heard = np.concatenate([frame.to_ndarray() for frame in container.decode(audio=0)], axis=1)
        heard = heard.reshape(-1, 2).T / 32768
        np.testing.assert_allclose(heard, samples, atol=1 / 32768)


@pytest.mark.parametrize("kind", KINDS)
def test_every_check_suits_the_volume_set_in_the_first(kind):
    for trial in draw_trials(kind, seed=3)[:2]:
        samples = synthesise(kind, trial)
        assert loudness(samples) == pytest.approx(-23.0, abs=0.1 if kind == "level" else 2.0)
        assert np.abs(samples).max() < 10 ** (-6 / 20)


def test_the_volume_is_set_by_the_same_sound_in_both_ears_that_loops_without_a_click():
    left, right = synthesise("level", draw_trials("level", seed=1)[0])
    np.testing.assert_array_equal(left, right)
    steps = np.abs(np.diff(left))
    assert abs(left[0] - left[-1]) <= steps.max()


def test_left_and_right_sound_in_one_ear_only():
    for trial in draw_trials("left_right", seed=4):
        samples = synthesise("left_right", trial)
        assert not samples[1 - trial["key"]].any()
        assert decibels(samples[trial["key"]]) > -40


def test_a_tone_of_200_hz_fades_in_and_out_and_cancels_in_the_air_in_antiphase():
    plain, turned = (tone(quiet=False, antiphase=antiphase) for antiphase in (False, True))
    assert np.abs(turned.sum(axis=0)).max() == 0.0
    assert decibels(turned[0]) == decibels(turned[1]) == decibels(plain[0]) == decibels(plain[1])
    assert int(np.argmax(np.abs(np.fft.rfft(plain[0])))) == 200
    envelope = np.abs(plain[0, : RATE // 10]).reshape(20, -1).max(axis=1)
    assert (np.diff(envelope) > 0).all()
    assert max(envelope[0], np.abs(plain[0, -240:]).max()) < 0.01 * envelope[-1]


def test_the_quietest_of_three_tones_is_six_decibels_down_and_never_the_antiphase_one():
    for trial in draw_trials("antiphase", seed=4):
        sounds = parts("antiphase", synthesise("antiphase", trial))
        levels = [decibels(sound[0]) for sound in sounds]
        assert int(np.argmin(levels)) == trial["key"]
        others = [level for n, level in enumerate(levels) if n != trial["key"]]
        assert others == pytest.approx([levels[trial["key"]] + 6.0] * 2, abs=0.01)
        in_the_air = [np.abs(sound.sum(axis=0)).max() for sound in sounds]
        assert int(np.argmin(in_the_air)) == trial["antiphase"]


def test_the_hidden_tone_is_a_half_turn_between_the_ears_within_six_percent_of_600_hz(monkeypatch):
    monkeypatch.setattr(check_sounds, "_faded", lambda signal, seconds: signal)
    left, right = spectrum(huggins_noise(np.random.default_rng(1), hidden_tone=True))
    hertz = np.arange(len(left))
    band = (hertz >= 564) & (hertz <= 636)
    turn = np.angle(left[1:-1] * np.conj(right[1:-1]))
    np.testing.assert_allclose(np.abs(turn[band[1:-1]]), np.pi, atol=1e-6)
    np.testing.assert_allclose(turn[~band[1:-1]], 0.0, atol=1e-6)


def test_the_half_turn_survives_fades_and_the_integers_of_the_file():
    trial = draw_trials("huggins", seed=6)[0]
    sound = parts("huggins", synthesise("huggins", trial))[trial["key"]]
    left, right = spectrum(np.rint(sound * 32768))
    cross = left * np.conj(right)

    def alike(low: int, high: int) -> float:
        """The normalised real part of the cross spectrum: 1 in phase, -1 half a turn apart."""
        band = slice(low, high)
        power = np.sum(np.abs(left[band]) ** 2) * np.sum(np.abs(right[band]) ** 2)
        return float(np.sum(cross[band]).real / np.sqrt(power))

    assert alike(570, 631) < -0.95
    assert alike(100, 540) > 0.99
    assert alike(660, 20_000) > 0.99


def test_each_ear_alone_hears_plain_noise():
    """The shifted band holds as much of the noise as any other band of its width."""
    bands = []
    for seed in range(40):
        power = np.abs(spectrum(huggins_noise(np.random.default_rng(seed), hidden_tone=True))) ** 2
        bands.append([power[:, low : low + 72].sum(axis=1) for low in (420, 492, 564, 636, 708)])
    mean = np.mean(bands, axis=0)  # (band, ear)
    assert 10 * np.log10(mean / mean.mean(axis=0)) == pytest.approx(0.0, abs=0.5)


def test_only_one_of_three_noises_hides_a_tone():
    for trial in draw_trials("huggins", seed=8):
        sounds = parts("huggins", synthesise("huggins", trial))
        hides = [not np.array_equal(sound[0], sound[1]) for sound in sounds]
        assert hides == [n == trial["key"] for n in range(3)]
        assert not np.array_equal(sounds[0][0], sounds[1][0])
