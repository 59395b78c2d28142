from __future__ import annotations

from pathlib import Path

import pytest

from config import prepare


@pytest.fixture
def sources(settings, tmp_path: Path) -> Path:
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "page.css").write_text("body {}")
    settings.STATICFILES_DIRS = [folder]
    settings.STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
    settings.STATIC_ROOT = tmp_path / "served"
    return folder


def test_static_files_are_collected_when_their_sources_change(sources: Path, tmp_path: Path) -> None:
    stamp = tmp_path / "collected"
    assert prepare.collect_static(stamp) is True
    assert prepare.collect_static(stamp) is False

    (sources / "page.css").write_text("body { color: black }")
    assert prepare.collect_static(stamp) is True
    assert (tmp_path / "served" / "page.css").read_text() == "body { color: black }"


def test_a_static_file_that_is_gone_is_no_longer_served(sources: Path, tmp_path: Path) -> None:
    prepare.collect_static(tmp_path / "collected")
    (sources / "page.css").rename(sources / "other.css")
    prepare.collect_static(tmp_path / "collected")
    assert [path.name for path in (tmp_path / "served").iterdir()] == ["other.css"]


def test_static_files_that_were_deleted_are_collected_again(sources: Path, tmp_path: Path) -> None:
    prepare.collect_static(tmp_path / "collected")
    (tmp_path / "served" / "page.css").unlink()
    (tmp_path / "served").rmdir()
    assert prepare.collect_static(tmp_path / "collected") is True
