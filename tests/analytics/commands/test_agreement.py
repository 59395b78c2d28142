"""`manage.py agreement`, as typed."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from typing import Any

import pytest
from django.core.management import CommandError

from analytics.reports import agreement
from annotation.models import Study
from annotation.studies import protocols
from tests import factories
from tests.analytics.protocols import protocol, scale
from tests.analytics.reports import reading
from tests.analytics.votes import votes

pytestmark = pytest.mark.django_db
typed = partial(reading.typed, "agreement")


def figures(slug: str, *arguments: str) -> dict[str, Any]:
    return json.loads(typed(slug, "--json", *arguments))["questions"]["correctness"]


def words(*arguments: str) -> str:
    """What is printed for people, on one line."""
    return " ".join(typed(*arguments).split())


@pytest.fixture
def slug() -> str:
    study = factories.StudyFactory()
    for name, values in (("a", [1, 1, 2]), ("b", [4, 5, 4]), ("c", [3, 3])):
        votes(factories.rating_task(study, name), values)
    return study.slug


def test_json_is_one_object_of_questions_and_the_table_shows_the_same_figures(slug):
    assert list(json.loads(typed(slug, "--json"))) == ["questions"]
    found = figures(slug)
    named = {"level", "alpha", "ci95", "units", "ratings", "raters", "percent_agreement", "reason"}
    assert named <= set(found)
    assert "verify" not in found
    header, row, *_ = typed(slug).splitlines()
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
    assert typed(slug, *options) == typed(slug, *options)
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
        typed(slug, "--verify")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere"], "There is no study with the address 'nowhere'."),
        (["nowhere", "--level", "x"], "There is no study with the address 'nowhere'."),
        (["here", "--level", "cardinal"], "'cardinal' is not a level of measurement"),
        (["here", "--replicates", "0"], "--replicates is 1 or more, and --seed is 0 or more"),
        (["here", "--seed", "-1"], "--replicates is 1 or more, and --seed is 0 or more"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(arguments, sentence):
    factories.StudyFactory(slug="here")
    with pytest.raises(CommandError, match=sentence):
        typed(*arguments)


def test_the_package_is_loaded_only_to_verify():
    code = (
        "import sys, django; django.setup(); import analytics.management.commands.agreement; "
        "sys.exit('krippendorff' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
