"""Code version: the commit that manifests and records name."""

from __future__ import annotations

import subprocess
from functools import cache

from django.conf import settings

UNKNOWN = "unknown"


@cache
def code_version() -> str:
    """The checkout's commit, marked `-dirty` where files differ from it; "unknown" outside a git checkout."""
    command = ["git", "-C", str(settings.BASE_DIR), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return UNKNOWN
    return done.stdout.strip() or UNKNOWN
