"""What is chosen in the browser arrives whole, or the page says why not."""

from __future__ import annotations

import pytest

from annotation.models import Upload
from tests.factories import StudyFactory, member

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

TABLE = b"item_id,question_text,reference,system,answer\none,What rings?,A bell.,model-1,A gong.\n"


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "mine"
    made.mkdir()
    (made / "items.csv").write_bytes(TABLE)
    for number in range(300):
        (made / f"{number}.wav").write_bytes(b"RIFF" * 100)
    return made


@pytest.fixture
def import_page(page, signed_in, settings, tmp_path):
    settings.HOME = tmp_path / "home"
    signed_in(member(StudyFactory(slug="s"), "admin"))
    page.goto("/studies/s/import/")
    return page


def bring(page, folder) -> None:
    page.get_by_label("Or a whole folder").set_input_files(folder)
    page.get_by_role("button", name="Upload and preview").click()


def test_a_folder_of_hundreds_of_files_arrives_whole(import_page, folder):
    bring(import_page, folder)
    import_page.get_by_text("301 files").wait_for()
    import_page.get_by_role("cell", name="A gong.").wait_for()
    assert Upload.objects.get().n_files == 301


def test_a_folder_of_too_many_files_is_to_come_as_an_archive(import_page, folder, settings):
    settings.DATA_UPLOAD_MAX_NUMBER_FILES = 200
    sent = []
    import_page.on("request", lambda request: sent.append(request.method))
    import_page.reload()
    bring(import_page, folder)
    import_page.get_by_text("200 files at most are taken at once").wait_for()
    assert import_page.get_by_role("button", name="Upload and preview").is_enabled()
    assert "POST" not in sent


def test_without_a_file_the_page_leads_to_the_field_that_takes_one(import_page):
    import_page.get_by_role("button", name="Upload and preview").click()
    import_page.get_by_role("alert").get_by_text("No file came with this.").wait_for()
    assert import_page.get_by_label("Files", exact=True).evaluate("node => node === document.activeElement")
