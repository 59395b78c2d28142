"""`manage.py agreement`, as typed."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest
from django.core.management import CommandError, call_command

from analytics.reports import agreement
from annotation.models import Study
from annotation.studies import protocols
from tests import factories
from tests.analytics.protocols import protocol, scale
from tests.analytics.votes import votes

pytestmark = pytest.mark.django_db


def typed(*arguments: str) -> str:
    out = io.StringIO()
    call_command("agreement", *arguments, stdout=out)
    return out.getvalue()


@pytest.fixture
def slug() -> str:
    study = factories.StudyFactory()
    for name, values in (("a", [1, 1, 2]), ("b", [4, 5, 4]), ("c", [3, 3])):
        votes(factories.rating_task(study, name), values)
    return study.slug


def test_json_is_one_object_of_questions(slug):
    found = json.loads(typed(slug, "--json"))
    assert list(found) == ["questions"]
    assert {"level", "alpha", "ci95", "units", "ratings", "raters", "percent_agreement", "reason"} <= set(
        found["questions"]["correctness"]
    )
    assert "verify" not in found["questions"]["correctness"]


def test_the_table_shows_the_same_figures(slug):
    alpha = json.loads(typed(slug, "--json"))["questions"]["correctness"]["alpha"]
    header, row, *_ = typed(slug).splitlines()
    assert header.split()[:3] == ["question", "level", "alpha"]
    assert row.split()[:3] == ["correctness", "ordinal", f"{alpha:.4f}"]
    assert "unnamed" in row


def test_the_table_says_why_a_figure_is_missing():
    assert "There are no ratings yet." in typed(factories.StudyFactory().slug)


def test_the_table_of_a_comparison_says_that_first_is_arbitrary():
    assert "arbitrary" in typed(factories.StudyFactory(preset="cmi-pref").slug)


def test_the_table_names_the_versions_left_out(slug):
    study = factories.StudyFactory()
    protocols.add_protocol_version(study, definition=protocol(scale("correctness")), actor=None)
    assert "from protocol version 1." in typed(study.slug)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_verify_compares_with_the_package(slug, level):
    found = json.loads(typed(slug, "--json", "--verify", "--level", level))["questions"]["correctness"]
    assert found["level"] == level
    assert found["verify"]["alpha"] == pytest.approx(found["alpha"], abs=1e-12)
    assert found["verify"]["difference"] < 1e-12


@pytest.mark.parametrize("interval", ["jackknife", "units", "items", "krippendorff"])
def test_the_interval_can_be_chosen_and_alpha_stays(slug, interval):
    plain = json.loads(typed(slug, "--json"))["questions"]["correctness"]
    options = ("--interval", interval, "--replicates", "200", "--seed", "3")
    found = json.loads(typed(slug, "--json", *options, "--verify"))["questions"]["correctness"]
    assert found["alpha"] == pytest.approx(plain["alpha"], abs=1e-12)
    assert (found["ci95"] == plain["ci95"]) == (interval == "jackknife")
    assert found["ci_method"].endswith(
        {"items": "clusters", "jackknife": "jackknife-t"}.get(interval, interval)
    )
    assert found["verify"]["difference"] < 1e-12
    assert typed(slug, *options) == typed(slug, *options)


def test_krippendorffs_interval_comes_with_a_warning(slug):
    assert "too narrow" in typed(slug, "--interval", "krippendorff")
    assert "too narrow" not in typed(slug, "--interval", "units")


def test_the_table_says_what_was_drawn(slug):
    assert "Interval from 50 draws of 3 prompts or items; " in typed(
        slug, "--interval", "items", "--replicates", "50"
    )


def test_ratings_off_the_scale_are_left_out_aloud_and_verified_without_them(slug):
    votes(factories.rating_task(Study.objects.get(slug=slug), "d"), [3.5, 9, 2])
    found = json.loads(typed(slug, "--json", "--verify"))["questions"]["correctness"]
    assert (found["off_scale"], found["ratings"]) == (2, 9)
    assert found["verify"]["difference"] < 1e-12
    assert "Left out: 2 ratings that are none of the scale's points." in typed(slug)


@pytest.mark.parametrize("options", [("--replicates", "0"), ("--seed", "-1")])
def test_draws_that_cannot_be_are_a_sentence(slug, options):
    with pytest.raises(CommandError, match="--replicates is 1 or more, and --seed is 0 or more"):
        typed(slug, *options)


def test_verify_prints_the_difference(slug):
    assert "krippendorff package: " in typed(slug, "--verify")


def test_verify_has_nothing_to_compare_without_ratings():
    assert "nothing to compare (There are no ratings yet.)" in typed(
        factories.StudyFactory().slug, "--verify"
    )


def test_a_difference_is_an_error(slug, monkeypatch):
    monkeypatch.setattr(agreement, "ROUNDING", -1.0)
    with pytest.raises(CommandError, match="gives another alpha for correctness"):
        typed(slug, "--verify")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere"], "There is no study with the address 'nowhere'."),
        (["nowhere", "--level", "x"], "There is no study with the address 'nowhere'."),
    ],
)
def test_an_unknown_study_is_a_sentence(arguments, sentence):
    with pytest.raises(CommandError, match=sentence):
        typed(*arguments)


def test_an_unknown_level_is_a_sentence(slug):
    with pytest.raises(CommandError, match="'cardinal' is not a level of measurement"):
        typed(slug, "--level", "cardinal")


def test_the_package_is_loaded_only_to_verify():
    code = (
        "import sys, django; django.setup(); import analytics.management.commands.agreement; "
        "sys.exit('krippendorff' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
