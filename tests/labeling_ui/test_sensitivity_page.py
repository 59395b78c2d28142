from __future__ import annotations

import pytest
from django.urls import reverse

from analytics.reports import sensitivity
from analytics.reports.document import Document, Table
from annotation.jobs import jobs
from annotation.models import Candidate, Job, Study
from scoring.models import Score, Scorer, ScoringRun
from tests.analytics.votes import votes
from tests.factories import StudyFactory, rating_task

pytestmark = pytest.mark.django_db

CONFIG = {"templates": {"plain": "Does it fit {text}?", "wordy": "Would you say it fits {text}?"}}
# By item: what the two templates say, and what raters do.
ITEMS = [(0.1, 0.2, [1, 1]), (0.3, 0.9, [2, 1]), (0.6, 0.5, [3, 4]), (0.9, 0.7, [5, 4])]


@pytest.fixture
def scorer(study) -> Scorer:
    """A scorer with two templates that has scored four items nobody has rated."""
    made = Scorer.objects.create(key="word-count", digest="3f1c9a7de0", config=CONFIG)
    ScoringRun.objects.create(study=study, scorer=made, metric="word-count", state="done", n_done=4)
    for number, (plain, wordy, _values) in enumerate(ITEMS):
        task = rating_task(study, f"item-{number}")
        candidate = Candidate.objects.get(item_version=task.item_version)
        for output, value in {"plain": plain, "wordy": wordy, "mean": (plain + wordy) / 2}.items():
            Score.objects.create(scorer=made, candidate=candidate, output=output, value=value)
    return made


def rate(study: Study) -> None:
    for task, (_plain, _wordy, values) in zip(study.tasks.order_by("pk"), ITEMS, strict=True):
        votes(task, values)


def address(scorer: Scorer) -> str:
    return reverse("sensitivity", args=["s", scorer.pk])


def compare(client, scorer: Scorer):
    """Ask for a comparison, do the worker's part, and open it."""
    client.post(address(scorer))
    job = Job.objects.get()
    jobs.run(job.pk)
    return client.get(address(scorer))


def test_a_scorer_with_several_templates_leads_to_their_comparison(signed_in, scorer):
    assert address(scorer) in signed_in.get(reverse("models", args=["s"])).text


def test_a_scorer_with_one_template_has_nothing_to_compare(signed_in, scorer):
    Scorer.objects.update(config={"templates": {"plain": "?"}})
    assert address(scorer) not in signed_in.get(reverse("models", args=["s"])).text


def test_opening_the_page_computes_nothing(signed_in, scorer, monkeypatch):
    monkeypatch.setattr(sensitivity, "sensitivity", None)
    assert "Compare the templates" in signed_in.get(address(scorer)).text
    assert not Job.objects.exists()


def test_a_comparison_is_asked_for_once_however_often_the_button_is_pressed(signed_in, scorer):
    signed_in.post(address(scorer))
    signed_in.post(address(scorer))
    shown = signed_in.get(address(scorer)).text
    assert Job.objects.count() == 1
    assert 'hx-trigger="every 2s"' in shown
    assert "is being computed" in shown


def test_templates_are_compared_with_each_other_and_with_raters(signed_in, study, scorer):
    rate(study)
    response = compare(signed_in, scorer)
    document = response.context["document"]
    assert ("Scored", "4") in document.facts
    assert [block.key for block in document.sections[0].blocks] == [
        "plot-correctness",
        "question-correctness",
    ]
    name, n, correlation, *_others = table(document, "question-correctness").rows[0]
    assert (name, n) == ("plain", 4)
    assert correlation.value > 0.9
    assert [row[0] for row in table(document, "question-correctness").rows] == [
        "plain", "wordy", "Mean", "standard deviation",
    ]  # fmt: skip
    shown = response.text
    for expected in ("Does it fit {text}?", "Linear correlation (LCC)", "item-1", "as of"):
        assert expected in shown


def table(document: Document, key: str) -> Table:
    blocks = (block for section in document.sections for block in section.blocks)
    return next(block for block in blocks if isinstance(block, Table) and block.key == key)


def test_the_item_on_which_templates_differ_most_comes_first(signed_in, scorer):
    (first, *_others) = table(compare(signed_in, scorer).context["document"], "items").rows
    assert (first[0], first[4]) == ("item-1", "plain")


def test_without_votes_the_page_says_so_and_still_compares_templates(signed_in, scorer):
    shown = compare(signed_in, scorer).text
    assert "There are no votes that these scores can be compared with yet." in shown
    assert "Rank correlation between templates" in shown


def test_a_correlation_that_is_not_defined_says_why(signed_in, study, scorer):
    rate(study)
    Score.objects.filter(output="plain").update(value=0.5)
    shown = compare(signed_in, scorer).text
    assert "The scorer gave every item the same value" in shown


def test_a_scorer_without_scores_says_so(signed_in, scorer):
    Score.objects.all().delete()
    assert "no scores in this study yet" in compare(signed_in, scorer).text


def test_a_comparison_that_failed_says_why_and_the_last_one_stays(signed_in, study, scorer):
    compare(signed_in, scorer)
    params = {"scorer": scorer.pk}
    Job.objects.create(kind="sensitivity", study=study, params=params, state="failed", message="Out of luck.")
    answer = signed_in.get(address(scorer))
    assert "Out of luck." in answer.text
    assert answer.context["report"]["n"] == 4


def test_the_job_leads_to_the_comparison(signed_in, scorer):
    compare(signed_in, scorer)
    shown = signed_in.get(reverse("job", args=[Job.objects.get().pk])).text
    assert "Comparison of templates" in shown
    assert address(scorer) in shown


def test_a_scorer_that_had_no_run_in_this_study_is_not_there(signed_in, study):
    elsewhere = Scorer.objects.create(key="word-count", digest="elsewhere")
    ScoringRun.objects.create(study=StudyFactory(), scorer=elsewhere, metric="word-count")
    assert signed_in.get(address(elsewhere)).status_code == 404
