from __future__ import annotations

import gettext
import os
from pathlib import Path

import pytest

from config import prepare

PO = """
msgid ""
msgstr ""
"Content-Type: text/plain; charset=utf-8\\n"
"Plural-Forms: nplurals=1; plural=0;\\n"

msgid "Skip"
msgstr "跳过"

msgid "one clip"
msgid_plural "{n} clips"
msgstr[0] "{n} 个片段"
"""


@pytest.fixture
def po(tmp_path: Path) -> Path:
    path = tmp_path / "zh_Hans" / "LC_MESSAGES" / "django.po"
    path.parent.mkdir(parents=True)
    path.write_text(PO)
    return path


def test_it_compiles_what_gettext_reads(tmp_path: Path, po: Path) -> None:
    assert prepare.compile_translations([tmp_path]) == [po.with_suffix(".mo")]
    with po.with_suffix(".mo").open("rb") as file:
        catalogue = gettext.GNUTranslations(file)
    assert catalogue.gettext("Skip") == "跳过"
    assert catalogue.ngettext("one clip", "{n} clips", 1) == "{n} 个片段"


def test_it_compiles_again_only_what_changed(tmp_path: Path, po: Path) -> None:
    mo = prepare.compile_translations([tmp_path])[0]
    assert prepare.compile_translations([tmp_path]) == []

    later = mo.stat().st_mtime + 10
    os.utime(po, (later, later))
    assert prepare.compile_translations([tmp_path]) == [mo]


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert prepare.compile_translations([tmp_path / "locale"]) == []
