"""Models of raters in the report and as a file of labels, on votes whose truth is known."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse

from analytics.data.votes import Votes
from analytics.reports.sections.material import ReportData, ReportSettings
from analytics.reports.sections.rater_models import rater_models_section
from analytics.statistics.bootstrap import Resampling
from annotation.models import Study
from annotation.models.people import Role
from annotation.simulation import simulations
from annotation.simulation.simulations import SimulationOptions
from tests import factories
from tests.analytics.reports.reading import rows_of, tables_of
from tests.analytics.vote_columns import made_votes, preference_question, rating_question


def tables(votes: Votes) -> dict[str, list[dict]]:
    settings = ReportSettings(resampling=Resampling(replicates=20))
    section = rater_models_section(ReportData(Study(), (votes,), settings))
    return {} if section is None else {key: rows_of(table) for key, table in tables_of(section).items()}


def preferences() -> Votes:
    """Forty pairs, five votes each by six raters: the last one votes the other way round."""
    rng = np.random.default_rng(2)
    truth = rng.integers(1, 3, size=40)
    unit = np.repeat(np.arange(40), 5)
    rater = np.concatenate([rng.choice(6, 5, replace=False) for _ in range(40)])
    right = np.where(rater == 5, rng.random(200) < 0.1, rng.random(200) < 0.9)
    value = np.where(right, truth[unit], 3 - truth[unit])
    return made_votes(preference_question(), unit.tolist(), value.tolist(), rater=rater.tolist())


def test_who_votes_the_other_way_round_stands_out_with_an_interval() -> None:
    rows = {row["rater"]: row for row in next(iter(tables(preferences()).values()))}
    assert rows["R5"]["accuracy"].value < 0.35 < 0.75 < rows["R0"]["accuracy"].value
    assert rows["R5"]["accuracy"].low <= rows["R5"]["accuracy"].value <= rows["R5"]["accuracy"].high


def test_a_severe_raters_severity_is_told_and_means_stand_side_by_side() -> None:
    rng = np.random.default_rng(3)
    unit, rater = np.repeat(np.arange(30), 4), np.tile(np.arange(4), 30)
    value = np.clip(np.round(rng.normal(3, 1, 30)[unit] - (rater == 3) + rng.normal(0, 0.4, 120)), 1, 5)
    found = tables(made_votes(rating_question(), unit.tolist(), value.tolist(), rater=rater.tolist()))
    severity, means = found.values()
    assert max(severity, key=lambda row: row["points"])["rater"] == "R3"
    assert all(row["unweighted"] and row["weighted"] for row in means)


def test_of_few_votes_or_raters_nothing_is_modelled() -> None:
    assert tables(made_votes(rating_question(), [0, 0, 1, 1], [5, 3, 4, 3], rater=[0, 1, 0, 1])) == {}


@pytest.mark.django_db
def test_the_file_of_labels_has_the_models_label_beside_the_majority(client: Client) -> None:
    study = factories.StudyFactory.create(preset="cmi-pref", overlap=5)
    for number in range(12):
        factories.comparison_task(study, f"pair {number}")
    study.refresh_from_db()
    copy = simulations.copy_for_simulation(
        study, SimulationOptions.read("careful:4,adversarial:1"), actor=None
    )
    simulations.run(copy)
    client.force_login(factories.member(copy, Role.RESEARCHER))
    response = client.get(reverse("api_rater_labels", args=[copy.slug]), {"question": "musicality"})
    rows = list(csv.DictReader(b"".join(response.streaming_content).decode().splitlines()))
    assert len(rows) == 12
    assert {row["model"] for row in rows} == {"dawid_skene"}
    assert sum(row["label"] == row["unweighted"] for row in rows) >= 10
    assert sum(json.loads(rows[0]["posterior"]).values()) == pytest.approx(1, abs=1e-5)
    assert json.loads(rows[0]["systems"]) == ["system-1", "system-2"]
