"""What the sections on ratings read besides votes, from a study in the database."""

from __future__ import annotations

from pathlib import Path

import pytest

from analytics.data import items, value_counts
from analytics.data.questions import scale_ends
from analytics.reports.sections.rating_data import load_ratings
from analytics.reports.sections.ratings import ratings_section
from annotation.models import Judgment, Rater
from tests import factories, presets
from tests.analytics.data.test_known_answer_trials import listener
from tests.analytics.reports.reading import material_of, rows_of, tables_of
from tests.analytics.votes import vote

pytestmark = pytest.mark.django_db


def test_codes_and_comments_of_judgments_that_count_are_found_by_task():
    study = factories.StudyFactory(overlap=9)
    bell, dog, cat = (factories.rating_task(study, name) for name in ("bell", "dog", "cat"))
    vote(bell, 1, codes=["Q"], comment="Which one?")
    vote(bell, codes=["U"])  # could not answer
    vote(dog, 2, comment="Clear.")
    vote(dog, 3, codes=["A"], excluded=True)
    vote(dog, 3, codes=["A"], origin=Judgment.Origin.EXPERT)
    vote(cat, 2)
    found = value_counts.remarks_by_task(study)
    columns = (found.task.tolist(), found.coded.tolist(), found.commented.tolist())
    assert columns == ([bell.pk, dog.pk], [2, 0], [1, 1])
    names = items.item_external_ids([bell.item_version.item_id, cat.item_version.item_id])
    assert sorted(names.values()) == ["bell", "cat"]


def test_a_mushra_study_brings_roles_listeners_and_the_ends_of_its_scale(tmp_path: Path):
    study = presets.running_study("mushra", tmp_path, overlap=9)
    good, deaf = listener(study), listener(study, reference=80)
    made = material_of(study)
    (votes,) = made.votes
    found = load_ratings(made, votes)
    assert scale_ends(votes.question) == found.ends == (0.0, 100.0)
    assert sorted(set(found.roles.values())) == ["Anchor, 3.5 kHz", "Anchor, 7 kHz", "Hidden reference"]
    assert {name for name, one in found.listeners.items() if one.marks} == {deaf}
    assert (found.all_named, found.n_named_raters) == (True, 2)
    table = tables_of(ratings_section(made))["ratings-mushra-quality"]
    reference = next(row for row in rows_of(table) if row["role"] == "Hidden reference")
    assert (reference["median"].value, reference["screened_median"].value) == (90.0, 100.0)
    assert Rater.objects.filter(study=study, pseudonym=good).exists()


def test_a_study_of_preferences_has_no_section_on_ratings(tmp_path: Path):
    study = presets.running_study("cmi-pref", tmp_path)
    assert ratings_section(material_of(study)) is None
