"""The meter against the signals of EBU Tech 3341, rebuilt here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from annotation.audio.ingest import inspect
from annotation.audio.loudness import LoudnessMeter
from tests.annotation.audio.recordings import RATE, Floats, sine, write_wav


def measured(samples: Floats) -> LoudnessMeter:
    meter = LoudnessMeter(channels=len(samples), rate=RATE)
    for start in range(0, samples.shape[1], RATE):
        meter.push(samples[:, start : start + RATE].astype(np.float32))
    meter.finish()
    return meter


def tones(*parts: tuple[float, float]) -> Floats:
    """Stereo 1 kHz tones one after the other: (dBFS, seconds)."""
    return np.concatenate([sine(dbfs=dbfs, seconds=seconds) for dbfs, seconds in parts], axis=1)


# EBU Tech 3341, table 1, cases 1 to 5; the tolerance is the table's.
@pytest.mark.parametrize(
    ("parts", "lufs"),
    [
        ([(-23, 20)], -23.0),
        ([(-33, 20)], -33.0),
        ([(-36, 10), (-23, 60), (-36, 10)], -23.0),
        ([(-72, 10), (-36, 10), (-23, 60), (-36, 10), (-72, 10)], -23.0),
        ([(-26, 20), (-20, 20.1), (-26, 20)], -23.0),
    ],
)
def test_it_reads_the_ebu_signals(parts: list[tuple[float, float]], lufs: float) -> None:
    assert measured(tones(*parts)).loudness_lufs == pytest.approx(lufs, abs=0.1)


def test_a_file_reads_like_its_signal(tmp_path: Path) -> None:
    source = write_wav(tmp_path / "a.wav", sine(seconds=5, rate=44_100), rate=44_100)
    assert inspect(source).loudness_lufs == pytest.approx(-23.0, abs=0.1)


def test_mono_reads_as_the_same_signal_in_both_ears_and_one_silent_ear_3_db_less() -> None:
    mono = measured(sine(seconds=5, channels=1)).loudness_lufs
    assert mono == pytest.approx(-23.0, abs=0.1)
    assert mono == measured(sine(seconds=5, channels=2)).loudness_lufs
    one_sided = sine(seconds=5)
    one_sided[1] = 0
    assert measured(one_sided).loudness_lufs == pytest.approx(-26.01, abs=0.05)


@pytest.mark.parametrize(
    ("samples", "lufs"),
    [
        (sine(seconds=0.4), -23.0),
        (sine(seconds=0.4)[:, :-1], None),  # no complete block
        (sine(dbfs=-69, seconds=2), -69.0),
        (sine(dbfs=-71, seconds=2), None),  # below the absolute gate
    ],
)
def test_loudness_needs_one_complete_block_above_the_absolute_gate(
    samples: Floats, lufs: float | None
) -> None:
    assert measured(samples).loudness_lufs == (lufs and pytest.approx(lufs, abs=0.1))


def test_nothing_at_all_has_neither_loudness_nor_peak() -> None:
    meter = measured(np.zeros((2, RATE)))
    assert (meter.loudness_lufs, meter.true_peak_dbtp) == (None, None)


def faded(samples: Floats) -> Floats:
    """Ends taken to zero in 10 ms: a tone that starts abruptly really does peak higher."""
    ramp = np.sin(np.linspace(0, np.pi / 2, 480)) ** 2
    samples[:, :480] *= ramp
    samples[:, -480:] *= ramp[::-1]
    return samples


# EBU Tech 3341, table 1, cases 15 to 19: amplitude, then a phase that puts no sample on the crest.
@pytest.mark.parametrize(
    ("divisor", "degrees", "amplitude", "dbtp"),
    [(4, 0, 0.5, -6.0), (4, 45, 0.5, -6.0), (6, 60, 0.5, -6.0), (8, 67.5, 0.5, -6.0), (4, 45, 1.41, 3.0)],
)
def test_it_finds_the_peak_between_the_samples(
    divisor: int, degrees: float, amplitude: float, dbtp: float
) -> None:
    tone = sine(RATE / divisor, dbfs=20 * np.log10(amplitude), degrees=degrees)
    peak = measured(faded(tone)).true_peak_dbtp
    assert peak is not None
    assert dbtp - 0.4 <= peak <= dbtp + 0.2


def test_a_file_whose_samples_peak_at_minus_6_can_truly_peak_3_db_higher(tmp_path: Path) -> None:
    tone = faded(sine(12_000, dbfs=-6 + 3.01, degrees=45))
    assert 20 * np.log10(np.abs(tone).max()) == pytest.approx(-6.0, abs=0.01)
    peak = inspect(write_wav(tmp_path / "a.wav", tone)).true_peak_dbtp
    assert peak is not None
    assert -3.0 - 0.4 <= peak <= -3.0 + 0.2


def test_quiet_peaks_are_read_as_finely_as_loud_ones_and_one_on_the_last_sample_counts() -> None:
    assert measured(faded(sine(997, dbfs=-60.3))).true_peak_dbtp == pytest.approx(-60.3, abs=0.05)
    samples = np.zeros((2, RATE))
    samples[1, -1] = 0.5
    assert measured(samples).true_peak_dbtp == pytest.approx(-6.02, abs=0.3)
