"""What an export says of corrections and review cases."""

from __future__ import annotations

import json

from django.test import TestCase

from analytics.datasets.records import case_records, correction_records, item_records
from analytics.datasets.values import without_paths
from annotation.models import Membership, Rater
from tests.analytics.reviewed import next_version, reviewed


class TestReviewed(TestCase):
    @classmethod
    def setUpTestData(cls) -> None:
        cls.world = reviewed(slug="s")

    def test_a_correction_tells_what_was_there_what_came_and_who_by_pseudonym(self):
        first, _, undone = correction_records(self.world.study)
        pseudonym = Rater.objects.get(user=self.world.expert).pseudonym
        case = self.world.study.review_cases.get(item__external_id="bell")
        assert first == {
            "study": "s", "item": "bell", "version_before": 1, "version_after": 2, "undone": False, "case": case.pk,
            "field": "reference", "before": "A bell.", "after": "A gong.", "reason": "wrong", "comment": "=1+1",
            "origin": "draft", "draft_writer": "Qwen", "draft_text": "A gong.",
            "draft_provenance": {"model": "Qwen/Qwen2.5", "server": "", "checkpoint": "x.pt"},
            "author": pseudonym, "author_role": "expert", "corrected_at": "2026-03-01T09:00:00.000000Z",
        }  # fmt: skip
        assert (undone["item"], undone["undone"], undone["draft_text"]) == ("cat", True, "A cat purs.")

    def test_whoever_left_the_study_keeps_a_pseudonym_and_has_no_role(self):
        Membership.objects.all().delete()
        first = next(correction_records(self.world.study))
        assert first["author"]
        assert first["author_role"] == ""

    def test_a_case_tells_its_rules_times_blind_judgment_and_returns(self):
        bell, dog, cat, _ = case_records(self.world.study)
        assert [one["rule"] for one in bell["rules"]] == ["codes", "disagreement"]
        assert (bell["state"], bell["decision"], bell["expert_role"]) == ("resolved", "corrected", "expert")
        assert bell["claimed_at"] == "2026-03-01T09:01:00.000000Z"
        assert bell["decided_at"] == "2026-03-01T09:03:00.000000Z"
        assert bell["blind_judgment"] == str(self.world.tasks["bell"].judgments.get(origin=4).client_id)
        assert dog["returns"] == [
            {
                "to": "pool", "task": "dog", "wanted": 1, "comment": "One more, please.", "state": "judged",
                "reply": "", "returned_at": dog["returns"][0]["returned_at"], "closed_at": None,
            }
        ]  # fmt: skip
        assert (cat["state"], cat["decision"], cat["expert"], cat["claimed_at"]) == ("open", "", "", None)

    def test_items_come_as_they_were_as_they_are_or_both(self):
        first = [("bell", 1), ("dog", 1), ("cat", 1), ("owl", 1), ("hen", 1)]
        expected = {
            "original": first,
            "corrected": [*first[1:], ("bell", 2)],
            "both": [*first, ("bell", 2), ("cat", 2)],
        }
        for texts, versions in expected.items():
            records = list(item_records(self.world.study, texts=texts))
            assert [(record["item"], record["version"]) for record in records] == versions
            retracted = [(record["item"], record["version"]) for record in records if record["retracted"]]
            assert retracted == ([("cat", 2)] if texts == "both" else [])

    def test_what_a_model_wrote_before_any_correction_is_part_of_the_original(self):
        for name in ("dog", "bell"):
            task = self.world.tasks[name]
            next_version(task, rationale="As a model says.")
        originals = {
            record["item"]: (record["version"], record["rationale"])
            for record in item_records(self.world.study, texts="original")
        }
        assert originals == {
            "bell": (1, ""), "dog": (2, "As a model says."), "cat": (1, ""), "owl": (1, ""), "hen": (1, ""),
        }  # fmt: skip

    def test_an_answer_that_was_carried_over_names_the_version_it_comes_from(self):
        bell = next(r for r in item_records(self.world.study, texts="corrected") if r["item"] == "bell")
        assert bell["reference"] == "A gong."
        assert [one["carried_from"] for one in bell["candidates"]] == [1]

    def test_no_record_names_an_account(self):
        everything = json.dumps([*correction_records(self.world.study), *case_records(self.world.study)])
        assert "expert@example.org" not in everything
        assert "Ex Pert" not in everything


def test_places_on_this_machine_and_servers_stay_here():
    said = {
        "path": "/srv/models/qwen",
        "url": ["https://gpu.example/v1", "~/x.pt", "~ann/x.pt", "see http://gpu.example:8000/v1"],
        "spaced": ["/home/anna maria/models/whisper/", "C:\\Users\\anna\\m v1", "\\\\server\\share\\m"],
        "prompt": "a / b",
        "model": "openai/whisper-large",
        "n": 3,
    }
    assert without_paths(said) == {
        "path": "qwen",
        "url": ["", "x.pt", "x.pt", ""],
        "spaced": ["whisper", "m v1", "m"],
        "prompt": "a / b",
        "model": "openai/whisper-large",
        "n": 3,
    }
