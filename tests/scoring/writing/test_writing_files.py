"""Files of texts that were written elsewhere: all or nothing, twice the same as once."""

from __future__ import annotations

import json

import pytest

from annotation.errors import InvalidInput
from annotation.models import Item, Task
from scoring.models import WritingRun
from scoring.writing import publishing, text_files, worker
from scoring.writing.text_files import ImportPermissions
from tests import factories
from tests.scoring.writing_doubles import answers, study_of, texts, writer_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return study_of(["rain", "wind"])


@pytest.fixture
def file(tmp_path):
    def write(*rows: str, name: str = "texts.csv"):
        path = tmp_path / name
        path.write_text("\n".join(rows) + "\n", encoding="utf-8")
        return path

    return write


def taken(study, path, **given):
    found = text_files.import_texts(study, path, actor=None, **given)
    worker.work_on_runs()
    return found


def test_texts_of_items_are_published_with_where_they_came_from(study, file):
    path = file(
        "item,field,text",
        "item-0,rationale, Drops fall. ",
        "item-0,transcript,Splash",
        'item-1,rationale,"One,\ntwo"',
    )
    found = taken(study, path)
    assert (found.n_rows, found.n_there, found.run.n_rows) == (3, 0, 3)
    assert texts(study) == {"rain": "Drops fall.", "wind": "One,\ntwo"}
    version = study.items.get(external_id="item-0").current_version
    assert (version.number, version.transcript) == (3, "Splash")
    assert version.extra["written"]["rationale"]["source"] == "texts.csv"
    again = taken(study, path)
    assert (again.n_there, again.run) == (3, None)
    assert WritingRun.objects.get().state == "done"


def test_question_and_reference_of_one_item_may_stand_in_one_file(study, file):
    rows = ["item,field,text", "item-0,question,What falls?", "item-0,reference,Rain."]
    taken(study, file(*rows), allowing=ImportPermissions(anew=True))
    version = study.items.get(external_id="item-0").current_version
    assert (version.question, version.reference) == ("What falls?", "Rain.")


def test_answers_become_candidates(study, file):
    lines = [json.dumps({"item": f"item-{n}", "system": "Gemma", "text": f"It is {n}."}) for n in range(2)]
    path = file(*lines, name="answers.jsonl")
    with pytest.raises(InvalidInput) as refused:
        taken(study, path)
    assert "'Gemma' is no system" in refused.value.problems[0].message
    found = taken(study, path, allowing=ImportPermissions(new_systems=True))
    assert answers(study, "Gemma") == {"item-0": "It is 0.", "item-1": "It is 1."}
    assert found.run.purpose == "answers"
    assert taken(study, path).run is None


def test_one_may_look_first(study, file):
    found = taken(study, file("item,field,text", "item-0,rationale,Drops."), publishes=False)
    assert (found.run.state, texts(study)["rain"]) == ("done", "")
    publishing.publish(found.run, actor=None)
    worker.work_on_runs()
    assert texts(study)["rain"] == "Drops."


@pytest.mark.parametrize(
    ("rows", "where", "what"),
    [
        (["item,field,text", "nowhere,rationale,A"], "row 2, item", "is no item of this study"),
        (["item,field,text", "item-0,colour,A"], "row 2, field", "is no field"),
        (["item,field,text", "item-0,rationale,  "], "row 2, text", "is empty"),
        (["item,field,text", ",rationale,A"], "row 2, item", "is missing"),
        (
            ["item,field,text", "item-0,rationale,A", "item-0,rationale,B"],
            "row 3, item",
            "the same again as row 2",
        ),
        (["item,field,text", "item-0,reference,A"], "row 2, text", "has another reference already"),
        (["item,field,system,text", "item-0,rationale,S,A"], "row 2, system, field", "both are given"),
        (["item,system,text", "item-0,S\x1f2,A"], "row 2, system", "control character"),
        (["item,text", "item-0,A"], "row 2, system, field", "neither is given"),
        (
            ["item,field,system,text", "item-0,rationale,,A", "item-0,,S,B"],
            "row 3, system, field",
            "stand in one file",
        ),
        (["item,field,words", "item-0,rationale,A"], "row 2, words", "is no column"),
        (["item,field,text", "item-1,rationale,A"], "row 2, item", "was withdrawn"),
        (["item,field,text", "judged,rationale,A"], "row 2, item", "has been judged"),
        (["item,field,text"], "row 1", "there are no rows"),
    ],
)
def test_what_is_wrong_is_said_with_its_row_and_nothing_is_kept(study, file, rows, where, what):
    Item.objects.filter(study=study, external_id="item-1").update(state=Item.State.WITHDRAWN)
    task = factories.rating_task(study, "judged")
    Task.objects.filter(pk=task.pk).update(n_judgments=1)
    good = "item-0,transcript,Fine" if "field" in rows[0] and "system" not in rows[0] else None
    with pytest.raises(InvalidInput) as refused:
        taken(study, file(*rows))
    (problem,) = refused.value.problems
    assert (problem.field, what in problem.message) == (where, True)
    assert problem.remedy
    if good and len(rows) > 1:
        with pytest.raises(InvalidInput):
            taken(study, file(*rows, good))
    assert not WritingRun.objects.exists()


def test_a_systems_other_answer_is_never_replaced(study, file):
    taken(study, file("item,system,text", "item-0,S,Rain."), allowing=ImportPermissions(new_systems=True))
    with pytest.raises(InvalidInput) as refused:
        taken(study, file("item,system,text", "item-0,S,Snow."))
    assert "S has another answer to item-0" in refused.value.problems[0].message


def test_a_file_of_another_kind_is_refused(study, file):
    with pytest.raises(InvalidInput, match="is none of"):
        taken(study, file("whatever", name="texts.xlsx"))


def test_what_releases_put_between_names_is_in_no_name_of_a_writers_system(study):
    with pytest.raises(InvalidInput, match="control character"):
        writer_of(study, "answer", system="S\x1f2")
