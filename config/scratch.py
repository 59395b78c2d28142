"""A throw-away home with a database of its own, for tests and benchmarks; it goes when its process does."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from config import postgres
from config.guardian import Guardian

# Nothing here outlives the process, so nothing is flushed to disk for safety's sake.
SCRATCH_SETTINGS = {
    **postgres.SERVER_SETTINGS,
    "shared_buffers": "128MB",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
}
# The pipe to each guardian stays open for as long as this process runs.
_guardians: list[Guardian] = []


def make_scratch_home(*, durable: bool = False) -> Path:
    """Point CONCORD_HOME at a fresh folder and DATABASE_URL at a server in it; the folder.

    A DATABASE_URL that is already set is kept. `durable` makes commits as safe and slow as in production.
    """
    parent = Path(__file__).resolve().parent.parent / "var" / "scratch"
    parent.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(dir=parent))
    os.environ["CONCORD_HOME"] = str(home)
    _guardians.append(Guardian(home, discard=True))
    postgres.ensure(home, settings=postgres.SERVER_SETTINGS if durable else SCRATCH_SETTINGS)
    return home
