from __future__ import annotations

import zipfile

from analytics.datasets.storage import zip_folder


def test_equal_folders_make_equal_archives(tmp_path):
    for name in ("one", "two"):
        folder = tmp_path / name / "export"
        folder.mkdir(parents=True)
        for file in ("b.txt", "a.txt"):
            (folder / file).write_text(file)
        zip_folder(folder, tmp_path / f"{name}.zip")
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == {
            "export/a.txt": b"a.txt",
            "export/b.txt": b"b.txt",
        }
