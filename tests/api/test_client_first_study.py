"""A first study through the client: its files are brought, looked at and imported, and it is looked at before it
starts. What docs/client.md shows is run as it stands there."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest
from django.conf import settings as site

from annotation.access import tokens
from annotation.models import Judgment, Study, Upload, User
from concord_client import Concord, ConcordError, JobFailed
from tests import factories
from tests.annotation.importing.formats.sounds import tone
from tests.api.conftest import Connect

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("worker")]

CSV = "Nr,Frage,Antwort\n1,What rings?,A bell.\n"
ORCA = {"slug": "bells", "title": "Bells", "preset": "orca", "overlap": 2}
ANSWERS = [
    {"question": "alignment", "choice": "A", "confidence": 4},
    {"question": "musicality", "choice": "B", "confidence": 3},
    {"question": "evidence", "text": "It rings longer."},
]


def sounds(folder: Path) -> Path:
    for n, system in enumerate(("system-one", "system-two")):
        (folder / system).mkdir(parents=True)
        for m, item in enumerate(("001", "002")):
            tone(folder / system / f"{item}.wav", hertz=300 + 100 * n + 30 * m)
            (folder / f"{item}.txt").write_text(f"Bell {item}")
    (folder / ".DS_Store").write_text("not of the study")
    return folder


@pytest.fixture
def boss(db) -> User:
    return factories.UserFactory(may_create_studies=True)


@pytest.fixture
def concord(connect: Connect, boss: User) -> Concord:
    return connect(boss, "manage")


def shown_in_docs() -> list[str]:
    page = (Path(site.BASE_DIR) / "docs/client.md").read_text()
    section = page.partition("## A study from its sounds to its data\n")[2].partition("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


def vote_on_everything(rater: Concord) -> int:
    n = 0
    while (assignment := rater.rating.next("bells")) is not None:
        rater.rating.submit(assignment["id"], ANSWERS, telemetry=heard(assignment))
        n += 1
    return n


def heard(assignment: dict) -> dict:
    clips = [candidate["clip"] for candidate in assignment["candidates"]]
    return {"heard": {clip["name"]: [[0, clip["duration"]]] for clip in clips}, "switches": 3}


def test_what_the_docs_show_makes_a_study_of_sounds_and_takes_its_data_out(
    connect: Connect, boss: User, live_server, tmp_path: Path, monkeypatch, capsys
):
    sounds(tmp_path / "my-sounds")
    monkeypatch.chdir(tmp_path)
    _token, secret = tokens.create_token(boss, name="docs", scopes=["read", "manage"], days=1)
    making, taking_out = (
        code.replace("https://concord.example", live_server.url).replace("concord_…", secret)
        for code in shown_in_docs()
    )

    exec(compile(making, "docs/client.md", "exec"), {})
    said = capsys.readouterr().out
    assert "audiofolder" in said
    assert "Bell 001 ['A', 'B']" in said
    assert Study.objects.get(slug="bells").state == "running"
    (invited,) = re.findall(r"/join/([\w-]+)", said)
    rater = connect(factories.UserFactory(), "rate", "manage")
    rater.studies.join(invited)
    assert vote_on_everything(rater) == 2

    exec(compile(taking_out, "docs/client.md", "exec"), {})
    with zipfile.ZipFile("bells-votes.zip") as votes:
        (judgments,) = (name for name in votes.namelist() if name.endswith("judgments.csv"))
        client_ids = Judgment.objects.values_list("client_id", flat=True)
        assert all(str(one) in votes.read(judgments).decode() for one in client_ids)
    with zipfile.ZipFile("bells-release.zip") as release:
        assert release.testzip() is None
        assert sum("audio" in name for name in release.namelist())


def test_a_folder_arrives_with_the_paths_of_its_files_and_without_hidden_ones(
    concord: Concord, tmp_path: Path
):
    upload = concord.uploads.bring(sounds(tmp_path / "my-sounds"))
    assert (upload["name"], upload["n_files"], upload["format"]) == ("my-sounds", 6, "audiofolder")
    kept = Path(Upload.objects.get().source)
    assert (kept / "my-sounds/system-one/001.wav").read_bytes() == (
        tmp_path / "my-sounds/system-one/001.wav"
    ).read_bytes()


def test_an_archive_is_unpacked(concord: Concord, tmp_path: Path):
    sounds(tmp_path / "my-sounds")
    with zipfile.ZipFile(tmp_path / "sounds.zip", "w") as archive:
        for path in (tmp_path / "my-sounds").rglob("*.*"):
            archive.write(path, path.relative_to(tmp_path))
    assert concord.uploads.bring(tmp_path / "sounds.zip")["format"] == "audiofolder"


def test_a_table_is_read_as_one_says_and_tried_before_it_is_imported(concord: Concord, tmp_path: Path):
    (tmp_path / "t.csv").write_text(CSV)
    upload = concord.uploads.bring(tmp_path / "t.csv")
    assert upload["rows"] == [["1", "What rings?", "A bell."]]
    assert concord.uploads.look(upload["id"], format="tsv")["format"] == "tsv"

    with pytest.raises(ConcordError, match=r"\n  new_study: These files are for no study yet\. Say which"):
        concord.uploads.start(upload["id"], format="csv")
    with pytest.raises(ConcordError) as refused:
        concord.uploads.start(upload["id"], format="csv", new_study={**ORCA, "preset": "orcas"})
    assert refused.value.fields[0]["field"] == "new_study.preset"

    wrong = concord.uploads.start(upload["id"], format="csv", new_study=ORCA, dry_run=True)
    with pytest.raises(JobFailed, match="problem"):
        concord.jobs.wait(wrong["id"])


def test_files_for_a_study_are_imported_into_it(connect: Connect, tmp_path: Path):
    study = factories.StudyFactory(slug="s", preset="orca")
    boss = connect(factories.member(study, "researcher"), "manage")
    (tmp_path / "t.csv").write_text("Nr,question_text,reference,system,answer\n1,What?,A bell.,m,A gong.\n")
    upload = boss.uploads.bring(tmp_path / "t.csv", study="s")
    assert upload["study"] == "s"
    job = boss.uploads.start(upload["id"], format="csv", column_map={"Nr": "item_id"}, overlap=4)
    assert boss.jobs.wait(job["id"])["report"]["tasks"] == 1
    assert [task["overlap"] for task in boss.studies.tasks("s")] == [4]


def test_a_preview_lets_hear_and_answer_and_keeps_nothing(concord: Concord, tmp_path: Path):
    upload = concord.uploads.bring(sounds(tmp_path / "my-sounds"))
    new = {"slug": "bells", "title": "Bells", "preset": "cmi-pref"}
    concord.jobs.wait(concord.uploads.start(upload["id"], format="audiofolder", new_study=new)["id"])
    first, second = concord.previews.all("bells")
    assert concord.previews.next("bells", seen=[first["id"]])["id"] == second["id"]
    again = concord.previews.get("bells", first["id"])
    sound = concord.download(again["candidates"][0]["clip"]["url"], tmp_path / "a.flac")
    assert sound.read_bytes()[:4] == b"fLaC"
    with pytest.raises(ConcordError, match=r"answers\[0\]"):
        concord.previews.check("bells", first["id"], [{"question": "nonsense", "choice": "A"}])
    assert not Judgment.objects.exists()
