"""What has to be true before the server starts: `python -m config.prepare`. Only what has changed is done."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

import django

# Translations, compiled by Babel from .po to the .mo files that Django reads.


def compile_translations(folders: Iterable[Path]) -> list[Path]:
    """Compile each .po file under `folders` that is newer than its .mo; the files written."""
    changed = [
        po
        for folder in folders
        for po in sorted(folder.glob("*/LC_MESSAGES/*.po"))
        if not (mo := po.with_suffix(".mo")).exists() or mo.stat().st_mtime < po.stat().st_mtime
    ]
    return [_compile_translation(po) for po in changed]


def _compile_translation(po: Path) -> Path:
    from babel.messages.mofile import write_mo  # 100 ms, and most starts have nothing to compile
    from babel.messages.pofile import read_po

    mo = po.with_suffix(".mo")
    making = mo.with_suffix(f".{os.getpid()}")
    with po.open("rb") as source, making.open("wb") as target:
        write_mo(target, read_po(source, locale=po.parent.parent.name))
    making.replace(mo)
    return mo


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from django.conf import settings
    from django.core.management import call_command

    pass

    compile_translations(map(Path, settings.LOCALE_PATHS))
    call_command("migrate", interactive=False)
    collect_static(settings.HOME / "static.collected")


def collect_static(stamp: Path) -> bool:
    """Collect the static files unless they are as `stamp` says they were; whether that was needed."""
    from django.conf import settings
    from django.core.management import call_command

    state = _static_state()
    if Path(settings.STATIC_ROOT).is_dir() and stamp.exists() and stamp.read_text() == state:
        return False
    # Emptied first, so that files which are gone from the sources are gone from the server.
    call_command("collectstatic", interactive=False, clear=True, verbosity=0)
    stamp.write_text(state)
    return True


def _static_state() -> str:
    from django.contrib.staticfiles.finders import get_finders

    digest = hashlib.sha256(django.__version__.encode())
    for finder in get_finders():
        for name, storage in finder.list([]):
            status = os.stat(storage.path(name))
            digest.update(f"{storage.path(name)} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


if __name__ == "__main__":
    main()
