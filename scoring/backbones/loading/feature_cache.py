"""Feature cache on disk with a size limit: what models computed from sounds and texts."""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import BufferedRandom
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from scoring.backbones.loading.sounds import SoundPrefetcher
from scoring.metrics.contract import ExampleError, Sound
from scoring.metrics.registry import Runtime

_log = logging.getLogger(__name__)

# What a file takes from a disk, which hands out whole blocks.
_BLOCK = 4096

# A scan reads the whole folder. Making room for a tenth of the limit at once keeps scans rare.
_KEPT_SHARE = 0.9


def text_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def settings_digest(settings: Any) -> str:
    """Of what can be written as JSON, whatever the order of its keys."""
    return text_digest(json.dumps(settings, sort_keys=True))


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
            text = ledger.read(32)
            # Lost by a crash, the sum is counted again.
            total = int(text) if text.strip().isdigit() else self._limit
            if total + size > self._limit:
                total = self._make_room(size)
            before = _on_disk(path.stat().st_size) if path.exists() else 0
            # Counted first: a crash in between counts too much, which the next scan mends, never too little.
            ledger.seek(0)
            ledger.write(b"%020d" % max(total + size - before, 0))
            ledger.truncate()
            ledger.flush()
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

    def _make_room(self, n_bytes: int) -> int:
        """Measure all files and remove the least recently used until `n_bytes` fit with some to spare; what
        remains."""
        files = sorted(self._files(), key=lambda entry: entry[1])
        total = sum(size for _, _, size in files)
        if total + n_bytes <= self._limit:
            return total
        target = max(int(self._limit * _KEPT_SHARE) - n_bytes, 0)
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
                elif name.endswith(".safetensors"):
                    with suppress(FileNotFoundError):
                        status = path.stat()
                        yield path, status.st_mtime_ns, _on_disk(status.st_size)


def _on_disk(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


def open_feature_cache(runtime: Runtime) -> FeatureCache:
    return FeatureCache(runtime.cache, limit_bytes=runtime.cache_bytes)


# ── what is computed of texts and of sounds, each once ──

F = TypeVar("F")


def features_of_texts(
    cache: FeatureCache,
    space: str,
    texts: Sequence[str],
    *,
    name: str,
    encode: Callable[[list[str]], Iterable[tuple[str, torch.Tensor | ExampleError]]],
) -> list[torch.Tensor | ExampleError]:
    """In the order of `texts`: the tensors cached under `name`, or what `encode` gives for texts that differ from each
    other."""
    features: dict[str, torch.Tensor | ExampleError] = {}
    unknown: list[str] = []
    for text in dict.fromkeys(texts):
        cached = cache.get(space, text_digest(text))
        if cached is None:
            unknown.append(text)
        else:
            features[text] = cached[name]
    for text, encoded in encode(unknown) if unknown else ():
        features[text] = encoded
        if isinstance(encoded, torch.Tensor):
            cache.put(space, text_digest(text), {name: encoded})
    return [features[text] for text in texts]


class SoundFeatures(Generic[F]):
    """One tensor for each sound, cached under `name`, or prepared in threads ahead of time and then encoded.

    `prepare` (a sound to what is encoded) raises ExampleError; `encode` gets what was prepared, by the sounds' hashes.
    """

    def __init__(
        self,
        cache: FeatureCache,
        space: str,
        *,
        name: str,
        prepare: Callable[[Sound], F],
        encode: Callable[[Mapping[str, F]], Iterable[tuple[str, torch.Tensor]]],
    ) -> None:
        self._cache, self._space, self._name = cache, space, name
        self._prepare, self._encode = prepare, encode
        self._prefetcher = SoundPrefetcher(self._cached_or_prepared)

    def begin(self, sounds: Sequence[Sound]) -> None:
        self._prefetcher.begin(sounds)

    def of(self, sounds: Sequence[Sound]) -> dict[str, torch.Tensor | ExampleError]:
        """By the sounds' hashes: the tensor, or why there is none."""
        features: dict[str, torch.Tensor | ExampleError] = {}
        waiting: dict[str, F] = {}
        for key, future in self._prefetcher.take(sounds).items():
            try:
                cached, prepared = future.result()
            except ExampleError as error:
                features[key] = error
                continue
            if cached is not None:
                features[key] = cached
            elif prepared is not None:
                waiting[key] = prepared
        for key, encoded in self._encode(waiting) if waiting else ():
            features[key] = encoded
            self._cache.put(self._space, key, {self._name: encoded})
        return features

    def _cached_or_prepared(self, sound: Sound) -> tuple[torch.Tensor | None, F | None]:
        """In a thread."""
        cached = self._cache.get(self._space, sound.sha256)
        return (None, self._prepare(sound)) if cached is None else (cached[self._name], None)
