"""What is written into a file of rows is read back from it, and by our importers of the layouts of others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analytics.datasets.formats import preferences, ratings, writers
from analytics.datasets.formats.contract import AnswerRow, Column, JudgmentRow, Output
from annotation.importing.formats import cmi_pref as cmi_importer
from annotation.importing.formats import orca as orca_importer
from annotation.importing.records import TaskRecord
from annotation.protocols import preset
from tests.analytics.datasets.formats.judged import BOTH, RATING, clip, compared, context, rated
from tests.annotation.importing.importing import merge_fragments


def written(path: Path, rows: Iterable[dict[str, Any]], columns: tuple[Any, ...]) -> Path:
    writer = writers.WRITERS[path.suffix[1:]](path, columns)
    for row in rows:
        writer.write(row)
    writer.close()
    return path


COLUMNS = (Column("id", "string", "a name"), Column("text", "string", "words"))


@pytest.mark.parametrize("kind", sorted(writers.WRITERS))
@pytest.mark.parametrize("text", ["a\rb", "a\r\nb\n", "=1", "＝1", "\n=1", "'=1", '"', " , "])
def test_texts_come_back_as_they_were(tmp_path, kind, text):
    rows = [{"id": "one", "text": text}, {"id": "two", "text": "x"}]
    path = written(tmp_path / f"rows.{kind}", rows, COLUMNS)
    assert list(writers.read_rows(path, ["id", "text"])) == rows


def test_votes_in_cmi_prefs_columns_come_back_as_they_were(tmp_path):
    said = tuple(
        JudgmentRow(
            rater,
            "rated",
            (
                AnswerRow("alignment", choice=choice, confidence=2.5),
                AnswerRow("musicality", choice=3, confidence=None),
                AnswerRow("evidence", text="“Clearer” drums,\nin time"),
            ),
            presentation=shown,
        )
        for rater, choice, shown in (("x", 1, (1, 0)), ("y", 2, (0, 1)))
    )
    judged = compared("")
    content = replace(judged.content, lyrics="La la", reference_clip=clip("asked"))
    judged = replace(judged, judgments=said, content=content)
    (tmp_path / "audio").mkdir()
    for sound in (*(output.clip for output in judged.outputs), content.reference_clip):
        (tmp_path / sound.file_name).write_bytes(b"fLaC")
    rows = preferences.cmi_pref_rows(judged, BOTH, context("cmi-pref"))
    path = written(tmp_path / "train.jsonl", rows, preferences.CMI_PREF_COLUMNS)

    (record,) = merge_fragments(cmi_importer.read(path, preset("cmi-pref"), {}))
    assert isinstance(record, TaskRecord)
    assert (record.item.external_id, record.item.texts["lyrics"]) == ("item of one", "La la")
    assert record.item.reference_audio == tmp_path / clip("asked").file_name
    assert [(one.system, one.audio) for one in record.candidates] == [
        (output.system, tmp_path / output.clip.file_name) for output in judged.outputs
    ]
    found = {one.rater: one for one in record.judgments}
    for one in said:
        back = found[one.rater]
        assert back.presentation == one.presentation
        assert {(given.question, given.choice, given.confidence, given.text) for given in back.answers} == {
            (given.question, given.choice, given.confidence, given.text) for given in one.answers
        }


@pytest.mark.parametrize("generation", ["json", "jsonl"])
def test_ratings_in_orcas_layout_come_back_as_they_were(tmp_path, generation):
    silent = JudgmentRow("r8", "rated", (), codes=("A", "E"), comment="No idea what this is")
    one, two = rated([5, 1, 3], "one"), rated([2], "two_M2_1")
    one = replace(one, judgments=(*one.judgments, silent))
    rows = [row for judged in (one, two) for row in ratings.orca_rows(judged, RATING, context("orca"))]
    path = written(tmp_path / f"train.{generation}", rows, ratings.ORCA_COLUMNS)

    records = {
        record.item.external_id: record
        for record in merge_fragments(orca_importer.read(path, preset("orca"), {}))
        if isinstance(record, TaskRecord)
    }
    assert set(records) == {"item of one", "item of two_M2_1"}
    back = records["item of one"]
    assert [answer.value for said in back.judgments for answer in said.answers] == [5, 1, 3]
    assert (back.judgments[3].codes, back.judgments[3].comment) == (("A", "E"), "No idea what this is")
    assert (back.candidates[0].system, back.candidates[0].text) == ("M1_0", "A bell.")
    assert back.item.texts == {
        "question": "What is heard in one?", "reference": "A bell.", "rationale": "", "transcript": "",
    }  # fmt: skip


@pytest.mark.parametrize("generation", ["json", "jsonl"])
def test_items_and_systems_of_any_name_come_back_from_orcas_layout(tmp_path, generation):
    outputs = {"alpha": 1, "beta_2_b": 1, "M1_0": 2}
    chosen = context("orca", texts="both")
    chosen.systems = tuple(sorted(outputs))
    rows = [
        row
        for item in ("clip_7", "clip_M1_0")
        for version in (1, 2)
        for system, take in outputs.items()
        for row in ratings.orca_rows(
            replace(
                rated([4], f"{item} | {system}"),
                item=item,
                version=version,
                outputs=(Output(1, system, take, text="The same words."),),
            ),
            RATING,
            chosen,
        )
    ]
    path = written(tmp_path / f"train.{generation}", rows, ratings.ORCA_COLUMNS)

    records = list(merge_fragments(orca_importer.read(path, preset("orca"), {})))
    assert {(record.item.external_id, record.candidates[0].system) for record in records} == {
        (item, system) for item in ("clip_7", "clip_7.v2", "clip_M1_0", "clip_M1_0.v2") for system in outputs
    }
    assert len({record.external_id for record in records}) == len(records) == len(rows)
