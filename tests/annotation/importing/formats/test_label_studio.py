"""Label Studio's exports: which key and control is what, what is left out, and every task that is refused."""

from __future__ import annotations

import json
from functools import partial

import pytest

from annotation.rating.rules.answers import BOTH_BAD, FIRST, SECOND, TIE
from tests.annotation.importing.formats import reading, sounds
from tests.annotation.importing.formats.reading import faults, notes, problems, tasks

read = partial(reading.read, "label-studio", protocol="music-arena", merged=True)


@pytest.fixture
def export(tmp_path):
    """Write tasks beside the clips that they name."""
    for name in ("suno/t1.wav", "musicgen/t1.wav"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        sounds.tone(tmp_path / name)

    def write(*tasks):
        path = tmp_path / "export.json"
        path.write_text(json.dumps(tasks), encoding="utf-8")
        return path

    return write


DATA = {
    "prompt": "Calm piano",
    "audio1": "/data/local-files/?d=clips%2Fsuno/t1.wav",
    "audio2": "/data/local-files/?d=clips/musicgen/t1.wav",
}

ANSWER = {"question": "What?", "reference": "Two", "answer": "Three", "system": "m"}


def task(*annotations, **changes):
    return {"id": 17, "data": DATA, "annotations": list(annotations), **changes}


def chosen(label, **changes):
    value = {"from_name": "overall", "to_name": "a", "type": "choices", "value": {"choices": [label]}}
    return {"id": 5, "completed_by": 3, "result": [value], **changes}


def result(name, type_, **value):
    return {"from_name": name, "to_name": "a", "type": type_, "value": value}


def annotation(*results):
    return {"id": 5, "completed_by": 1, "result": list(results)}


def test_a_task_is_an_item_whose_clips_are_below_the_export_and_whose_folders_name_the_systems(export):
    entries = read(export(task()))
    [record] = tasks(entries)
    assert (record.item.external_id, record.item.texts["prompt"]) == ("17", "Calm piano")
    assert [candidate.audio.parent.name for candidate in record.candidates] == ["musicgen", "suno"]
    assert [candidate.system for candidate in record.candidates] == ["musicgen", "suno"]
    assert notes(entries)[0].startswith("In 1 tasks nothing names the systems")


def test_an_uploads_folder_is_no_system(export, tmp_path):
    sounds.tone(tmp_path / "t2.wav")
    entries = read(export(task(data={**DATA, "audio2": "/data/upload/7/0a1b2c3d-t2.wav"})))
    assert {candidate.system for candidate in tasks(entries)[0].candidates} == {"A", "B"}
    assert notes(entries)[0].endswith("results by system will say nothing.")


@pytest.mark.parametrize(
    ("label", "choice"),
    [("A", SECOND), ("right", FIRST), ("B is better", FIRST), ("Tie", TIE), ("both are bad", BOTH_BAD)],
)
def test_a_label_is_a_side_as_the_data_list_them(export, label, choice):
    [record] = tasks(read(export(task(chosen(label)))))
    assert [judgment.answers[0].choice for judgment in record.judgments] == [choice]


def test_a_pairwise_control_of_any_name_answers_the_only_preference(export):
    entries = read(export(task(annotation(result("pw", "pairwise", selected="left")))))
    [record] = tasks(entries)
    [judgment] = record.judgments
    assert (judgment.rater, judgment.presentation) == ("label-studio:1", (1, 0))
    assert judgment.answers[0].choice == SECOND
    assert notes(entries)[-1].startswith("The control pw was taken for overall")


def test_annotators_are_never_their_addresses(export):
    by = [{"email": "Jane@x.example"}, {"id": 9, "email": "bob@x.example"}, "jane@x.example ", None]
    entries = read(export(*(task(chosen("A", completed_by=who), id=n) for n, who in enumerate(by))))
    raters = [record.judgments[0].rater for record in tasks(entries)]
    assert raters[0] == raters[2]
    assert raters[1::2] == ["label-studio:9", ""]
    assert "@" not in str(entries)


def test_skipped_and_empty_annotations_and_predictions_are_left_out_and_counted(export):
    skipped, empty = chosen("A", was_cancelled=True), chosen("A", result=[])
    truth = chosen("A", ground_truth=True)
    entries = read(export(task(skipped, empty, truth, predictions=[{"result": []}])))
    assert len(tasks(entries)[0].judgments) == 1
    assert [text[:2] for text in notes(entries)] == ["1 ", "1 ", "In", "1 ", "1 "]


@pytest.mark.parametrize("field", ["predictions", "annotations"])
@pytest.mark.parametrize("value", [5, 0.5, True, "x", {"a": 1}])
def test_what_should_be_a_list_and_is_none_is_told(export, field, value):
    (fault,) = faults(read(export({**task(chosen("A")), field: value})))
    assert (fault.field, fault.problem) == (field, "is not a list")


def test_ratings_are_numbers_stars_or_the_labels_of_points(export):
    results = [
        result("correctness", "rating", rating=4),
        result("correctness", "number", number=4),
        result("correctness", "choices", choices=["4 - almost"]),
        result("correctness", "choices", choices=["Almost correct"]),
    ]
    path = export(*(task(annotation(one), id=n, data=ANSWER) for n, one in enumerate(results)))
    records = tasks(read(path, protocol="orca"))
    assert [record.judgments[0].answers[0].value for record in records] == [4, 4, 4, 4]


def test_confidence_codes_and_comments_go_with_their_answer(export):
    whole = annotation(
        result("alignment_confidence", "number", number=4.5),
        result("alignment", "choices", choices=["A"]),
        result("musicality", "choices", choices=["B"]),
        result("feedback", "textarea", text=["Too", "loud"]),
    )
    [record] = tasks(read(export(task(whole)), protocol="cmi-pref"))
    [judgment] = record.judgments
    answers = {answer.question: (answer.choice, answer.confidence) for answer in judgment.answers}
    assert answers == {"alignment": (SECOND, 4.5), "musicality": (FIRST, None)}
    assert judgment.comment == "Too\nloud"


def test_keys_and_controls_are_mapped_or_left_out(export):
    results = result("q1", "choices", choices=["A"]), result("q2", "taxonomy")
    odd = task(annotation(*results), data={**DATA, "made by": "nobody", "sort": 3})
    mapped = {"data.made by": "", "data.sort": "stratum.sort", "control.q1": "overall", "control.q2": ""}
    [record] = tasks(read(export(odd), **mapped))
    assert (record.item.strata, len(record.judgments)) == ({"sort": "3"}, 1)


def test_what_is_mapped_and_never_there_is_told(export):
    entries = read(export(task()), **{"data.sorte": "", "control.q9": "overall", "prompt": "lyrics"})
    assert [field for _, field in problems(entries)] == ["control.q9", "data.sorte", "prompt"]


@pytest.mark.parametrize(
    ("bad", "row", "field"),
    [
        ({"data": {**DATA, "odd": 1}}, "task 17", "data.odd"),
        ({"data": {**DATA, "prompt": ["a"]}}, "task 17", "prompt"),
        ({"data": {**DATA, "audio1": "/data/upload/1/gone.wav"}}, "task 17", "audio_a"),
        ({"data": {**DATA, "audio1": "../../etc/passwd"}}, "task 17", "audio_a"),
        ({"data": None}, "task 17", "data"),
        ({"annotations": "none"}, "task 17", "annotations"),
        ({"annotations": ["x"]}, "task 17", "annotations[0]"),
        ({"annotations": [chosen("A", result=["x"])]}, "task 17, annotation 5", "result"),
        ({"annotations": [chosen("violins")]}, "task 17, annotation 5, overall", "value"),
        ({"annotations": [chosen("A"), chosen("B", id=6)]}, "task 17, annotation 6, overall", "rater_id"),
        ({"annotations": [annotation(result("x", "ranker", ranker={}))]}, "task 17, annotation 5", "x"),
        (
            {"annotations": [annotation(result("overall", "choices", choices=["A", "B"]))]},
            "task 17, annotation 5",
            "overall",
        ),
    ],
)
def test_a_bad_task_is_named_with_its_field_and_the_others_are_read(export, bad, row, field):
    entries = read(export(task(chosen("A"), id=16), task(**bad)))
    assert problems(entries)[0] == (row, field)
    assert all(fault.remedy for fault in faults(entries))
    assert "16" in [record.item.external_id for record in tasks(entries)]


def test_a_mapped_control_beside_a_broken_result_is_there(export):
    broken = chosen("A", result=[result("q1", "choices", choices=["A"]), "x"])
    entries = read(export(task(broken)), **{"control.q1": "overall"})
    assert problems(entries) == [("task 17, annotation 5", "result")]


def test_a_rating_beyond_the_scale_is_refused(export):
    six = annotation(result("correctness", "rating", rating=6))
    [fault] = faults(read(export(task(six, data=ANSWER)), protocol="orca"))
    assert (fault.row, "1, 2, 3, 4, 5" in fault.problem) == ("task 17, annotation 5, correctness", True)


def test_two_tasks_of_one_id_are_refused(export):
    assert problems(read(export(task(), task()))) == [("task 17", "id")]


@pytest.mark.parametrize(
    "content", [b"", b"{}", b'{"id": 1}\n{"id": 2}', b"id,data\n", b"\xff[", b"PK\x03\x04"]
)
def test_what_is_no_export_is_one_problem(tmp_path, content):
    path = tmp_path / "x.json"
    path.write_bytes(content)
    assert [row for row, _ in problems(read(path))] == ["x.json"]


def test_half_an_export_is_told(export):
    path = export(task(id=1), task(id=2))
    path.write_text(path.read_text()[:-60])
    entries = read(path)
    assert (len(tasks(entries)), problems(entries)) == (1, [("export.json", "")])


def test_a_flat_record_is_an_annotation_and_several_are_one_task(export):
    def flat(annotator, **answer):
        return {"id": 17, **DATA, **answer, "annotator": annotator, "annotation_id": annotator}

    as_list = flat(3, pw=[{"selected": "left"}])
    raters = flat(1, overall="A"), flat(2, overall="B"), flat("x@y.example", overall="tie")
    [record] = tasks(read(export(*raters)))
    assert [judgment.answers[0].choice for judgment in record.judgments] == [SECOND, FIRST, TIE]
    assert record.judgments[0].rater == "label-studio:1"
    [record] = tasks(read(export(as_list)))
    assert record.judgments[0].answers[0].choice == SECOND


def test_a_sound_may_be_at_an_address(export):
    remote = {**DATA, "audio1": "https://x.example/suno/t1.wav", "system_a": "suno", "system_b": "musicgen"}
    [record] = tasks(read(export(task(data=remote))))
    assert record.candidates[1].audio.address == "https://x.example/suno/t1.wav"
