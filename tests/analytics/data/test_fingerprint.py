"""The hash of a study's data says that the same people said the same, and nothing of where that is stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from django.db.models import QuerySet
from django.utils import timezone

from analytics.data import votes
from analytics.data.fingerprint import data_sha256
from analytics.data.questions import measured_questions
from annotation.models import Answer, Assignment, Candidate, Item, Job, Judgment, Study
from annotation.rating import exclusions
from annotation.rating.rules import stopping
from scoring.models import LearnedModel, Score, Scorer
from tests import factories
from tests.analytics.votes import vote

pytestmark = pytest.mark.django_db

# Item, rater and value of each vote.
SAID = (("a", "one", 3.0), ("a", "two", 5.0), ("b", "one", 1.0), ("c", "", 2.0), ("c", "", 4.0))


def told(
    said: Sequence[tuple[str, str, float]] = SAID, *, items: str = "abc", confidence: float | None = None
) -> Study:
    """A study of its own in which this was said, in this order, about items made in the order of `items`."""
    study = factories.StudyFactory(overlap=9)
    tasks = {name: factories.rating_task(study, name) for name in items}
    raters = {name: factories.rater(study) for name in dict.fromkeys(name for _, name, _ in said) if name}
    for item, rater, value in said:
        vote(tasks[item], value, rater=raters.get(rater), confidence=confidence)
    return study


def sha256(study: Study) -> str:
    return data_sha256(study, [votes.load_votes(question) for question in measured_questions(study)])


def test_ids_order_and_pseudonyms_change_nothing():
    assert sha256(told()) == sha256(told(SAID[::-1], items="cab"))


@pytest.mark.parametrize(
    "said",
    [
        SAID[:-1],
        (*SAID[:-1], ("c", "", 5.0)),
        (*SAID[:-1], ("b", "", 4.0)),
        (*SAID[:2], ("b", "two", 1.0), *SAID[3:]),
        (*SAID[:3], ("c", "one", 2.0), *SAID[4:]),
        (*SAID, SAID[0]),
    ],
    ids=["a vote less", "a value", "a unit", "another's vote", "a name", "said again"],
)
def test_whatever_was_said_otherwise_changes_it(said):
    assert sha256(told()) != sha256(told(said))


def excluded(study: Study) -> None:
    chosen = Judgment.objects.filter(pk=Judgment.objects.filter(study=study).earliest("pk").pk)
    exclusions.exclude_or_restore(chosen, study=study, action="exclude", reason="careless", actor=None)


def candidates(study: Study) -> QuerySet[Candidate]:
    return Candidate.objects.filter(item_version__item__study=study).order_by("pk")


def scorer() -> Scorer:
    return Scorer.objects.get_or_create(key="dummy", digest="0" * 10, config={})[0]


CHANGES: dict[str, Callable[[Study], object]] = {
    "an exclusion": excluded,
    "a stratum": lambda study: Item.objects.filter(study=study, external_id="a").update(
        strata={"kind": "music"}
    ),
    "a system": lambda study: study.systems.update(name="another"),
    "a model's score": lambda study: Score.objects.create(
        scorer=scorer(), candidate=candidates(study)[0], value=0.5
    ),
    "a remark": lambda study: vote(study.tasks.earliest("pk"), codes=["Q"]),
    "a judgment that does not count": lambda study: vote(study.tasks.earliest("pk"), 5, effective=False),
    "the rule of stopping": lambda study: setattr(
        study, "rules", {stopping.LAST_RULE_KEY: {"question": "q", "most": 5}}
    ),
}


def test_a_rule_of_stopping_that_never_asked_for_a_vote_does_not_change_it():
    study = told()
    before = sha256(study)
    study.rules = {"stopping": {"question": "", "most": 5}}
    assert sha256(study) == before


@pytest.mark.parametrize("change", list(CHANGES))
def test_what_figures_rest_on_besides_changes_it(change):
    study = told()
    before = sha256(study)
    CHANGES[change](study)
    assert sha256(study) != before


def test_the_value_of_a_score_counts_and_not_where_it_is_stored():
    def scored(value: float) -> str:
        study = told()
        for candidate in candidates(study):
            Score.objects.create(scorer=scorer(), candidate=candidate, value=value)
        return sha256(study)

    assert scored(0.5) == scored(0.5)
    assert scored(0.5) != scored(0.25)


def test_texts_that_figures_group_or_measure_count():
    hashes = set()
    for version in ({"prompt": "A bell"}, {"prompt": "Two bells"}, {"prompt": "A bell"}):
        study = factories.StudyFactory()
        vote(factories.rating_task(study, "a", **version), 3)
        hashes.add(sha256(study))
    assert len(hashes) == 2


def test_an_answer_s_text_counts():
    def answered(text: str) -> str:
        study = factories.StudyFactory()
        vote(factories.panel_task(study, "a", [text]), 3)
        return sha256(study)

    assert answered("A bell") == answered("A bell") != answered("Two bells, one after the other")


def test_confidence_and_order_count():
    assert sha256(told()) != sha256(told(confidence=3.0))
    hashes = set()
    for shown in ([0, 1], [1, 0], None):
        study = factories.StudyFactory(preset="cmi-pref")
        task = factories.comparison_task(study, "a")
        vote(task, question="alignment", choice=Answer.Choice.FIRST, presentation=shown)
        hashes.add(sha256(study))
    assert len(hashes) == 3


def test_a_study_without_votes_has_one_too():
    assert sha256(told(())) == sha256(told(()))


def test_what_raters_were_shown_and_what_a_scorer_learned_from_change_it():
    study = told()
    task, rater = study.tasks.get(external_id="a"), factories.rater(study)
    assignment = Assignment.objects.create(
        task=task, rater=rater, protocol_version=study.protocol_version, presentation=[0],
        expires_at=timezone.now(), hint={"scorer": "one", "answers": {"correctness": 3.0}}, hint_shown=True,
    )  # fmt: skip
    vote(task, 4, rater=rater, assignment=assignment)
    before = sha256(study)
    Study.objects.filter(pk=study.pk).update(rules={**study.rules, "hints": {"scorer": "one"}})
    shown = sha256(study)
    Assignment.objects.update(hint_shown=False)
    hashes = [before, shown, sha256(study)]
    scorer = Scorer.objects.create(key="one", digest="one")
    job = Job.objects.create(study=study, kind="train")
    model = LearnedModel.objects.create(study=study, kind="orca", number=1, job=job, scorer=scorer)
    for held in ({}, {"items": [Item.objects.get(study=study, external_id="a").pk], "systems": []}):
        LearnedModel.objects.filter(pk=model.pk).update(record={"held_out": held})
        hashes.append(sha256(study))
    assert len(set(hashes)) == 5
