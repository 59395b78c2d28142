"""Features come back as they were put, within the size they were given, whoever else is at work."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
import torch

from scoring.backbones.loading.feature_cache import FeatureCache

KEY = "ab" * 32
KILOBYTES_8 = {"x": torch.zeros(2000)}  # 8,000 bytes of data and a header: two blocks


def key(number: int) -> str:
    return f"{number:064x}"


def put(cache: FeatureCache, *numbers: int) -> None:
    for number in numbers:
        cache.put("model", key(number), KILOBYTES_8)


def entries(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.safetensors"))


def on_disk(folder: Path) -> int:
    return sum(-(-path.stat().st_size // 4096) * 4096 for path in entries(folder))


def is_kept(folder: Path, number: int) -> bool:
    """Without the read that would count as use."""
    return bool(list(folder.rglob(f"{key(number)}.safetensors")))


def age(folder: Path, number: int, *, seconds: int) -> None:
    (path,) = folder.rglob(f"{key(number)}.safetensors")
    then = path.stat().st_mtime - seconds
    os.utime(path, (then, then))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.bool])
def test_it_returns_what_was_put(tmp_path: Path, dtype: torch.dtype) -> None:
    cache = FeatureCache(tmp_path, limit_bytes=10**6)
    value = (torch.arange(12).reshape(3, 4) % 3).to(dtype)
    cache.put("model", KEY, {"features": value, "mask": torch.ones(3)})
    found = FeatureCache(tmp_path, limit_bytes=10**6).get("model", KEY)
    assert found is not None
    assert found["features"].dtype == dtype
    assert torch.equal(found["features"], value)
    assert torch.equal(found["mask"], torch.ones(3))


def test_it_takes_slices_that_share_memory(tmp_path: Path) -> None:
    cache = FeatureCache(tmp_path, limit_bytes=10**6)
    batch = torch.arange(12.0).reshape(3, 4)
    cache.put("model", KEY, {"whole": batch, "row": batch[1], "column": batch[:, 2]})
    found = cache.get("model", KEY)
    assert found is not None
    assert found["row"].tolist() == [4, 5, 6, 7]
    assert found["column"].tolist() == [2, 6, 10]


def test_it_knows_nothing_of_another_model_or_sound(tmp_path: Path) -> None:
    cache = FeatureCache(tmp_path, limit_bytes=10**6)
    cache.put("model", KEY, KILOBYTES_8)
    assert cache.get("other", KEY) is None
    assert cache.get("model", key(1)) is None


def test_it_keeps_nothing_when_it_may_not(tmp_path: Path) -> None:
    cache = FeatureCache(tmp_path / "cache", limit_bytes=0)
    cache.put("model", KEY, KILOBYTES_8)
    assert cache.get("model", KEY) is None
    assert not (tmp_path / "cache").exists()


def test_it_never_takes_more_than_its_limit(tmp_path: Path) -> None:
    cache = FeatureCache(tmp_path, limit_bytes=100_000)
    for number in range(40):
        put(cache, number)
        assert on_disk(tmp_path) <= 100_000
    assert len(entries(tmp_path)) >= 9


def test_it_lets_go_of_what_was_used_longest_ago(tmp_path: Path) -> None:
    cache = FeatureCache(tmp_path, limit_bytes=4 * 8192)
    for number in range(4):
        put(cache, number)
        age(tmp_path, number, seconds=100 - number)
    assert cache.get("model", key(0)) is not None
    put(cache, 4)
    assert is_kept(tmp_path, 0)
    assert not is_kept(tmp_path, 1)
    assert is_kept(tmp_path, 4)


def test_it_counts_what_other_processes_put(tmp_path: Path) -> None:
    first, second = (FeatureCache(tmp_path, limit_bytes=100_000) for _ in range(2))
    for number in range(20):
        (first if number % 2 else second).put("model", key(number), KILOBYTES_8)
    assert on_disk(tmp_path) <= 100_000


def test_putting_one_again_does_not_count_it_twice(tmp_path: Path) -> None:
    cache = FeatureCache(tmp_path, limit_bytes=4 * 8192)
    put(cache, 1, *[2] * 20)
    assert is_kept(tmp_path, 1)


def test_one_too_large_for_the_limit_drives_nothing_out(tmp_path: Path) -> None:
    cache = FeatureCache(tmp_path, limit_bytes=20_000)
    put(cache, 1)
    cache.put("model", key(2), {"x": torch.zeros(50_000)})
    assert is_kept(tmp_path, 1)
    assert not is_kept(tmp_path, 2)


def test_it_does_not_read_the_folder_for_every_put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scans: list[str] = []
    walk = os.walk
    monkeypatch.setattr(os, "walk", lambda top: scans.append(str(top)) or walk(top))
    cache = FeatureCache(tmp_path, limit_bytes=100 * 8192)
    put(cache, *range(150))
    assert len(scans) <= 8


@pytest.mark.parametrize("kept", [0, 5, 100, 4000])
def test_a_torn_file_is_a_miss_and_is_removed(tmp_path: Path, kept: int) -> None:
    cache = FeatureCache(tmp_path, limit_bytes=10**6)
    cache.put("model", KEY, KILOBYTES_8)
    (path,) = entries(tmp_path)
    path.write_bytes(path.read_bytes()[:kept])
    assert cache.get("model", KEY) is None
    assert not path.exists()


def test_what_a_killed_process_left_is_cleared_away(tmp_path: Path) -> None:
    cache = FeatureCache(tmp_path, limit_bytes=4 * 8192)
    put(cache, 0)
    part = entries(tmp_path)[0].with_name(".x.safetensors.part")
    part.write_bytes(b"half")
    put(cache, *range(1, 6))
    assert not part.exists()


@pytest.mark.parametrize("content", [b"", b"what is this?"])
def test_it_counts_again_when_its_sum_was_lost(tmp_path: Path, content: bytes) -> None:
    cache = FeatureCache(tmp_path, limit_bytes=100_000)
    put(cache, *range(12))
    (tmp_path / "total").write_bytes(content)
    put(cache, *range(20, 32))
    assert on_disk(tmp_path) <= 100_000


def test_scoring_goes_on_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    cache = FeatureCache(tmp_path / "cache", limit_bytes=10**6)
    cache.put("model", KEY, KILOBYTES_8)
    assert cache.get("model", KEY) is None


@pytest.mark.concurrency
def test_several_processes_neither_tear_files_nor_pass_the_limit(tmp_path: Path) -> None:
    with ProcessPoolExecutor(3, mp_context=multiprocessing.get_context("fork")) as pool:
        wrong = list(pool.map(_put_and_get, [(tmp_path, worker) for worker in range(3)]))
    assert wrong == [0, 0, 0]
    assert on_disk(tmp_path) <= 100_000
    assert not list(tmp_path.rglob("*.part"))


def _put_and_get(work: tuple[Path, int]) -> int:
    """How many entries came back other than they were put; all processes use the same names."""
    folder, worker = work
    cache = FeatureCache(folder, limit_bytes=100_000)
    wrong = 0
    for step in range(120):
        number = (step * 7 + worker * 3) % 25
        cache.put("model", key(number), {"x": torch.full((2000,), float(number))})
        other = (number + step) % 25
        found = cache.get("model", key(other))
        wrong += found is not None and found["x"].tolist() != [float(other)] * 2000
    return wrong
