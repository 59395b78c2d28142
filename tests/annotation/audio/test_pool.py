"""Many sound files measured by processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from annotation.audio.errors import DEFAULT_LIMITS, AudioError
from annotation.audio.pool import MIN_FILES_FOR_PROCESSES, measure, measuring_pool
from tests.annotation.audio.recordings import sine, write_wav

# A caller that waits for ever, after saying which processes work for it.
CALLER = f"""
import os, time
from annotation.audio.pool import measuring_pool
if __name__ == "__main__":
    with measuring_pool({MIN_FILES_FOR_PROCESSES}) as pool:
        print(*{{pool.submit(os.getpid).result() for _ in range(50)}}, flush=True)
        time.sleep(600)
"""


def test_processes_measure_as_one_alone_does_and_hand_refusals_back(tmp_path: Path) -> None:
    sound, broken = write_wav(tmp_path / "sound.wav", sine(seconds=0.5)), tmp_path / "broken.wav"
    broken.write_bytes(b"RIFF of no use")
    with measuring_pool(MIN_FILES_FOR_PROCESSES) as pool:
        assert pool.submit(os.getpid).result() != os.getpid()
        facts = pool.submit(measure, sound, tmp_path / "there.flac", DEFAULT_LIMITS).result()
        refusal = pool.submit(measure, broken, None, DEFAULT_LIMITS).result()
    assert facts == measure(sound, tmp_path / "here.flac", DEFAULT_LIMITS)
    assert (tmp_path / "there.flac").read_bytes() == (tmp_path / "here.flac").read_bytes()
    assert isinstance(refusal, AudioError)
    assert str(refusal) == str(measure(broken, None, DEFAULT_LIMITS))


def test_few_files_start_no_process() -> None:
    with measuring_pool(MIN_FILES_FOR_PROCESSES - 1) as pool:
        assert pool.submit(os.getpid).result() == os.getpid()


@pytest.mark.skipif(os.cpu_count() == 1, reason="one core needs no processes")
def test_processes_outlive_a_signal_to_the_group_and_end_with_their_parent(tmp_path: Path) -> None:
    script = tmp_path / "caller.py"
    script.write_text(CALLER)
    root = Path(__file__).parents[3]
    caller = subprocess.Popen(
        [sys.executable, script],
        env={**os.environ, "PYTHONPATH": str(root)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert caller.stdout is not None
        workers = [psutil.Process(int(pid)) for pid in caller.stdout.readline().split()]
        assert workers
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
            worker.send_signal(signal.SIGINT)
        gone, _ = psutil.wait_procs(workers, timeout=0.5)
        assert not gone
    finally:
        caller.kill()
        caller.wait()
    gone, alive = psutil.wait_procs(workers, timeout=20)
    assert not alive
