"""POTATO's output: its data and what users said find each other, and every user and instance that is refused."""

from __future__ import annotations

import json
import shutil
from functools import partial

import pytest

from annotation.importing.formats import potato
from annotation.rating.rules.answers import FIRST, SECOND, TIE
from tests.annotation.importing.formats import reading
from tests.annotation.importing.formats.reading import notes, problems, tasks
from tests.presets import EXAMPLES

read = partial(reading.read, "potato", protocol="orca", merged=True)

STATE = "annotation_output/ann/user_state.json"


@pytest.fixture
def project(tmp_path):
    folder = shutil.copytree(EXAMPLES / "potato", tmp_path / "project")
    for name in ("bell-01.wav", "talk-01.wav"):
        (folder / name).write_bytes(b"sound")
    return folder


def say(project, labels, user="ann"):
    path = project / f"annotation_output/{user}/user_state.json"
    path.parent.mkdir(exist_ok=True)
    pairs = {
        name: [[{"schema": schema, "name": label}, value] for schema, label, value in said]
        for name, said in labels.items()
    }
    path.write_text(json.dumps({"user_id": user, "instance_id_to_label_to_value": pairs}))


def test_users_are_raters_and_instances_tasks(project):
    entries = read(project)
    votes = [(record.candidates[0].text, vote) for record in tasks(entries) for vote in record.judgments]
    assert len(tasks(entries)) == 3
    assert {(text, vote.rater): vote.answers[0].value for text, vote in votes} == {
        ("Two bells ring.", "potato:ann"): 5,
        ("Two bells ring.", "potato:5bffe7b177da448d"): 4,
        ("Three, I believe.", "potato:ann"): 1,
    }
    assert "bob@" not in str(entries)


@pytest.mark.parametrize(
    ("label", "value"), [("3", "3"), ("scale_3", "3"), ("slider", 3), ("correctness", "3 - moderate")]
)
def test_an_answer_is_its_labels_name_or_its_value(project, label, value):
    say(project, {"bell-01-x": [("correctness", label, value)]})
    record = tasks(read(project))[0]
    assert record.judgments[0].answers[0].value == 3


def test_a_pair_is_read_with_its_labels(tmp_path):
    (tmp_path / "config.yaml").write_text(
        "data_files: [pairs.csv]\nitem_properties: {id_key: nr, text_key: caption}\n"
        "annotation_schemes: [{annotation_type: radio, name: which, labels: [A, B, tie]}]\n"
    )
    (tmp_path / "pairs.csv").write_text("nr,caption,audio_a,audio_b\n1,Rain,s/1.wav,t/1.wav\n")
    for name in ("s/1.wav", "t/1.wav"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "annotation_output").mkdir()
    for user, label in (("u1", "A"), ("u2", "b"), ("u3", "Tie")):
        say(tmp_path, {"1": [("which", label, "true")]}, user=user)
    [record] = tasks(read(tmp_path, protocol="music-arena"))
    assert record.item.texts["prompt"] == "Rain"
    assert [said.answers[0].choice for said in record.judgments] == [FIRST, SECOND, TIE]


def test_an_exported_table_is_read_with_the_configuration_beside_it(project):
    shutil.rmtree(project / "annotation_output")
    table = project / "annotations.csv"
    table.write_text(
        "instance_id,user_id,correctness,codes.A,codes.E,answer\n"
        "bell-01-x,ann,4,1,,Two bells ring.\nbell-01-y,ann,2,,true,\n"
    )
    judgments = [judgment for record in tasks(read(table)) for judgment in record.judgments]
    assert [(one.answers[0].value, one.codes) for one in judgments] == [(4, ("A",)), (2, ("E",))]


def test_a_scheme_of_another_name_is_mapped(project):
    say(project, {"bell-01-x": [("quality", "4", "4"), ("mood", "sad", "true")]})
    assert problems(read(project))[0] == ("user ann, instance bell-01-x", "mood")
    mapped = read(project, **{"control.quality": "correctness", "control.mood": ""})
    assert tasks(mapped)[0].judgments[0].answers[0].value == 4


@pytest.mark.parametrize(
    ("said", "row", "field"),
    [
        ({"bell-01-x": [("correctness", "9", "9")]}, "user ann, instance bell-01-x, correctness", "value"),
        ({"gone": [("correctness", "3", "3")]}, "user ann, instance gone", "instance_id"),
        ({"bell-01-x": [("codes", "Z", "true")]}, "user ann, instance bell-01-x", "codes"),
    ],
)
def test_what_a_user_cannot_have_said_is_named(project, said, row, field):
    say(project, said)
    assert problems(read(project)) == [(row, field)]


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff", b'{"instance_id_to_label_to_value": []}'])
def test_a_damaged_state_is_one_problem_and_the_others_are_read(project, content):
    (project / STATE).write_bytes(content)
    entries = read(project)
    assert [row for row, _ in problems(entries)] == ["user ann"]
    assert sum(len(record.judgments) for record in tasks(entries)) == 1


@pytest.mark.parametrize("configuration", [None, "data_files: !!python/object/apply:os.getcwd []\n"])
def test_a_folder_without_a_configuration_or_with_one_that_makes_objects_is_one_problem(
    project, configuration
):
    (project / "config.yaml").unlink()
    if configuration:
        (project / "config.yaml").write_text(configuration)
    assert problems(read(project)) == [("", "config.yaml")]


BOMB = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{f'*a{n - 1},' * 9}]\n" for n in range(1, 30))


@pytest.mark.parametrize(
    "configuration",
    [
        "data_files: [*a29]\n",
        "data_files: [{path: *a29}]\n",
        "data_files: [items.jsonl]\nitem_properties: {id_key: *a29, text_key: *a29}\n",
        "data_files: [items.jsonl]\nannotation_schemes: [{name: *a29, annotation_type: *a29}]\n",
    ],
)
def test_a_configuration_that_holds_more_than_any_memory_is_harmless(project, configuration):
    (project / "config.yaml").write_text(BOMB + configuration)
    (project / "items.jsonl").write_text('{"id": "1", "text": "Two bells ring."}\n')
    assert read(project)


def test_numbers_name_schemes_and_keys_as_texts_do(project):
    (project / "config.yaml").write_text(
        "data_files: [items.jsonl]\nitem_properties: {id_key: 7}\n"
        "annotation_schemes: [{name: 3, annotation_type: text}]\n"
    )
    (project / "items.jsonl").write_text("")
    made = potato.load_project(project)
    assert (made.id_key, made.text_key, made.kinds) == ("7", "text", {"3": "text"})


def test_data_outside_the_folder_are_not_read(project, tmp_path):
    (tmp_path / "secret.json").write_text('{"id": "s"}')
    config = project / "config.yaml"
    config.write_text(config.read_text().replace("data/answers.json", "../secret.json"))
    assert problems(read(project)) == [("config.yaml", "data_files")]


def test_an_instance_stands_in_the_data_once(project):
    data = project / "data/answers.json"
    data.write_text(data.read_text() * 2)
    assert problems(read(project))[0] == ("answers.json #4", "id")


def test_marks_on_text_are_left_out_with_a_note(project):
    path = project / STATE
    state = json.loads(path.read_text())
    path.write_text(json.dumps({**state, "instance_id_to_span_to_value": {"bell-01-x": [["span", 1]]}}))
    assert any("Marks on stretches" in note for note in notes(read(project)))
