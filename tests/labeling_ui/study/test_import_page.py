from __future__ import annotations

import io
import re
import shutil
import zipfile
from pathlib import Path

import openpyxl
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotation.importing.formats.columns import FIELDS
from annotation.jobs import jobs
from annotation.models import Job, Study, Task, Upload
from annotation.protocols import preset
from labeling_ui.study.import_forms import COLUMN_HELP, import_field_help, import_fields
from tests.factories import StudyFactory, UserFactory, member

pytestmark = pytest.mark.django_db

TABLE = b"item_id,question_text,reference,system,answer\none,What is it?,A bell.,model-1,A gong.\n"
OTHER_NAMES = b"id,question,gold,model,reply,note,Genre (main)\none,What?,A bell.,m1,A gong.,x,jazz\n"


@pytest.fixture(autouse=True)
def _home(settings, tmp_path):
    settings.HOME = tmp_path


@pytest.fixture
def signed_in(client, admin):
    client.force_login(admin)
    return client


def bring(client, content: bytes = TABLE, *, name: str = "items.csv", where: str | None = None, **fields):
    """The answer to an upload; it leads to the page that asks what the files hold."""
    where = where or reverse("import", args=["s"])
    return client.post(where, {"file": SimpleUploadedFile(name, content), **fields})


def mapped(client, page: str, *meanings: str, **fields):
    """Say what each column holds, in their order."""
    columns = {f"column-{place}": meaning for place, meaning in enumerate(meanings)}
    return client.post(page, {"format": "csv", "preset": "orca", **columns, **fields})


OWN = ("item_id", "question_text", "reference", "system", "answer")


def test_an_upload_becomes_a_job_and_the_job_brings_the_items_in(signed_in, study):
    answer = mapped(signed_in, bring(signed_in).url, *OWN)
    job = Job.objects.get()
    assert answer.url == reverse("job", args=[job.pk])
    assert jobs.run(job.pk)
    assert Task.objects.get(study=study).item_version.reference == "A bell."
    page = signed_in.get(answer.url).text
    assert "Import finished." in page
    assert reverse("preview", args=["s"]) in page


def test_the_first_rows_are_shown_with_what_they_probably_hold(signed_in, study):
    page = signed_in.get(bring(signed_in, OTHER_NAMES).url)
    assert page.context["look"].rows[0][1] == "What?"
    likely = [column.field.initial for column in page.context["mapping"].columns()]
    assert likely[:2] == ["item_id", "question_text"]
    assert "stratum" in likely or "-" in likely


@pytest.mark.parametrize(
    "odd", ['"answer": "\\ud800"', '"answer": "x", "\\ud800": 1', '"answer": "x", "\\u0000": 1']
)
def test_half_a_character_is_told_on_a_page(signed_in, study, odd):
    content = b'{"item_id": "1", "system": "m", %s}\n' % odd.encode()
    page = bring(signed_in, content, name="items.jsonl").url
    assert signed_in.get(page).status_code == 200
    assert signed_in.get(f"/api/v1{page}").status_code == 200
    named = {"column-0": "item_id", "column-1": "system", "column-2": "answer"}
    assert signed_in.post(page, {"format": "jsonl", **named}).status_code == 302
    jobs.run(Job.objects.get().pk)
    job = Job.objects.get()
    assert (job.state, job.report["n_problems"]) == ("failed", 1)


def test_a_column_that_no_text_can_name_is_not_mapped(signed_in, study):
    page = bring(signed_in).url
    asked = {"format": "csv", "column_map": {"a\0": ""}}
    answer = signed_in.post(f"/api/v1{page}import/", asked, content_type="application/json")
    assert (answer.status_code, answer.json()["title"]) == (400, "bad_column_map")


def test_columns_with_other_names_are_mapped_left_out_or_made_strata(signed_in, study):
    page = bring(signed_in, OTHER_NAMES).url
    mapped(signed_in, page, *OWN, "-", "stratum")
    assert Job.objects.get().params["column_map"] == {
        "id": "item_id",
        "question": "question_text",
        "gold": "reference",
        "model": "system",
        "reply": "answer",
        "note": "",
        "Genre (main)": "stratum.Genre_main",
    }


def test_a_field_that_two_columns_claim_is_pointed_at(signed_in, study):
    answer = mapped(signed_in, bring(signed_in).url, "item_id", "item_id", "reference", "system", "answer")
    assert list(answer.context["mapping"].errors) == ["column-1"]
    assert not Job.objects.exists()


def test_without_a_column_that_names_the_item_nothing_begins(signed_in, study):
    answer = mapped(signed_in, bring(signed_in).url, "-", *OWN[1:])
    assert "item_id" in str(answer.context["mapping"].non_field_errors())
    assert not Job.objects.exists()


def test_another_format_reads_the_same_file_anew(signed_in, study):
    page = bring(signed_in, b'{"item_id": "one", "answer": "A gong."}\n', name="items.txt").url
    assert signed_in.get(f"{page}?format=jsonl").context["look"].columns == ("item_id", "answer")


def test_files_make_a_study_that_is_a_draft(signed_in, admin, db):
    admin.may_create_studies = True
    admin.save()
    page = bring(signed_in, name="My bells.csv", where=reverse("from_files")).url
    shown = signed_in.get(page)
    assert shown.context["preset_key"] == "orca"
    assert shown.context["part"].initial == {"title": "My bells", "slug": "my-bells", "workspace": None}
    answer = mapped(signed_in, page, *OWN, title="My bells", slug="my-bells", overlap="2")
    job = Job.objects.get()
    assert answer.url == reverse("job", args=[job.pk])
    jobs.run(job.pk)
    made = Study.objects.get(slug="my-bells")
    assert (made.state, made.overlap, made.n_tasks) == ("draft", 2, 1)
    assert signed_in.get(reverse("preview", args=["my-bells"])).status_code == 200


def test_folders_of_two_systems_are_offered_as_pairs(signed_in, admin, db):
    admin.may_create_studies = True
    admin.save()
    paths = [f"mine/{system}/{name}.wav" for system in ("one", "two") for name in "ab"]
    files = [SimpleUploadedFile(Path(path).name, b"RIFF") for path in paths]
    page = signed_in.get(signed_in.post(reverse("from_files"), {"file": files, "path": paths}).url)
    assert (page.context["format"], page.context["preset_key"]) == ("audiofolder", "cmi-pref")
    named = {column.name: column.field.initial for column in page.context["mapping"].columns()}
    assert (named["audio_a"], named["system_b"]) == ("audio_a", "system_b")
    assert [row[0] for row in page.context["look"].rows] == ["a", "b"]


def test_an_address_that_is_taken_is_told_at_its_field(signed_in, study, admin):
    admin.may_create_studies = True
    admin.save()
    page = bring(signed_in, where=reverse("from_files")).url
    answer = mapped(signed_in, page, *OWN, title="Again", slug="s", overlap="2")
    assert answer.context["part"].errors
    assert not Job.objects.exists()


def test_only_who_may_create_studies_may_begin_with_files(signed_in, study):
    assert signed_in.get(reverse("from_files")).status_code == 403
    assert bring(signed_in, where=reverse("from_files")).status_code == 403
    assert not Upload.objects.exists()


def test_without_a_file_the_page_says_so_at_the_field_that_takes_one(signed_in, study):
    answer = signed_in.post(reverse("import", args=["s"]))
    assert answer.status_code == 400
    assert "No file came with this. Choose a file or a folder." in answer.text
    assert 'aria-describedby="bring-file-help bring-problem" aria-invalid="true" autofocus' in answer.text
    assert "autofocus" not in signed_in.get(reverse("import", args=["s"])).text


def test_nobody_else_sees_what_was_brought(signed_in, study, client):
    page = bring(signed_in).url
    signed_in.force_login(member(study, "researcher"))
    assert signed_in.get(page).status_code == 404


def test_a_folder_keeps_the_paths_that_its_files_had(signed_in, study):
    files = [SimpleUploadedFile("items.csv", TABLE), SimpleUploadedFile("1.wav", b"RIFF")]
    answer = signed_in.post(
        reverse("import", args=["s"]), {"file": files, "path": ["mine/items.csv", "mine/a/1.wav"]}
    )
    assert mapped(signed_in, answer.url, *OWN).status_code == 302
    source = Path(Job.objects.get().params["source"])
    assert (source.name, (source.parent / "a" / "1.wav").read_bytes()) == ("items.csv", b"RIFF")


def test_a_folder_of_hundreds_of_files_is_brought(signed_in, study):
    files = [
        SimpleUploadedFile("items.csv", TABLE),
        *(SimpleUploadedFile(f"{n}.wav", b"RIFF") for n in range(150)),
    ]
    paths = [f"mine/{file.name}" for file in files]
    assert signed_in.post(reverse("import", args=["s"]), {"file": files, "path": paths}).status_code == 302
    assert Upload.objects.get().n_files == 151


@pytest.mark.parametrize(
    ("n", "said"), [("NUMBER_FILES", "1 files at most"), ("MEMORY_SIZE", "larger than this")]
)
def test_the_script_is_told_what_is_too_much_before_a_view_reads_it(signed_in, study, settings, n, said):
    setattr(settings, f"DATA_UPLOAD_MAX_{n}", 1)
    files = [SimpleUploadedFile("items.csv", TABLE), SimpleUploadedFile("1.wav", b"RIFF")]
    parts = {"file": files, "path": ["mine/items.csv", "mine/1.wav"]}
    where = reverse("import", args=["s"])
    answer = signed_in.post(where, parts, headers={"Accept": "application/json"})
    assert (answer.status_code, said in answer.json()["detail"]) == (400, True)
    assert said in signed_in.post(where, parts).text


@pytest.mark.parametrize("path", ["../../etc/passwd", "/etc/passwd", "C:\\x"])
def test_a_path_that_leads_elsewhere_is_refused(signed_in, study, path):
    files = [SimpleUploadedFile("items.csv", TABLE), SimpleUploadedFile("1.wav", b"RIFF")]
    answer = signed_in.post(reverse("import", args=["s"]), {"file": files, "path": ["mine/items.csv", path]})
    assert (answer.status_code, Upload.objects.count()) == (400, 0)
    assert "leads out of it" in answer.text


def test_the_script_that_sends_files_is_told_where_to_go_or_what_is_wrong(signed_in, study):
    where, headers = reverse("import", args=["s"]), {"Accept": "application/json"}
    sent = signed_in.post(where, {"file": SimpleUploadedFile("items.csv", TABLE)}, headers=headers)
    assert sent.json() == {"next": reverse("upload", args=[Upload.objects.get().pk])}
    refused = signed_in.post(where, {}, headers=headers)
    assert (refused.status_code, "No file came" in refused.json()["detail"]) == (400, True)


def test_a_trial_changes_nothing_and_can_be_done_in_earnest(signed_in, study):
    trial = mapped(signed_in, bring(signed_in).url, *OWN, dry_run="on").url
    jobs.run(Job.objects.get().pk)
    page = signed_in.get(trial).text
    assert "Dry run finished: nothing was changed." in page
    assert not Task.objects.exists()
    answer = signed_in.post(f"{trial}import/")
    job = Job.objects.exclude(params__dry_run=True).get()
    assert answer.url == reverse("job", args=[job.pk])
    jobs.run(job.pk)
    assert Task.objects.count() == 1


@pytest.fixture
def new_trial(signed_in, admin):
    """The job page of a trial for a study that is to be made."""
    admin.may_create_studies = True
    admin.save()
    page = bring(signed_in, where=reverse("from_files")).url
    trial = mapped(signed_in, page, *OWN, title="Bells", slug="bells", overlap="2", dry_run="on").url
    jobs.run(Job.objects.get().pk)
    return trial


def test_a_trial_of_a_new_study_can_be_done_in_earnest(signed_in, new_trial):
    where = f"{new_trial}import/"
    assert f'action="{where}"' in signed_in.get(new_trial).text
    assert not Study.objects.filter(slug="bells").exists()
    assert signed_in.post(where).url == reverse("job", args=[Job.objects.latest("created_at").pk])
    jobs.run(Job.objects.latest("created_at").pk)
    made = Study.objects.get(slug="bells")
    assert (made.title, made.overlap, made.n_tasks) == ("Bells", 2, 1)
    assert made.memberships.get().user == Job.objects.latest("created_at").created_by


def test_an_address_that_was_taken_since_the_trial_is_told_and_can_be_changed(signed_in, new_trial):
    StudyFactory(slug="bells")
    answer = signed_in.post(f"{new_trial}import/", follow=True)
    assert answer.redirect_chain[0][0] == new_trial
    assert "exists already" in answer.text
    assert Job.objects.count() == 1


def test_nobody_else_makes_the_study_of_a_trial(signed_in, new_trial):
    signed_in.force_login(UserFactory(is_superuser=True))
    assert f"{new_trial}import/" not in signed_in.get(new_trial).text
    assert signed_in.post(f"{new_trial}import/").status_code == 404
    assert Job.objects.count() == 1


def test_a_trial_leads_back_to_what_was_said_of_its_files(signed_in, new_trial):
    page = reverse("upload", args=[Upload.objects.get().pk])
    assert f'href="{page}?format=csv&amp;preset=orca"' in signed_in.get(new_trial).text
    signed_in.post(f"{new_trial}import/")
    made = Job.objects.latest("created_at")
    jobs.run(made.pk)
    assert page not in signed_in.get(reverse("job", args=[made.pk])).text


def test_an_import_that_failed_leads_back_to_what_was_said_of_its_files(signed_in, study):
    page = bring(signed_in, TABLE.replace(b"one,", b",")).url
    job = mapped(signed_in, page, *OWN).url
    assert page not in signed_in.get(job).text  # it is not over
    jobs.run(Job.objects.get().pk)
    assert f'href="{page}?format=csv"' in signed_in.get(job).text
    signed_in.force_login(member(study, "admin"))
    assert page not in signed_in.get(job).text  # somebody else's files
    shutil.rmtree(Path(Job.objects.get().params["source"]).parent)
    signed_in.force_login(Job.objects.get().created_by)
    assert page not in signed_in.get(job).text  # gone


def test_a_trial_whose_file_is_gone_asks_for_it_again(signed_in, study):
    job = Job.objects.create(
        kind="import", study=study, state="done",
        params={"dry_run": True, "source": "/nowhere/at/all.csv", "format": "csv", "column_map": {},
                "overlap": None, "archive": False, "skip_bad_rows": False},
    )  # fmt: skip
    answer = signed_in.post(reverse("import_for_real", args=[job.pk]), follow=True)
    assert answer.redirect_chain[0][0] == reverse("import", args=["s"])
    assert "upload it again" in answer.text
    assert "/nowhere" not in answer.text


@pytest.mark.parametrize("params", [{"dry_run": False}, {}])
def test_only_a_trial_can_be_done_in_earnest(signed_in, study, params):
    job = Job.objects.create(kind="import", study=study, state="done", params=params)
    assert signed_in.post(reverse("import_for_real", args=[job.pk])).status_code == 404


def test_options_reach_the_import(signed_in, study):
    mapped(signed_in, bring(signed_in).url, *OWN, skip_bad_rows="on", archive="on")
    params = Job.objects.get().params
    assert (params["skip_bad_rows"], params["archive"], params["dry_run"]) == (True, True, False)


def test_a_column_map_is_left_out_where_the_format_has_fixed_columns(signed_in, study):
    page = bring(signed_in, b"{}", name="a.json").url
    assert signed_in.post(page, {"format": "orca"}).status_code == 302
    assert Job.objects.get().params["column_map"] == {}


def test_an_archive_is_unpacked(signed_in, study):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("data/items.csv", TABLE)
    mapped(signed_in, bring(signed_in, packed.getvalue(), name="items.zip").url, *OWN)
    assert Job.objects.get().params["source"].endswith("data/items.csv")


def test_what_cannot_be_unpacked_is_refused_and_says_so(signed_in, study):
    answer = bring(signed_in, b"PK\x05\x06" + bytes(18), name="items.zip")
    assert (answer.status_code, Upload.objects.count()) == (400, 0)
    assert "The archive is empty." in answer.text


def test_a_study_is_offered_the_formats_that_fit_its_protocol(client):
    study = StudyFactory(slug="s", preset="cmi-pref")
    client.force_login(member(study, "admin"))
    form = client.get(bring(client).url).context["reading"]
    offered = {key for key, _ in form.fields["format"].choices}
    assert {"csv", "jsonl", "cmi-pref"} <= offered
    assert not {"orca", "fense", "aes"} & offered


def test_every_column_of_a_plain_table_is_explained():
    assert {re.sub(r"_[a-z]\Z", "", name) for name in FIELDS} == COLUMN_HELP.keys()


def test_the_columns_of_many_candidates_are_explained_once():
    named = [name for name, _, _ in import_field_help(preset("mushra"))]
    assert named[:4] == ["item_id", "prompt", "system_a … system_i", "audio_a … audio_i"]
    assert named[4:] == ["reference_audio", "check"]


def test_a_panel_has_columns_for_each_candidate_and_says_which_one_is_rated():
    fields = import_fields(preset("aqeval"))
    assert {"system_a", "answer_d", "system_z", "candidate", "item_audio"} <= set(fields)
    assert not {"system", "answer", "audio", "audio_a"} & set(fields)


def test_a_protocol_has_only_the_columns_it_has_a_use_for():
    compares, rates = import_fields(preset("cmi-pref")), import_fields(preset("orca"))
    assert {"audio_a", "audio_b", "system_a", "prompt", "reference_audio"} <= set(compares)
    assert not {"audio", "answer_a", "question_text", "item_audio"} & set(compares)
    assert {"answer", "system", "item_audio", "question_text"} <= set(rates)
    assert not {"audio", "audio_a", "prompt", "reference_audio"} & set(rates)


def test_an_upload_that_is_too_large_gets_a_page_that_says_so(signed_in, study, settings):
    settings.UPLOAD_MAX_BYTES = 10
    answer = bring(signed_in)
    assert answer.status_code == 400
    assert "larger than this site takes" in answer.text
    assert not Study.objects.filter(jobs__isnull=False).exists()


# Single clips, other encodings, what cannot be used


def clip_files(*, systems: str = "abc", prompts: int = 4) -> dict[str, list]:
    """A table of single clips, Latin-1 with semicolons, and its sounds in a folder beside."""
    rows = [f"{system}{n}.wav;{n};Café {n};{system}" for n in range(prompts) for system in systems]
    table = "\n".join(["filename;prompt_id;prompt;system", *rows]).encode("latin-1")
    names = [f"{system}{n}.wav" for n in range(prompts) for system in systems]
    return {
        "file": [
            SimpleUploadedFile("clips.csv", table),
            *(SimpleUploadedFile(name, b"RIFF") for name in names),
        ],
        "path": ["mine/clips.csv", *(f"mine/sounds/{name}" for name in names)],
    }


@pytest.fixture
def clip_page(signed_in, admin):
    admin.may_create_studies = True
    admin.save()
    return signed_in.post(reverse("from_files"), clip_files()).url


def test_the_usual_table_of_clips_is_recognised_and_counted(signed_in, clip_page):
    shown = signed_in.get(clip_page)
    assert shown.context["preset_key"] == "cmi-pref"
    for words in (
        "Read as Latin-1, separated by semicolons.",
        "4 prompts × 3 systems = 12 comparisons",
        "Café 0",
    ):
        assert words in " ".join(re.sub(r"<[^>]+>", "", shown.text).split())
    assert shown.text.count("<audio") == 6
    assert not re.search(
        r"<article.*?(system|mine/sounds/a0).*?</article>", shown.text.split("<audio")[0], re.S
    )


@pytest.mark.parametrize(
    ("pairing", "pair", "n"),
    [
        ({}, "all", 12),
        ({"pairing": "baseline", "baseline": "b"}, "baseline:b", 8),
        ({"pairing": "sample", "per_prompt": "1"}, "sample:1", 4),
    ],
)
def test_the_pairing_is_chosen_on_the_page(signed_in, clip_page, pairing, pair, n):
    choices = {"format": "csv", "preset": "cmi-pref", **pairing}
    fields = {f"column-{place}": name for place, name in enumerate(("audio", "item_id", "prompt", "system"))}
    study_fields = {"title": "Mine", "slug": "mine", "overlap": "3"}
    drawn = signed_in.post(clip_page, {**choices, **fields, **study_fields, "update": "1"})
    assert (drawn.context["page"].examination.n_tasks, Job.objects.count()) == (n, 0)
    signed_in.post(clip_page, {**choices, **fields, **study_fields})
    assert Job.objects.get().params["pair"] == pair


def test_sounds_are_heard_by_whoever_brought_them_alone(signed_in, clip_page, client, study):
    address = re.search(r'<audio[^>]* src="([^"]+)"', signed_in.get(clip_page).text)[1]
    answer = signed_in.get(address)
    assert (answer.status_code, b"".join(answer.streaming_content), answer["Content-Type"]) == (
        200,
        b"RIFF",
        "audio/wav",
    )
    place = address.partition("?")[0]
    for path in ("mine/clips.csv", "../../secret.wav", "/etc/passwd", "", "gone.wav"):
        assert signed_in.get(place, {"path": path}).status_code == 404
    client.force_login(member(study, "researcher"))
    assert client.get(address).status_code == 404


def test_sounds_that_are_missing_or_named_by_no_row_are_told_before_the_import(signed_in, clip_page):
    files = clip_files(systems="ab", prompts=2)
    del files["file"][1], files["path"][1]
    address = signed_in.post(reverse("from_files"), files).url
    shown = signed_in.get(address).context["page"].examination
    assert [(fault.row, fault.field) for fault in shown.problems] == [("2", "audio"), ("3", "system")]
    in_chinese = signed_in.get(address, HTTP_ACCEPT_LANGUAGE="zh-hans").text
    assert "只有 b 有 0 的音频。 请补上缺少的音频" in in_chinese
    files = clip_files(systems="ab", prompts=2)
    files["file"].append(SimpleUploadedFile("more.wav", b"RIFF"))
    files["path"].append("mine/more.wav")
    page = signed_in.get(signed_in.post(reverse("from_files"), files).url)
    assert page.context["page"].examination.unnamed_sounds == ("more.wav",)
    assert "1 sound is named by no row and is left out: more.wav" in page.text


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("photo.csv", b"\x89PNG\r\n\x1a\n0000", "photo.csv is a picture (PNG)."),
        ("paper.pdf", b"%PDF-1.7", "paper.pdf is a PDF document."),
    ],
)
def test_what_cannot_be_used_says_so_at_once(signed_in, study, name, content, words):
    answer = bring(signed_in, content, name=name)
    assert (answer.status_code, words in answer.text) == (400, True)
    assert not Upload.objects.exists()


def test_a_workbook_is_read_from_the_sheet_that_is_chosen(signed_in, study):
    book = openpyxl.Workbook()
    book.active.append(["nothing"])
    sheet = book.create_sheet("Bells")
    for row in (
        ["item_id", "question_text", "reference", "system", "answer"],
        [7, "What?", "A bell.", "m", "A gong."],
    ):
        sheet.append(row)
    packed = io.BytesIO()
    book.save(packed)
    page = bring(signed_in, packed.getvalue(), name="bells.xlsx").url
    assert signed_in.get(page).context["format"] == "xlsx"
    shown = signed_in.get(f"{page}?sheet=Bells")
    assert shown.context["look"].rows[0][0] == "7"
    mapped(signed_in, page, *OWN, format="xlsx", sheet="Bells")
    job = Job.objects.get()
    jobs.run(job.pk)
    assert study.items.get().external_id == "7"


def test_columns_that_were_chosen_for_another_table_are_not_taken_over(signed_in, study):
    page = bring(signed_in).url
    stale = {"mapped_for": "another", "column-0": "-", "update": "1", "format": "csv"}
    initial = [column.field.value() for column in signed_in.post(page, stale).context["mapping"].columns()]
    assert initial == list(OWN)
