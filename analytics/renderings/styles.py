"""Style sheets as text, for what has to look right without this server."""

from __future__ import annotations

from pathlib import Path

from django.contrib.staticfiles import finders


def static_text(name: str) -> str:
    path = finders.find(name)
    assert isinstance(path, str), name
    return Path(path).read_text(encoding="utf-8")
