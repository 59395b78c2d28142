"""The numbers of a review, each counted by hand from `tests.analytics.reviewed`."""

from __future__ import annotations

import json

import pytest
from django.test import TestCase

from analytics.data.review import COMMENT, BlindAnswer
from analytics.reports.review_report import blind_agreement, review_report
from analytics.statistics.agreement.alpha import krippendorff_alpha
from analytics.statistics.agreement.patterns import patterns_from_long
from annotation.models import ItemVersion
from tests import factories
from tests.analytics.reviewed import another_answer, keep_out, next_version, replacement, reviewed
from tests.analytics.votes import vote, votes

pytestmark = pytest.mark.django_db


def alpha(*units: list[float]) -> float | None:
    rows = [(number, value) for number, unit in enumerate(units) for value in unit]
    return krippendorff_alpha(patterns_from_long(*zip(*rows, strict=True)), level="ordinal").alpha


class TestReviewed(TestCase):
    """A class, so that the study is written down once."""

    @classmethod
    def setUpTestData(cls) -> None:
        cls.world = reviewed()
        cls.found = review_report(cls.world.study)
        cls.parts = cls.found["questions"][0]["parts"]

    def test_every_part_holds_the_judgments_it_names(self):
        sizes = {part: (row["units"], row["ratings"]) for part, row in self.parts.items()}
        assert sizes == {
            "before": (4, 8),
            "excluded": (2, 4),
            "kept": (2, 4),
            "rejudged": (1, 2),
            "after": (3, 6),
            "unmarked_ratings": (3, 5),
            "marked_units": (1, 2),
            "unmarked_units": (2, 4),
        }

    def test_alpha_of_each_part_is_that_of_its_ratings(self):
        bell, dog, cat, owl, again = [1, 5], [2, 2], [5, 4], [1, 3], [4, 4]
        expected = {
            "before": alpha(bell, dog, cat, owl),
            "excluded": alpha(bell, owl),
            "kept": alpha(dog, cat),
            "after": alpha(dog, cat, again),
        }
        assert {part: self.parts[part]["alpha"] for part in expected} == pytest.approx(expected)
        assert self.parts["rejudged"]["alpha"] is None
        assert self.parts["rejudged"]["reason"] == "no_variation"

    def test_the_share_of_units_with_a_large_variance_names_its_variance(self):
        # By n: bell 4, owl 1. By n - 1: bell 8, owl 2.
        assert self.parts["before"]["variance"] == {
            "threshold": 1.0, "units": 4, "pairable_units": 4, "population_above": 1, "population_reaching": 2,
            "unbiased_above": 2, "unbiased_reaching": 2,
        }  # fmt: skip
        assert self.parts["after"]["variance"]["population_reaching"] == 0

    def test_the_histogram_stands_before_beside_after(self):
        assert self.found["questions"][0]["histogram"] == (
            ("1", 2, 0), ("2", 2, 2), ("3", 1, 0), ("4", 1, 3), ("5", 2, 1),
        )  # fmt: skip

    def test_corrections_are_counted_by_field_reason_origin_and_stratum_without_the_undone(self):
        corrections = self.found["corrections"]
        assert (corrections["n"], corrections["undone"], corrections["items"]) == (2, 1, 1)
        rows = {row["field"]: row for row in corrections["fields"]}
        assert list(rows) == ["question", "reference", "rationale"]
        assert (rows["question"]["origins"], rows["reference"]["origins"]) == ({"expert": 1}, {"draft": 1})
        undone = rows["rationale"]
        assert (undone["n"], undone["undone"], undone["origins"]) == (0, 1, {})
        assert rows["reference"]["reasons"] == {"wrong": 1}
        (stratum,) = corrections["strata"]
        assert stratum == {
            "stratum": "benchmark",
            "items": {"MMAR": 2, "MMAU": 2},
            "fields": {"question": {"MMAU": 1}, "reference": {"MMAU": 1}},
        }

    def test_drafts_are_counted_by_state_and_the_share_taken_as_they_were_is_of_the_settled(self):
        drafts = {row["field"]: (row["writer"], row["settled"], row["share"]) for row in self.found["drafts"]}
        assert drafts == {
            "question": ("Qwen", 1, 0.0),
            "rationale": ("Qwen", 1, 0.0),
            "reference": ("Qwen", 1, 1.0),
            "transcript": ("Whisper", 0, None),
        }
        states = next(row["states"] for row in self.found["drafts"] if row["field"] == "reference")
        assert states == {"accepted": 1, "late": 1}

    def test_codes_are_counted_by_items_tasks_and_judgments_before_and_after(self):
        feedback = self.found["feedback"]
        assert feedback["of"] == {
            "before": {"items": 4, "tasks": 4, "judgments": 8},
            "after": {"items": 3, "tasks": 3, "judgments": 6},
            "marked_before": {"items": 2, "tasks": 2, "judgments": 2},
            "marked_after": {"items": 1, "tasks": 1, "judgments": 1},
        }
        assert {
            row["code"]: (row["before"]["judgments"], row["after"]["judgments"]) for row in feedback["codes"]
        } == {"Q": (0, 0), "A": (1, 1), "R": (1, 0), "U": (0, 0), "E": (0, 0), COMMENT: (1, 0)}

    def test_an_item_with_two_answers_marked_alike_is_one_item_and_two_tasks(self):
        task = self.world.tasks["cat"]
        for one in (task, another_answer(task, "It barks.")):
            vote(one, 3, codes=["Q"])
        codes = {row["code"]: row["after"] for row in review_report(self.world.study)["feedback"]["codes"]}
        assert codes["Q"] == {"items": 1, "tasks": 2, "judgments": 2}

    def test_a_system_is_summed_up_over_different_answers_that_count(self):
        # "system-1 says: a bell." is four words; bell's second version, dog and cat have ratings that count.
        (system,) = self.found["questions"][0]["systems"]
        assert system == {
            "system": "system-1", "answers": 3, "ratings": 6, "mean": 3.5, "words": 4.0, "seconds": None,
        }  # fmt: skip

    def test_an_empty_answer_has_no_words(self):
        for text in (" \n", "two  words\n"):
            votes(another_answer(self.world.tasks["dog"], text), [1, 1])
        systems = {row["system"]: row for row in review_report(self.world.study)["questions"][0]["systems"]}
        assert (systems["another"]["answers"], systems["another"]["words"]) == (2, 1.0)

    def test_experts_are_compared_with_what_raters_had_said_by_then(self):
        # Bell: 4 against 1 and 5, without a majority; dog: 2 against 2 and 2.
        assert self.found["questions"][0]["blind"] == {
            "answers": 2, "with_raters": 2, "with_majority": 1, "agreed": 1,
            "mean_difference": 0.5, "mean_distance": 0.5,
        }  # fmt: skip

    def test_the_flow_counts_cases_by_rule_and_decision(self):
        flow = self.found["flow"]
        assert (flow["cases"], flow["states"]) == (4, {"open": 1})
        assert flow["decisions"] == {"corrected": 1, "fine": 1, "withdrawn": 1}
        rules = {row["rule"]: row["decisions"] for row in flow["rules"]}
        assert rules == {
            "codes": {"corrected": 1, "undecided": 1},
            "disagreement": {"corrected": 1, "withdrawn": 1},
            "audit": {"fine": 1},
        }
        assert flow["undone"] == 1
        assert flow["returns"] == {"rater": {}, "pool": {"judged": 1}}
        # Medians from opening and from the last claim; what is still wanted, over replaced tasks.
        assert flow["times"] == {"decided": 3, "since_opening": 180.0, "since_claim": 70.0}
        assert flow["rejudging"] == {"tasks": 1, "judgments": 2, "wanted": 1}

    def ratings(self) -> dict[str, int]:
        parts = review_report(self.world.study)["questions"][0]["parts"]
        return {part: row["ratings"] for part, row in parts.items()}

    def test_a_version_that_follows_a_correction_is_after_it_too(self):
        bell = ItemVersion.objects.get(item__external_id="bell", number=2).tasks.get()
        third = replacement(bell, next_version(bell, transcript="From a model."))
        keep_out(bell, "item_corrected")
        votes(third, [5, 5, 5])
        assert (self.ratings()["before"], self.ratings()["rejudged"]) == (8, 3)

    def test_a_version_that_follows_an_undone_correction_is_before_the_review(self):
        cat = self.world.tasks["cat"]
        third = replacement(cat, next_version(cat, transcript="From a model."))
        votes(third, [3, 3])
        assert (self.ratings()["before"], self.ratings()["rejudged"]) == (10, 2)

    def test_a_text_that_a_model_wrote_anew_is_no_part_of_the_review(self):
        dog = self.world.tasks["dog"]
        again = replacement(dog, next_version(dog, transcript="From a model."))
        keep_out(dog, "item_corrected")
        votes(again, [3, 4])
        expected = {"before": 8, "excluded": 4, "kept": 4, "rejudged": 2}
        assert self.ratings() == {**self.ratings(), **expected}

    def test_what_somebody_else_keeps_out_is_in_no_part(self):
        keep_out(self.world.tasks["dog"], "careless")
        assert (self.ratings()["before"], self.ratings()["excluded"]) == (6, 4)

    def test_it_can_be_stored_as_json(self):
        assert json.loads(json.dumps(self.found))["corrections"] == {
            **self.found["corrections"], "fields": list(self.found["corrections"]["fields"]),
            "strata": list(self.found["corrections"]["strata"]),
        }  # fmt: skip


def test_a_preference_has_a_majority_but_no_mean():
    answers = [BlindAnswer(1, (1, 1, 2)), BlindAnswer(2, (1, 1)), BlindAnswer(3, ())]
    found = blind_agreement(answers, with_mean=False)
    assert found == {
        "answers": 3, "with_raters": 2, "with_majority": 2, "agreed": 1, "mean_difference": None,
        "mean_distance": None,
    }  # fmt: skip


def test_comparisons_have_no_variance_and_the_alpha_that_is_symmetric_in_sides():
    study = factories.StudyFactory(preset="cmi-pref", overlap=9)
    task = factories.comparison_task(study, "pair")
    for choice in (1, 1, 2):
        vote(task, question="alignment", choice=choice)
    found = {question["key"]: question for question in review_report(study)["questions"]}
    part = found["alignment"]["parts"]["after"]
    assert part["variance"] is None
    assert part["symmetric"]["ratings"] == 3
    assert [row[1:] for row in found["alignment"]["histogram"]] == [(2, 2), (1, 1), (0, 0), (0, 0)]


def test_a_study_without_anything_has_a_report_too():
    found = review_report(factories.StudyFactory())
    assert found["corrections"]["n"] == found["flow"]["cases"] == 0
    assert found["questions"][0]["parts"]["before"]["reason"] == "no_ratings"
