"""Anonymisation: the name of a judgment whose rater was anonymised."""

from __future__ import annotations

import hashlib
import secrets
from uuid import UUID

SALT_BYTES = 32


def new_salt() -> bytes:
    return secrets.token_bytes(SALT_BYTES)


def anonymised_judgment_id(client_id: UUID, salt: bytes) -> UUID:
    """A name that leads back neither to the judgment's own, which may be made from its rater's pseudonym and stands in
    what was published before, nor to the names of their other judgments. SQL of `release_tables` does the same."""
    return UUID(hashlib.sha256(salt + str(client_id).encode()).hexdigest()[:32])
