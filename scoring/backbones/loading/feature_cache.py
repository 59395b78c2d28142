"""Feature cache on disk with a size limit: what models computed from sounds and texts."""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BufferedRandom
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

_log = logging.getLogger(__name__)

# What a file takes from a disk, which hands out whole blocks.
_BLOCK = 4096

# A scan reads the whole folder. Making room for a tenth of the limit at once keeps scans rare.
_KEPT_SHARE = 0.9


class FeatureCache:
    """Tensors by (space, key): `space` is a digest of model and preprocessing, `key` the SHA-256 of what they were
    computed from. Both become names of files.

    Entries together never take more than `limit_bytes` of disk; those not read for the longest time go first. With a
    limit of 0 nothing is kept. Any number of processes and threads may share a folder. A cache never fails its user:
    what cannot be read is missing, what cannot be written is not kept.
    """

    def __init__(self, folder: Path, *, limit_bytes: int) -> None:
        self._folder = folder
        self._limit = limit_bytes
        self._warned = False

    def get(self, space: str, key: str) -> dict[str, torch.Tensor] | None:
        """The tensors kept under this name, on the CPU, or None."""
        if not self._limit:
            return None
        path = self._path(space, key)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        with suppress(OSError):
            # Our own clock of use: file systems are often mounted without access times.
            os.utime(path)
        try:
            return load(data)
        except (SafetensorError, ValueError):
            # Torn by a crash or a full disk. It is removed so that it can be computed again.
            with suppress(OSError):
                path.unlink()
            return None

    def put(self, space: str, key: str, tensors: Mapping[str, torch.Tensor]) -> None:
        if not self._limit:
            return
        # Copies: safetensors refuses tensors that share memory, as slices of a batch do.
        data = save(
            {name: tensor.detach().to("cpu", copy=True).contiguous() for name, tensor in tensors.items()}
        )
        if _on_disk(len(data)) > self._limit:
            return
        try:
            self._write(self._path(space, key), data)
        except OSError as error:
            if not self._warned:
                self._warned = True
                _log.warning(
                    "Features cannot be kept in %s: %s. Scoring goes on without.", self._folder, error
                )

    def _path(self, space: str, key: str) -> Path:
        return self._folder / space / key[:2] / f"{key}.safetensors"

    def _write(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        size = _on_disk(len(data))
        with self._ledger() as ledger:
            total = _read_total(ledger)
            if total is None or total + size > self._limit:
                total = self._make_room(size)
            # Counted first: a crash in between counts too much, which the next scan mends, never too little.
            _write_total(ledger, total + size - _size_of(path))
            part = path.with_name(f".{path.name}.part")
            part.write_bytes(data)
            part.replace(path)

    @contextmanager
    def _ledger(self) -> Iterator[BufferedRandom]:
        """The file with the sum of all sizes, held by nobody else until it is closed."""
        name = os.open(self._folder / "total", os.O_RDWR | os.O_CREAT, 0o644)
        with os.fdopen(name, "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file

    def _make_room(self, wanted: int) -> int:
        """Measure all files and remove the least recently used until `wanted` bytes fit with some to spare; what
        remains."""
        files = sorted(self._files(), key=lambda entry: entry[1])
        total = sum(size for _, _, size in files)
        if total + wanted <= self._limit:
            return total
        target = max(int(self._limit * _KEPT_SHARE) - wanted, 0)
        for path, _, size in files:
            if total <= target:
                break
            path.unlink(missing_ok=True)
            total -= size
        return total

    def _files(self) -> Iterator[tuple[Path, int, int]]:
        """Every file with its time of last use and its size. Parts that a killed process left behind are removed:
        whoever writes one holds the ledger, and we hold it now."""
        for parent, _, names in os.walk(self._folder):
            for name in names:
                path = Path(parent, name)
                if name.endswith(".part"):
                    path.unlink(missing_ok=True)
                    continue
                try:
                    found = path.stat()
                except FileNotFoundError:
                    continue
                if name.endswith(".safetensors"):
                    yield path, found.st_mtime_ns, _on_disk(found.st_size)


def _on_disk(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


def _size_of(path: Path) -> int:
    try:
        return _on_disk(path.stat().st_size)
    except FileNotFoundError:
        return 0


def _read_total(ledger: BufferedRandom) -> int | None:
    text = ledger.read(32)
    return int(text) if text.strip().isdigit() else None


def _write_total(ledger: BufferedRandom, total: int) -> None:
    ledger.seek(0)
    ledger.write(b"%020d" % max(total, 0))
    ledger.truncate()
    ledger.flush()
