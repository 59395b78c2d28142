"""What the sections on ratings read besides votes, from a study in the database."""

from __future__ import annotations

from pathlib import Path

import pytest

from analytics.data import items, value_counts
from analytics.data import votes as data_votes
from analytics.data.questions import measured_questions, scale_ends
from analytics.reports.document import Table
from analytics.reports.sections.material import ReportData, ReportSettings
from analytics.reports.sections.rating_data import load_ratings
from analytics.reports.sections.ratings import ratings_section
from annotation.models import Judgment, Rater, Study
from tests import factories, presets
from tests.analytics.data.test_known_answer_trials import listener
from tests.analytics.votes import vote

pytestmark = pytest.mark.django_db


def material(study: Study) -> ReportData:
    votes = tuple(data_votes.load_votes(question) for question in measured_questions(study))
    return ReportData(study, votes, ReportSettings())


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
    assert (found.task.tolist(), found.coded.tolist(), found.commented.tolist()) == (
        [bell.pk, dog.pk],
        [2, 0],
        [1, 1],
    )
    names = items.item_external_ids([bell.item_version.item_id, cat.item_version.item_id])
    assert sorted(names.values()) == ["bell", "cat"]


def test_a_mushra_study_brings_roles_listeners_and_the_ends_of_its_scale(tmp_path: Path):
    study = presets.running_study("mushra", tmp_path, overlap=9)
    good, deaf = listener(study), listener(study, reference=80)
    made = material(study)
    (votes,) = made.votes
    found = load_ratings(made, votes)
    assert scale_ends(votes.question) == found.ends == (0.0, 100.0)
    assert sorted(set(found.roles.values())) == ["Anchor, 3.5 kHz", "Anchor, 7 kHz", "Hidden reference"]
    assert {name for name, one in found.listeners.items() if one.marks} == {deaf}
    assert (found.all_named, found.n_named_raters) == (True, 2)
    section = ratings_section(made)
    (table,) = [b for b in section.blocks if isinstance(b, Table) and b.key == "ratings-mushra-quality"]
    keys = [column.key for column in table.columns]
    reference = next(row for row in table.rows if row[1] == "Hidden reference")
    assert reference[keys.index("median")].value == 90.0
    assert reference[keys.index("screened_median")].value == 100.0
    assert Rater.objects.filter(study=study, pseudonym=good).exists()


def test_a_study_of_preferences_has_no_section_on_ratings(tmp_path: Path):
    study = presets.running_study("cmi-pref", tmp_path)
    assert ratings_section(material(study)) is None
