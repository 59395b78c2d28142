"""Trials with a known answer, from what raters did to what the study page and the export say of it."""

from __future__ import annotations

import csv
import io
import json
import uuid
from collections import defaultdict
from pathlib import Path

import pytest
from django.urls import reverse

from analytics.data.known_answer_trials import abx_report, screened_raters
from analytics.datasets import exports
from analytics.overview import figures
from analytics.overview.study import study_overview
from annotation.models import Judgment, Rater, Study, Task, User
from annotation.protocols import preset_keys
from annotation.rating import exclusions, judgments, leases
from annotation.rating.judgments import Submission
from tests import factories, presets

pytestmark = pytest.mark.django_db


def answer(user: User, study: Study, answers) -> None:
    """Answer every task there is for this rater; `answers(lease)` says what."""
    while lease := leases.lease_next(user, study.slug)[1]:
        judgments.submit(user, lease.id, Submission(uuid.uuid4(), answers(lease)))


def roles_shown(lease: leases.Lease) -> list[str]:
    slots = Task.objects.get(pk=lease.task_id).slots.order_by("slot")
    roles = [slot.candidate.system.role for slot in slots]
    return [roles[slot] for slot in lease.presentation]


def listener(study: Study, *, reference: float = 100, anchor: float = 40) -> str:
    """Rates all trials, and says the same of each hidden reference and mid anchor; their pseudonym."""
    said = {"hidden_reference": reference, "anchor_7000": anchor, "anchor_3500": 10, "judged": 60}
    user = factories.member(study)
    answer(
        user,
        study,
        lambda lease: [
            {"question": "quality", "position": place, "value": said[role]}
            for place, role in enumerate(roles_shown(lease))
        ],
    )
    return Rater.objects.get(user=user).pseudonym


@pytest.fixture
def mushra(tmp_path: Path) -> Study:
    return presets.running_study("mushra", tmp_path, overlap=9)


def test_listeners_who_miss_the_hidden_reference_or_praise_the_anchor_are_marked(mushra):
    good, deaf, eager = listener(mushra), listener(mushra, reference=80), listener(mushra, anchor=95)
    marks = {rater: found.marks for rater, found in screened_raters(mushra).items()}
    assert marks == {good: (), deaf: ("hidden_reference_low",), eager: ("anchor_7000_high",)}


def test_a_rating_on_the_limit_is_neither_below_nor_above_it(mushra):
    rater = listener(mushra, reference=90, anchor=90)
    assert screened_raters(mushra)[rater].marks == ()


def test_excluding_a_listener_does_not_take_their_mark_away(mushra):
    rater = listener(mushra, reference=20)
    exclusions.exclude_or_restore(
        Judgment.objects.all(), study=mushra, action="exclude", reason="post-screening", actor=None
    )
    assert screened_raters(mushra)[rater].marks == ("hidden_reference_low",)


def test_a_study_without_hidden_references_screens_nobody(tmp_path):
    study = presets.running_study("pam", tmp_path)
    assert screened_raters(study) == {}
    assert abx_report(study) is None


@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_the_marks_can_be_computed_again_from_the_export(mushra, tmp_path, format):
    """From the exported rows alone, by BS.1534's words; and they agree with the marks that the rows carry."""
    for limits in ({}, {"reference": 80}, {"anchor": 95}, {"reference": 0, "anchor": 100}):
        listener(mushra, **limits)
    exports.write_export(mushra, format=format, out=tmp_path / "out")
    text = (tmp_path / "out" / f"judgments.{format}").read_text(encoding="utf-8")
    ratings: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    carried = {}
    for row in read_jsonl(text) if format == "jsonl" else read_csv(text):
        if row["effective"] and not row["surplus"] and row["value"] is not None:
            ratings[row["rater"]][row["roles"][row["slot"]]].append(row["value"])
            carried[row["rater"]] = row["rater_marks"]
    again = {}
    for rater, by_role in ratings.items():
        low = [value < 90 for value in by_role["hidden_reference"]]
        high = [value > 90 for value in by_role["anchor_7000"]]
        rules = (("hidden_reference_low", low), ("anchor_7000_high", high))
        again[rater] = [name for name, hits in rules if sum(hits) / len(hits) > 0.15]
    assert len(again) == 4
    assert again == carried
    assert again == {rater: list(found.marks) for rater, found in screened_raters(mushra).items()}


def read_jsonl(text: str):
    for line in text.splitlines():
        judgment = json.loads(line)
        yield from ({**judgment, **answer} for answer in judgment["answers"])


def read_csv(text: str):
    for row in csv.DictReader(io.StringIO(text, newline="")):
        json_cells = ("effective", "surplus", "roles", "rater_marks", "slot", "value")
        yield {**row, **{name: json.loads(row[name]) if row[name] else None for name in json_cells}}


# ── ABX ──────────────────────────────────────────────────────────────────────


@pytest.fixture
def abx(tmp_path: Path) -> Study:
    return presets.running_study("abx", tmp_path, overlap=9)


def hears(lease: leases.Lease) -> list[dict]:
    shown = lease.presentation
    return [{"question": "x", "choice": "A" if shown[2] == shown[0] else "B"}]


def mishears(lease: leases.Lease) -> list[dict]:
    [right] = hears(lease)
    return [{**right, "choice": "AB".replace(right["choice"], "")}]


def test_an_answer_is_right_when_it_names_what_x_was_whichever_side_that_stood(abx):
    for answers in (hears, hears, hears, mishears):
        answer(factories.member(abx), abx, answers)
    report = abx_report(abx)
    assert report is not None
    assert [(one.name, one.n, one.correct) for one in report.pairs] == [("codec-64k / original", 8, 6)]
    assert sorted((one.n, one.correct) for one in report.raters) == [(2, 0), (2, 2), (2, 2), (2, 2)]
    assert (report.total.share, report.total.guessing) == (0.75, pytest.approx(37 / 256))


def test_excluded_answers_do_not_count_in_an_abx_report(abx):
    answer(factories.member(abx), abx, hears)
    exclusions.exclude_or_restore(
        Judgment.objects.all(), study=abx, action="exclude", reason="test", actor=None
    )
    assert abx_report(abx) is None


def test_an_exported_abx_answer_says_what_x_was(abx, tmp_path):
    answer(factories.member(abx), abx, hears)
    exports.write_export(abx, format="jsonl", out=tmp_path / "out")
    rows = list(read_jsonl((tmp_path / "out" / "judgments.jsonl").read_text(encoding="utf-8")))
    assert len(rows) == 2
    assert all(row["choice_slot"] == row["presentation"][2] for row in rows)


# ── Pages ────────────────────────────────────────────────────────────────────


def test_the_overview_tells_of_each_rater_what_trials_told(mushra):
    marked, good = listener(mushra, reference=50), listener(mushra)
    figures.recompute_figures(mushra.pk)
    rows = {row.pseudonym: row.screened for row in study_overview(mushra).raters.rows}
    assert rows[marked].marks == ("hidden_reference_low",)
    assert rows[good].marks == ()


def test_the_study_page_shows_marks_and_abx_figures(mushra, abx, client):
    listener(mushra, reference=50)
    answer(factories.member(abx), abx, hears)
    pages = {}
    for study in (mushra, abx):
        figures.recompute_figures(study.pk)
        client.force_login(factories.member(study, "researcher"))
        pages[study.slug] = client.get(reverse("study", args=[study.slug])).content.decode()
    assert "hidden reference below 90" in pages["mushra"]
    assert "Told X apart" in pages["abx"]
    assert "2 of 2" in pages["abx"]


@pytest.mark.parametrize("preset", preset_keys())
def test_every_presets_study_has_its_page_agreement_and_export(preset, tmp_path, client):
    """Votes by three raters, who answer whatever the protocol asks."""
    study = presets.running_study(preset, tmp_path, overlap=4)
    for number in range(3):
        answer(factories.member(study), study, lambda lease, n=number: presets.answers(study, lease, seed=n))
    figures.recompute_figures(study.pk)
    client.force_login(factories.member(study, "researcher"))
    assert client.get(reverse("study", args=[study.slug])).status_code == 200
    agreement = client.get(reverse("api_agreement", args=[study.slug])).json()["questions"]
    measured = {key: one["pairable_units"] for key, one in agreement.items()}
    assert all(units > 0 for units in measured.values())
    assert set(measured) == presets.measured(study)
    for format in ("jsonl", "csv"):
        made = exports.write_export(study, format=format, out=tmp_path / format)
        assert made["counts"]["judgments"] == study.judgment_set.count()
