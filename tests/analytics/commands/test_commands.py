"""`manage.py` agreement, export, plan, review_report, simulate and training_set, as typed."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from typing import Any

import pytest
from django.core.management import CommandError

from analytics.datasets.formats import writers
from analytics.reports import agreement
from annotation.models import AuditEvent, Judgment, Study, User
from annotation.studies import protocols
from tests import factories
from tests.analytics.protocols import protocol, scale
from tests.analytics.reports import reading
from tests.analytics.reviewed import reviewed
from tests.analytics.votes import votes
from tests.annotation.importing import known_tasks

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("agreement nowhere", "There is no study with the address 'nowhere'."),
        ("agreement nowhere --level x", "There is no study with the address 'nowhere'."),
        ("agreement here --level cardinal", "'cardinal' is not a level of measurement"),
        ("agreement here --replicates 0", "--replicates is 1 or more, and --seed is 0 or more"),
        ("agreement here --seed -1", "--replicates is 1 or more, and --seed is 0 or more"),
        ("plan", "Name a study"),
        ("plan nowhere", "no study with the address"),
        ("plan --no-study --goal majority", "of comparisons"),
        ("plan --no-study --half-width 0", "above zero"),
        ("plan --no-study --overlap 0", "overlap"),
        ("plan --no-study --kind preference --ties 1.5", "ties"),
        ("plan here --question beauty", "correctness"),  # names what is asked
        ("review_report nowhere", "no study with the address 'nowhere'"),
        ("simulate nowhere", "no study with the address 'nowhere'"),
        ("simulate", "Name a study"),
        ("simulate --compare-ordering --uniform 0.1", "--uniform: Give a number from 0.2"),
        ("simulate --compare-ordering --votes 9000", "at most"),
        ("simulate --compare-ordering --replicates 2", "3 to 5000"),
        ("simulate --compare-ordering --accuracy 0.4", "between 0.5"),
        ("simulate --compare-ordering --seed -1", "0 or more"),
        ("simulate here", "known to be true"),
        ("training_set nowhere --format mos --out out", "no study with the address 'nowhere'"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(arguments, sentence, tmp_path, monkeypatch):
    factories.StudyFactory(slug="here")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CommandError, match=sentence):
        reading.typed(*arguments.split())


# `manage.py agreement`, as typed.


run_agreement = partial(reading.typed, "agreement")


def figures(slug: str, *arguments: str) -> dict[str, Any]:
    return json.loads(run_agreement(slug, "--json", *arguments))["questions"]["correctness"]


def words(*arguments: str) -> str:
    """What is printed for people, on one line."""
    return " ".join(run_agreement(*arguments).split())


@pytest.fixture
def slug() -> str:
    study = factories.StudyFactory()
    for name, values in (("a", [1, 1, 2]), ("b", [4, 5, 4]), ("c", [3, 3])):
        votes(factories.rating_task(study, name), values)
    return study.slug


def test_json_is_one_object_of_questions_and_the_table_shows_the_same_figures(slug):
    assert list(json.loads(run_agreement(slug, "--json"))) == ["questions"]
    found = figures(slug)
    named = {"level", "alpha", "ci95", "units", "ratings", "raters", "percent_agreement", "reason"}
    assert named <= set(found)
    assert "verify" not in found
    header, row, *_ = run_agreement(slug).splitlines()
    assert header.split()[:3] == ["question", "level", "alpha"]
    low, high = found["ci95"]
    assert row.split()[:3] == ["correctness", "ordinal", f"{found['alpha']:.4f}"]
    assert f"[{low:.4f}, {high:.4f}]".replace("-", "−") in row
    assert "unnamed" in row


def test_the_table_says_why_a_figure_is_missing_and_what_is_left_out(slug):
    assert "There are no ratings yet." in words(factories.StudyFactory().slug)
    assert "arbitrary" in words(factories.StudyFactory(preset="cmi-pref").slug)
    study = factories.StudyFactory()
    protocols.add_protocol_version(study, definition=protocol(scale("correctness")), actor=None)
    assert "from protocol version 1." in words(study.slug)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_verify_compares_with_the_package(slug, level):
    found = figures(slug, "--verify", "--level", level)
    assert found["level"] == level
    assert found["verify"]["alpha"] == pytest.approx(found["alpha"], abs=1e-12)
    assert found["verify"]["difference"] < 1e-12


@pytest.mark.parametrize(
    ("interval", "method"),
    [
        ("jackknife", "jackknife-t"),
        ("units", "units"),
        ("items", "clusters"),
        ("krippendorff", "krippendorff"),
    ],
)
def test_the_interval_can_be_chosen_and_alpha_stays(slug, interval, method):
    plain = figures(slug)
    options = ("--interval", interval, "--replicates", "200", "--seed", "3")
    found = figures(slug, *options, "--verify")
    assert found["alpha"] == pytest.approx(plain["alpha"], abs=1e-12)
    assert (found["ci95"] == plain["ci95"]) == (interval == "jackknife")
    assert found["ci_method"].endswith(method)
    assert found["verify"]["difference"] < 1e-12
    assert run_agreement(slug, *options) == run_agreement(slug, *options)
    assert ("too narrow" in words(slug, *options)) == (interval == "krippendorff")
    drawn = "Interval from 200 draws of 3 prompts or items; "
    assert (drawn in words(slug, *options)) == (interval == "items")


def test_ratings_off_the_scale_are_left_out_aloud_and_verified_without_them(slug):
    votes(factories.rating_task(Study.objects.get(slug=slug), "d"), [3.5, 9, 2])
    found = figures(slug, "--verify")
    assert (found["off_scale"], found["ratings"]) == (2, 9)
    assert found["verify"]["difference"] < 1e-12
    assert "Left out: 2 ratings that are none of the scale's points." in words(slug)


def test_verify_prints_the_difference_or_that_there_is_nothing_to_compare(slug):
    assert ", difference " in words(slug, "--verify")
    empty = words(factories.StudyFactory().slug, "--verify")
    assert "krippendorff package: nothing to compare (There are no ratings yet.)" in empty


def test_a_difference_is_an_error(slug, monkeypatch):
    monkeypatch.setattr(agreement, "ROUNDING", -1.0)
    with pytest.raises(CommandError, match="gives another alpha for correctness"):
        run_agreement(slug, "--verify")


def test_the_package_is_loaded_only_to_verify():
    code = (
        "import sys, django; django.setup(); import analytics.management.commands.agreement; "
        "sys.exit('krippendorff' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# `manage.py export`, as typed.


run_export = partial(reading.typed, "export")


@pytest.fixture
def study() -> Study:
    study = factories.StudyFactory()
    votes(factories.rating_task(study, "a"), [1, 2])
    return study


@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_it_fills_the_folder_and_says_what_is_there(study, tmp_path, format):
    said = run_export(study.slug, "--format", format, "--out", str(tmp_path / "out"))
    assert said.startswith("2 judgments with 2 answers and 1 item versions are in ")
    assert (tmp_path / "out" / f"judgments.{format}").stat().st_size > 0


def test_what_was_written_is_in_the_log_and_what_failed_is_not(study, tmp_path):
    run_export(study.slug, "--format", "jsonl", "--out", str(tmp_path / "out"))
    with pytest.raises(CommandError):
        run_export(study.slug, "--format", "jsonl", "--out", str(tmp_path / "out"))
    event = AuditEvent.objects.get(action="export.written")
    assert (event.study, event.actor, event.data["format"]) == (study, None, "jsonl")
    assert event.data["counts"]["judgments"] == 2
    assert str(tmp_path) not in str(event.data)


def test_a_relative_folder_is_meant_from_where_one_stands(study, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_export(study.slug, "--format", "jsonl", "--out", "here")
    assert (tmp_path / "here" / "manifest.json").exists()


@pytest.mark.parametrize(
    ("slug", "arguments", "sentence"),
    [
        ("nowhere", ("--format", "jsonl", "--out", "new"), "no study with the address 'nowhere'"),
        ("", ("--format", "xml", "--out", "new"), "'xml' is not an export format; use jsonl or csv"),
        ("", ("--format", "csv", "--out", "."), "not an empty folder"),
        (
            "",
            ("--format", "csv", "--out", "mine.txt/out"),
            "could not be written, and nothing was left behind",
        ),
    ],
    ids=["unknown study", "unknown format", "full folder", "no folder"],
)
def test_what_cannot_be_written_is_a_sentence(study, tmp_path, monkeypatch, slug, arguments, sentence):
    (tmp_path / "mine.txt").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CommandError, match=sentence):
        run_export(slug or study.slug, *arguments)


# `manage.py plan`, as typed.


run_plan = partial(reading.typed, "plan")


def test_without_a_study_published_figures_answer():
    said = run_plan(
        "--no-study", "--kind", "preference", "--goal", "power", "--win-rate", "0.65", "--overlap", "1"
    )
    assert said.startswith("About ")
    assert "Pilot: published figures" in said
    assert "exact two-sided binomial" in said


def test_options_replace_what_is_known_and_json_has_all_of_it():
    found = json.loads(
        run_plan(
            "--no-study", "--goal", "width", "--half-width", "0.25", "--overlap", "1", "--votes-per-rater", "1",
            "--sd-raters", "0", "--sd-items", "0", "--sd-outputs", "0", "--sd-residual", "1", "--systems", "1",
            "--seconds", "36", "--json",
        )
    )  # fmt: skip
    assert (found["votes"], found["hours"]) == (64, 0.64)
    assert found["asked"]["half_width"] == 0.25
    assert len(found["alternatives"]) == 7


def test_a_study_is_planned_from_its_votes():
    study = factories.StudyFactory()
    for n in range(6):
        votes(factories.rating_task(study, f"item-{n}"), [1 + n % 5, 1 + (n + 1) % 5])
    assert "Pilot: 12 votes of this study" in run_plan(study.slug, "--goal", "width", "--half-width", "0.5")


def test_the_same_seed_tries_the_same_studies():
    asked = ("--no-study", "--goal", "power", "--difference", "1", "--try", "20", "--json")
    first, again = json.loads(run_plan(*asked)), json.loads(run_plan(*asked))
    assert first["simulation"] == again["simulation"]
    assert first["simulation"]["runs"] == 20


# `manage.py review_report`, as typed.


run_review_report = partial(reading.typed, "review_report")


def test_it_prints_the_figures_of_the_paper_and_all_of_them_as_json():
    slug = reviewed().study.slug
    lines = [" ".join(line.split()) for line in run_review_report(slug).splitlines()]
    for expected in (
        "Cases: 4",
        "Decisions undone: 1",
        "Items corrected: 1",
        "Reference answer 1 0 1 0 0",
        "Reference answer Qwen 1 0 0 0 0 1 100.0 %",
        "5 2 1",
        "the expert said the same 100.0 %",
        "judgments still wanted: 1",
    ):
        assert expected in lines
    assert json.loads(run_review_report(slug, "--json"))["corrections"]["n"] == 2


# `manage.py simulate`, as typed.


run_simulate = partial(reading.typed, "simulate")
SMALL = ("--pairs", "30", "--votes", "90", "--replicates", "3", "--raters", "6", "--step", "30", "--json")


@pytest.fixture
def known_study() -> Study:
    made = factories.StudyFactory.create(preset="cmi-pref", overlap=2, rules={})
    known_tasks.comparison(made)
    return made


def test_it_says_what_was_done_and_that_nothing_is_left(known_study: Study) -> None:
    assert (
        run_simulate(known_study.slug, "--raters", "1") == "1 vote. 1 rater joined. Places still open: 1.\n"
    )
    assert run_simulate(known_study.slug, "--raters", "1").startswith("These raters have voted on all")
    assert json.loads(run_simulate(known_study.slug, "--raters", "3", "--json")) == {
        "votes": 1, "new_raters": 2, "open_places": 0
    }  # fmt: skip
    assert run_simulate(known_study.slug, "--raters", "3").startswith(
        "Every task has all the judgments it wants"
    )


def test_comparing_orders_changes_nothing(known_study: Study) -> None:
    found = json.loads(run_simulate(known_study.slug, "--compare-ordering", *SMALL))
    assert found["setting"]["pairs"] == 30
    assert [len(rows) for rows in found["savings"].values()] == [3, 3, 3]
    assert not Judgment.objects.exists()
    assert not User.objects.exists()


def test_the_study_s_policy_is_compared_unless_another_is_asked_for(known_study: Study) -> None:
    Study.objects.filter(pk=known_study.pk).update(rules={"ordering": {"uniform": 0.5, "among": 8}})
    stated = json.loads(run_simulate(known_study.slug, "--compare-ordering", *SMALL))["ordering"]
    assert (stated["uniform"], stated["among"]) == (0.5, 8)
    asked = json.loads(run_simulate(known_study.slug, "--compare-ordering", *SMALL, "--uniform", "0.3"))[
        "ordering"
    ]
    assert (asked["uniform"], asked["among"]) == (0.3, 8)


def test_accuracies_of_interest_can_be_named() -> None:
    found = json.loads(run_simulate("--compare-ordering", *SMALL, "--accuracy", "0.6", "0.99"))
    assert [row["accuracy"] for row in found["savings"]["both"]] == [0.6, 0.99]
    assert found["savings"]["majority"][1]["reason"] == "reference_not_reached"


# `manage.py training_set`, as typed.


run_training_set = partial(reading.typed, "training_set", "s")


@pytest.fixture
def rated_study():
    rated_study = factories.StudyFactory(slug="s", overlap=9)
    for number in range(5):
        votes(factories.rating_task(rated_study, f"t{number}"), [number + 1] * 2)
    return rated_study


def test_it_writes_what_is_asked_for_and_tells_the_sizes(rated_study, tmp_path):
    told = run_training_set(
        "--format", "mos", "--file", "jsonl", "--ratios", "3:1:1", "--seed", "4", "--out", str(tmp_path / "o")
    )
    assert "correctness: train 3, dev 1, test 1" in told
    rows = list(writers.read_rows(tmp_path / "o" / "correctness" / "train.jsonl", []))
    assert [row["n"] for row in rows] == [2, 2, 2]
    event = AuditEvent.objects.get(action="training_set.written")
    assert (event.study, event.actor, event.data["options"]["format"]) == (rated_study, None, "mos")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--format", "arena"], "asks no preference question"),
        (["--format", "mos", "--ratios", "0:1:1"], "train is above 0"),
        (["--format", "mos", "--ratios", "8:nan:1"], "three numbers from 0 to a million"),
        (["--format", "mos", "--ratios", "some"], "invalid _ratios value"),
        (["--format", "mos", "--hold-out-systems", "nobody"], "nobody made nothing that was judged"),
    ],
)
def test_what_cannot_be_made_is_told_and_leaves_nothing(rated_study, tmp_path, arguments, told):
    with pytest.raises(CommandError, match=told):
        run_training_set(*arguments, "--out", str(tmp_path / "o"))
    assert not (tmp_path / "o").exists()
