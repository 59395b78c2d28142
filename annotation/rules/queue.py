"""Where things stand in a study's queue."""

from __future__ import annotations

import hashlib


def shuffle_key(seed: int, external_id: str) -> float:
    """A place in [0, 1) that depends on nothing but the study's seed and the task's name: imports in parts agree."""
    digest = hashlib.blake2b(f"{seed}:{external_id}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


# Where a rater starts in a study that is worked through as listed: before the first task, whose key is 0.
START_OF_LIST = -1.0
