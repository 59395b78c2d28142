"""Translations, compiled by Babel from .po to the .mo files that Django reads."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def compile_changed(folders: Iterable[Path]) -> list[Path]:
    """Compile each .po file under `folders` that is newer than its .mo; the files written."""
    changed = [
        po
        for folder in folders
        for po in sorted(folder.glob("*/LC_MESSAGES/*.po"))
        if not (mo := po.with_suffix(".mo")).exists() or mo.stat().st_mtime < po.stat().st_mtime
    ]
    return [_compile(po) for po in changed]


def _compile(po: Path) -> Path:
    from babel.messages.mofile import write_mo  # 100 ms, and most starts have nothing to compile
    from babel.messages.pofile import read_po

    mo = po.with_suffix(".mo")
    making = mo.with_suffix(f".{os.getpid()}")
    with po.open("rb") as source, making.open("wb") as target:
        write_mo(target, read_po(source, locale=po.parent.parent.name))
    making.replace(mo)
    return mo
