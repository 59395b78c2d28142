"""One study that asks a question of every kind, from the lease to the report, the exports and back."""

from __future__ import annotations

import csv
import json
import uuid
from typing import Any

import pytest
from django.db import connection
from django.db.models import F

from analytics.browse import summaries
from analytics.browse.facts import study_facts
from analytics.browse.query import Query, Selection
from analytics.data.disagreement import ComparedQuestions
from analytics.data.questions import measured_questions
from analytics.datasets.exports import write_export
from analytics.models import TaskSummary
from analytics.overview import figures
from analytics.overview.course import most_disputed
from analytics.overview.study import study_overview
from analytics.reports.document import Document, Table, document_json
from analytics.reports.sections.material import ReportSettings
from analytics.reports.study_report import (
    document_of_job,
    last_finished_report,
    report_settings,
    start_report,
    study_report,
)
from analytics.statistics.bootstrap import Resampling
from annotation.models import Answer, Assignment, Job, Judgment, Question, Study, Task
from annotation.raters import withdrawal
from annotation.review import flag_queries
from annotation.studies import protocols
from tests import every_kind, factories

pytestmark = pytest.mark.django_db
N_TASKS, N_RATERS = 3, 3


def clips_panel(study: Study, name: str) -> Task:
    candidates = [(f"system-{n}", {"clip": factories.clip(f"{name}-{n}")}) for n in range(3)]
    return factories._task(study, name, candidates, None, {"prompt": f"Prompt of {name}"})


@pytest.fixture
def study(api) -> Study:
    """Every rater likes the systems in their order, hears noise in the last, and clicks at a quarter of a second."""
    study = factories.StudyFactory(slug="kinds", overlap=N_RATERS)
    protocols.add_protocol_version(study, definition=every_kind.every_kind(), actor=None)
    for n in range(N_TASKS):
        clips_panel(study, f"task-{n}")
    for number in range(N_RATERS):
        client = api(factories.member(study))
        while assignment := client.post("studies/kinds/next/").json()["assignment"]:
            given = _answers(assignment["id"], genre="other" if number == 2 else "rock")
            path = f"assignments/{assignment['id']}"
            sent = client.post(f"{path}/judgment/", _body(given))
            assert sent.status_code == 201, sent.json()
            if number == 2:
                back = client.get(f"{path}/judgment/").json()["answers"]
                assert _plain(back) == _plain(given)
                changed = _answers(assignment["id"], genre="jazz")
                assert client.post(f"{path}/revisions/", _body(changed)).status_code == 201
    return study


def _answers(assignment: str, *, genre: str) -> list[dict[str, Any]]:
    presentation = Assignment.objects.get(pk=assignment).presentation
    order = [presentation.index(slot) for slot in range(3)]
    flaws = [["noise"] if slot == 2 else [] for slot in presentation]
    return every_kind.answers(
        order=order, genre=genre, flaws=flaws, liking=[90 - 10 * slot for slot in presentation]
    )


def _plain(answers: list[dict[str, Any]]) -> list[str]:
    return sorted(
        json.dumps(answer, sort_keys=True).replace(".0,", ",").replace(".0}", "}") for answer in answers
    )


def _body(answers: list[dict[str, Any]]) -> dict[str, Any]:
    return {"client_id": str(uuid.uuid4()), "answers": answers}


def tables(document: Document) -> dict[str, list[list[Any]]]:
    found = [block for section in document.sections for block in section.blocks if isinstance(block, Table)]
    return {table.key: [list(row) for row in table.rows] for table in found}


def test_every_kind_is_measured_shown_and_reported(study):
    counted = Answer.objects.filter(counted=True, question__key="order")
    assert {(one.candidate.system.name, one.value) for one in counted.select_related("candidate__system")} == {
        ("system-0", 1.0), ("system-1", 2.0), ("system-2", 3.0)
    }  # fmt: skip
    keys = [question.key for question in measured_questions(study)]
    assert keys[:7] == ["order", "genre", "flaws:noise", "flaws:clipping", "flaws:silence", "noisy", "liking"]
    agreement, overview = figures.scan_study(study)
    assert (agreement["order"]["alpha"], agreement["flaws:noise"]["alpha"]) == (1.0, 1.0)
    # Two of rock and one of jazz in each of three tasks: by coincidences Do = 2/3 and De = 2 * 6 * 3 / (9 * 8).
    assert agreement["genre"]["alpha"] == pytest.approx(1 - (2 / 3) / (2 * 6 * 3 / (9 * 8)))
    by_key = {one["key"]: one for one in overview["questions"]}
    assert by_key["genre"]["histogram"] == [("Rock", 6), ("Jazz", 3), ("Other", 0)]
    best, winner = by_key["order"]["means"][0], by_key["order"]["wins"][0]
    assert (best["system"], best["mean"], winner["system"], winner["wins"]) == (
        "system-0",
        1.0,
        "system-0",
        18,
    )
    assert (by_key["genre"]["means"], by_key["flaws:noise"]["means"][0]["system"]) == ([], "system-2")

    settings = ReportSettings(resampling=Resampling(replicates=50))
    rows = tables(study_report(study, settings, language="en", progress=lambda done: None))
    assert [(row[0], row[1].value, row[4]) for row in rows["rankings-order-places"]] == [
        ("system-0", 1.0, 9), ("system-1", 2.0, 9), ("system-2", 3.0, 9)
    ]  # fmt: skip
    assert rows["rankings-order-concordance"][0][1].value == 1.0
    assert rows["rankings-order-pairs"][0][:1] == ["system-0"]
    assert [cell.value for cell in rows["choices-genre"][0][1:4]] == pytest.approx([2 / 3, 1 / 3, 0])
    assert [row[1].value for row in rows["choices-flaws"]] == pytest.approx([1 / 3, 0, 0, 1])
    assert rows["choices-flaws-sets"][0][:2] == [27, 1.0]
    noise = rows["events-clicks"][0]
    assert (noise[0], noise[1], noise[4]) == ("Noise", 9, 1.0)


def test_an_export_has_every_kind_and_names_options_by_their_keys(study, tmp_path):
    write_export(study, format="csv", texts="both", out=tmp_path / "csv")
    with (tmp_path / "csv" / "judgments.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["effective"] == "true"]
    of = {
        key: [row for row in rows if row["question"] == key]
        for key in ("order", "genre", "flaws", "clicks", "which")
    }
    assert {(row["system"], row["value"]) for row in of["order"]} == {
        (f"system-{n}", str(n + 1)) for n in range(3)
    }
    assert {(row["option"], row["value"]) for row in of["genre"]} == {("rock", "1"), ("jazz", "2")}
    assert {(row["system"], row["options"]) for row in of["flaws"]} == {
        ("system-0", "[]"), ("system-1", "[]"), ("system-2", '["noise"]')
    }  # fmt: skip
    event = {"start": 0.25, "end": 0.5, "label": "noise", "note": "a hiss"}
    assert [json.loads(row["events"]) for row in of["clicks"]] == [[event]] * 9
    assert of["which"] == []
    write_export(study, format="parquet", texts="both", out=tmp_path / "parquet")
    import pyarrow.parquet as pq

    table = pq.read_table(tmp_path / "parquet" / "judgments.parquet").to_pylist()
    assert {tuple(row["options"]) for row in table if row["question"] == "flaws"} == {(), ("noise",)}


def test_the_overview_page_shows_them_all(study, client):
    manager = factories.member(study, "admin")
    figures.recompute_figures(study.pk)
    assert Judgment.objects.filter(study=study, effective=True).count() == N_TASKS * N_RATERS
    assert study_overview(study).progress.judgments == N_TASKS * N_RATERS
    client.force_login(manager)
    assert client.get(f"/studies/{study.slug}/").status_code == 200


def test_raters_who_choose_apart_are_found_whatever_the_kind(study):
    query = flag_queries.disagreement_query(
        study, {"variance": 1.0, "min_ratings": 2, "minority": 0.3, "min_votes": 3}
    )
    assert query is not None
    scope = f"WITH scope AS (SELECT id AS version, item_id AS item FROM annotation_itemversion), {query.ctes}"
    with connection.cursor() as cursor:
        cursor.execute(f"{scope} SELECT evidence FROM found", {**query.params, "study": study.pk})
        found = [json.loads(row[0]) for row in cursor.fetchall()]
    assert [(one["question"], one["votes"]) for one in found] == [("genre", {"1": 2, "2": 1})] * N_TASKS


@pytest.fixture
def agreed(study) -> Study:
    """All raters answer all alike."""
    with connection.cursor() as cursor:  # answers are append-only
        cursor.execute("SET LOCAL session_replication_role = replica")
    Answer.objects.filter(question__key="genre").update(value=1)
    summaries.refresh(study.pk)
    return study


@pytest.mark.parametrize(
    ("question", "fields", "disagreement"),
    [
        # Two of three pairs of raters differ: the MASI of {noise} and {noise, clipping} is 2/3 * 1/2.
        ("flaws", {"selected": [1, 2]}, 2 / 3 * (1 - 1 / 3)),
        ("clicks", {"events": []}, 2 / 3),
        ("liking", {"value": 10.0}, (2 * 60**2 / 3) ** 0.5 / 100),
    ],
)
def test_disagreement_is_the_mean_distance_of_two_answers_of_each_kind(
    agreed, question, fields, disagreement
):
    assert set(disagreements(agreed)) == {0.0}
    about = {"task__external_id": "task-1", "candidate__system__name": "system-2"}
    answer = Answer.objects.filter(question__key=question, counted=True, **about).first()
    Answer.objects.filter(pk=answer.pk).update(**fields)
    summaries.forget(agreed)
    (first, *others) = most_disputed(agreed)
    assert (first.item, first.question, first.system, others) == ("task-1", question, "system-2", [])
    units = ComparedQuestions(agreed).units([first.task_id])
    assert max(unit.disagreement for unit in units) == pytest.approx(disagreement)
    # The mean of its units, of which other questions of the task have none that differ.
    of_question = [unit.disagreement for unit in units if unit.question == question]
    n_questions = len({unit.question for unit in units})
    assert first.spread == pytest.approx(sum(of_question) / len(of_question) / n_questions, abs=1e-4)
    assert max(disagreements(agreed)) == first.spread


def test_disagreement_of_rankings_follows_from_kendalls_w(agreed):
    placed = Answer.objects.filter(question__key="order", task__external_id="task-0", counted=True)
    placed.filter(judgment=placed.first().judgment).update(value=4 - F("value"))
    summaries.forget(agreed)
    (first,) = most_disputed(agreed)
    (unit,) = [one for one in ComparedQuestions(agreed).units([first.task_id]) if one.question == "order"]
    # Two of three pairs of raters have each other's reverse.
    assert (first.item, first.system, unit.disagreement) == ("task-0", None, pytest.approx(2 / 3))


def disagreements(study: Study) -> list[float]:
    return list(TaskSummary.objects.filter(study_id=study.pk).values_list("disagreement", flat=True))


@pytest.mark.parametrize(
    ("chosen", "n"),
    [
        ("genre:rock", 6), ("genre:jazz", 3), ("flaws:noise", 9), ("flaws:clipping", 0), ("clicks:noise", 9),
        ("clicks:silence", 0), ("order:system-0", 9), ("order:system-2", 0),
    ],
)  # fmt: skip
def test_judgments_are_found_by_what_they_chose(study, chosen, n):
    query = Query.of("judgments", {"chosen": [chosen], "status": ["counted"]})
    assert Selection(study, query, study_facts(study)).total().n == n


def test_what_a_withdrawn_rater_wrote_leaves_the_last_report(study):
    which = Question.objects.get(protocol_version=study.protocol_version, key="which")
    for judgment in Judgment.objects.filter(study=study, effective=True):
        Answer.objects.create(
            judgment=judgment, task=judgment.task, question=which, text="Polka.", counted=True
        )
    settings = {"interval": "units", "replicates": 20, "seed": 0, "language": "en"}
    job = start_report(study, actor=factories.member(study, "researcher"), **settings)
    made = study_report(study, report_settings(settings), language="en", progress=lambda _n: None)
    Job.objects.filter(pk=job.pk).update(
        state=Job.State.DONE, report={**document_json(made), "withdrawals": 0}
    )
    assert any(key.startswith("texts-") for key in tables(document_of_job(last_finished_report(study))))
    withdrawal.withdraw(study.raters.filter(n_judgments__gt=0).first(), mode="removed", actor=None)
    kept = tables(document_of_job(last_finished_report(study)))
    assert kept
    assert not any(key.startswith("texts-") for key in kept)
    anew = study_report(study, report_settings(settings), language="en", progress=lambda _n: None)
    (texts,) = (rows for key, rows in tables(anew).items() if key.startswith("texts-"))
    assert len({row[1] for row in texts}) == N_RATERS - 1
