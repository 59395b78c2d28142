from __future__ import annotations

import io
import re
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotation.importers.columns import FIELDS
from annotation.models import Job, Study, Task
from annotation.protocols import preset
from annotation.services import jobs
from labeling_ui.forms.imports import MEANINGS, fields_of, meanings
from tests.factories import StudyFactory, member

pytestmark = pytest.mark.django_db

TABLE = b"item_id,question_text,reference,system,answer\none,What is it?,A bell.,model-1,A gong.\n"
COLUMNS = {
    "columns-TOTAL_FORMS": "1",
    "columns-INITIAL_FORMS": "0",
    "columns-0-column": "",
    "columns-0-field": "",
}


@pytest.fixture(autouse=True)
def _home(settings, tmp_path):
    settings.HOME = tmp_path


@pytest.fixture
def signed_in(client, admin):
    client.force_login(admin)
    return client


def send(client, content: bytes = TABLE, *, name: str = "items.csv", format: str = "csv", **fields):
    data = {"format": format, "file": SimpleUploadedFile(name, content), **COLUMNS, **fields}
    return client.post(reverse("import", args=["s"]), data)


def test_an_upload_becomes_a_job_and_the_job_brings_the_items_in(signed_in, study):
    answer = send(signed_in)
    job = Job.objects.get()
    assert answer.url == reverse("job", args=[job.pk])
    assert jobs.run(job.pk)
    assert Task.objects.get(study=study).item_version.reference == "A bell."
    page = signed_in.get(answer.url).content.decode()
    assert "Everything is in." in page
    assert "New tasks" in page


def test_a_trial_changes_nothing_and_can_be_done_in_earnest(signed_in, study):
    trial = send(signed_in, dry_run="on").url
    jobs.run(Job.objects.get().pk)
    page = signed_in.get(trial).content.decode()
    assert "Tried: nothing was changed." in page
    assert not Task.objects.exists()
    answer = signed_in.post(f"{trial}import/")
    job = Job.objects.exclude(params__dry_run=True).get()
    assert answer.url == reverse("job", args=[job.pk])
    jobs.run(job.pk)
    assert Task.objects.count() == 1


def test_a_trial_whose_file_is_gone_asks_for_it_again(signed_in, study):
    job = Job.objects.create(
        kind="import", study=study, state="done",
        params={"dry_run": True, "source": "/nowhere/at/all.csv", "format": "csv", "column_map": {},
                "overlap": None, "archive": False, "skip_bad_rows": False},
    )  # fmt: skip
    answer = signed_in.post(reverse("import_for_real", args=[job.pk]), follow=True)
    assert answer.redirect_chain[0][0] == reverse("import", args=["s"])
    assert "upload it again" in answer.content.decode()
    assert "/nowhere" not in answer.content.decode()


@pytest.mark.parametrize("params", [{"dry_run": False}, {}])
def test_only_a_trial_can_be_done_in_earnest(signed_in, study, params):
    job = Job.objects.create(kind="import", study=study, state="done", params=params)
    assert signed_in.post(reverse("import_for_real", args=[job.pk])).status_code == 404


def test_options_reach_the_import(signed_in, study):
    send(signed_in, skip_bad_rows="on", archive="on")
    params = Job.objects.get().params
    assert (params["skip_bad_rows"], params["archive"], params["dry_run"]) == (True, True, False)


def test_columns_with_other_names_are_mapped_left_out_or_made_strata(signed_in, study):
    rows = [("id", "item_id"), ("note", "-"), ("Genre (main)", "stratum"), ("", "")]
    fields = {"columns-TOTAL_FORMS": "4"}
    for number, (column, field) in enumerate(rows):
        fields |= {f"columns-{number}-column": column, f"columns-{number}-field": field}
    send(signed_in, **fields)
    assert Job.objects.get().params["column_map"] == {
        "id": "item_id",
        "note": "",
        "Genre (main)": "stratum.Genre_main",
    }


@pytest.mark.parametrize(("column", "field", "faulty"), [("id", "", "field"), ("", "item_id", "column")])
def test_half_a_line_about_a_column_is_pointed_at(signed_in, study, column, field, faulty):
    answer = send(signed_in, **{"columns-0-column": column, "columns-0-field": field})
    assert list(answer.context["columns"].errors[0]) == [faulty]
    assert not Job.objects.exists()


def test_a_column_map_is_ignored_where_the_format_has_fixed_columns(signed_in, study):
    send(signed_in, b"{}", name="a.json", format="orca", **{"columns-0-column": "a", "columns-0-field": "-"})
    assert Job.objects.get().params["column_map"] == {}


def test_an_archive_is_unpacked(signed_in, study):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("data/items.csv", TABLE)
    send(signed_in, packed.getvalue(), name="items.zip")
    assert Job.objects.get().params["source"].endswith("data/items.csv")


EMPTY_ARCHIVE = b"PK\x05\x06" + bytes(18)


@pytest.mark.parametrize(
    ("fields", "faulty"),
    [
        ({"file": ""}, "file"),
        ({"content": b""}, "file"),
        ({"content": EMPTY_ARCHIVE, "name": "items.zip"}, "file"),
        ({"format": "xls"}, "format"),
    ],
)
def test_what_cannot_be_imported_is_refused_at_its_field(signed_in, study, fields, faulty):
    answer = send(signed_in, **fields)
    assert list(answer.context["form"].errors) == [faulty]
    assert not Job.objects.exists()


def test_a_study_is_offered_the_formats_that_fit_its_protocol(client):
    study = StudyFactory(slug="s", preset="cmi-pref")
    client.force_login(member(study, "admin"))
    form = client.get(reverse("import", args=["s"])).context["form"]
    assert {key for key, _ in form.fields["format"].choices} == {"csv", "jsonl", "cmi-pref"}


def test_every_column_of_a_plain_table_is_explained():
    assert {re.sub(r"_[a-z]\Z", "", name) for name in FIELDS} == MEANINGS.keys()


def test_the_columns_of_many_candidates_are_explained_once():
    named = [name for name, _, _ in meanings(preset("mushra"))]
    assert named[:4] == ["item_id", "prompt", "system_a … system_i", "audio_a … audio_i"]
    assert named[4:] == ["reference_audio"]


def test_a_panel_has_columns_for_each_candidate_and_says_which_one_is_rated():
    fields = fields_of(preset("aqeval"))
    assert {"system_a", "answer_d", "system_z", "candidate", "item_audio"} <= set(fields)
    assert not {"system", "answer", "audio", "audio_a"} & set(fields)


def test_a_protocol_has_only_the_columns_it_has_a_use_for():
    compares, rates = fields_of(preset("cmi-pref")), fields_of(preset("orca"))
    assert {"audio_a", "audio_b", "system_a", "prompt", "reference_audio"} <= set(compares)
    assert not {"audio", "answer_a", "question_text", "item_audio"} & set(compares)
    assert {"answer", "system", "item_audio", "question_text"} <= set(rates)
    assert not {"audio", "audio_a", "prompt", "reference_audio"} & set(rates)


def test_an_upload_that_is_too_large_gets_a_page_that_says_so(signed_in, study, settings):
    settings.UPLOAD_MAX_BYTES = 10
    answer = send(signed_in)
    assert answer.status_code == 400
    assert "larger than this site takes" in answer.content.decode()
    assert not Study.objects.filter(jobs__isnull=False).exists()
