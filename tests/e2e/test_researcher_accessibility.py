"""axe-core finds nothing serious on any page of those who run a study, light or dark, wide or narrow."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.files.base import ContentFile
from django.utils import timezone

from analytics.overview import figures
from analytics.reports.document import document_json
from analytics.reports.sections.material import ReportSettings
from analytics.reports.sensitivity import sensitivity
from analytics.reports.study_report import study_report
from analytics.statistics.bootstrap import Resampling
from annotation.importing import uploads
from annotation.models import Answer, Candidate, Job, Question, Study, Upload, User
from annotation.studies import members, protocols, workspaces
from scoring.models import Score, Scorer, ScoringRow, ScoringRun
from tests import every_kind
from tests.analytics.votes import vote
from tests.annotation.importing.reviewing import case as flagged
from tests.e2e.test_accessibility import check_widths
from tests.factories import StudyFactory, _task, clip, comparison_task, member, membership, rater, rating_task
from tests.labeling_ui.cases import released

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PROBLEM = {"row": "3", "field": "value", "problem": "'6' is not on the scale", "remedy": "Mend the value."}
JOBS = [
    {"state": "running", "stage": "audio", "done": 3, "total": 12},
    {"state": "failed", "message": "Bad.", "report": {"problems": [PROBLEM], "n_problems": 1}},
    {"state": "done", "report": {"tasks": 5, "judgments": 0, "notes": ["a.wav is silent."], "dry_run": True}},
]


@pytest.fixture
def boss(signed_in) -> User:
    """Admin of an empty study, one of ratings and one of comparisons."""
    empty = StudyFactory(slug="empty", state="draft")
    boss = member(empty, "admin", may_create_studies=True)
    ratings, pairs = StudyFactory(slug="ratings"), StudyFactory(slug="pairs", preset="cmi-pref")
    for study in (ratings, pairs):
        members.add_member(study, boss, role="admin", actor=None)
        fill(study)
        figures.recompute_figures(study.pk)
    ticked(boss)
    signed_in(boss)
    return boss


def ticked(boss: User) -> None:
    """A study of checkboxes, whose options have words."""
    boxes = StudyFactory(slug="boxes")
    members.add_member(boxes, boss, role="admin", actor=None)
    asked = next(question for question in every_kind.QUESTIONS if question["kind"] == "choices")
    definition = every_kind.every_kind(questions=[{**asked, "per_candidate": False}])
    protocols.add_protocol_version(boxes, definition=definition, actor=None)
    candidates = [(f"system-{number}", {"clip": clip(f"boxes-{number}")}) for number in range(2)]
    task = _task(boxes, "bell", candidates, None, {"prompt": "A bell"})
    question = Question.objects.get(protocol_version=boxes.protocol_version)
    for selected in ([1], [1, 2]):
        judgment = vote(task, rater=rater(boxes))
        Answer.objects.create(
            judgment=judgment, task=task, question=question, selected=selected, counted=True
        )
    figures.recompute_figures(boxes.pk)


def fill(study: Study) -> None:
    raters = [rater(study), rater(study)]
    for number in range(5):
        if study.slug == "ratings":
            task = rating_task(study, f"item-{number}", system=f"system-{number % 2}")
            flagged(task, rules=("codes", "disagreement"))
            for index, person in enumerate(raters):
                vote(task, 1 + (number + index) % 5, rater=person, codes=["Q"])
        else:
            task = comparison_task(study, f"pair-{number}")
            for index, person in enumerate(raters):
                vote(task, question="alignment", choice=1 + (number + index) % 2, rater=person)


def test_every_page_of_those_who_run_a_study(looked_at, boss):
    study = Study.objects.get(slug="ratings")
    reported(Study.objects.get(slug="pairs"))
    changes = {"judgments": {"added": {"rows": 3, "why": {"new vote": 3}}}}
    released(study, differences={"since": 3, "tables": changes}, file="releases/x.zip", file_bytes=4096)
    for path in (
        "empty",
        "ratings",
        "pairs",
        "boxes",
        "pairs/settings",
        "pairs/settings/listening",
        "ratings/plan",
        "pairs/plan",
        "ratings/import",
        "pairs/import",
        "ratings/export",
        "ratings/releases",
        "ratings/releases/1",
        "ratings/training-sets",
        "empty/report",
        "pairs/report",
        "empty/review",
        "ratings/review",
        "pairs/data/tasks",
        "ratings/data/judgments",
    ):
        visit(looked_at, f"/studies/{path}/")
    visit(looked_at, "/account/tokens/", press="Make the token")  # with everything missing
    looked_at.goto("/api/v1/docs/?#op-make_token")
    check_widths(looked_at, wide=1440)
    visit(looked_at, "/studies/new/", press="Create this study")  # with everything missing
    visit(looked_at, "/studies/from-files/", press="Upload and preview")  # with nothing chosen
    visit(looked_at, f"/uploads/{brought(boss).pk}/", press="Make the study")  # with a column unsaid
    visit(looked_at, "/studies/pairs/preview/")
    visit(looked_at, "/studies/ratings/people/", press="Create a link")
    visit(looked_at, f"/studies/ratings/people/{membership(boss, study).pk}/")
    visit(
        looked_at, f"/studies/ratings/raters/{study.raters.first().pseudonym}/", press="Do it"
    )  # without a reason
    workspaces.place_study(
        study, workspaces.create_workspace(slug="lab", title="Lab", actor=boss), actor=None
    )
    visit(looked_at, "/workspaces/lab/")
    visit(looked_at, "/workspaces/lab/people/", press="Create a link")
    looked_at.goto("/studies/pairs/data/?kind=regular")
    looked_at.locator(".panel summary").first.click()
    check_widths(looked_at, wide=1440)
    looked_at.goto("/studies/ratings/review/rules/")
    for details in looked_at.locator(".rule details").all():
        details.locator("summary").click()
    check_widths(looked_at, wide=1440)
    visit(looked_at, f"/studies/ratings/items/{study.items.first().pk}/")
    for fields in JOBS:
        job = Job.objects.create(
            kind="import", study=study, params={"format": "csv", "dry_run": True}, **fields
        )
        visit(looked_at, f"/jobs/{job.pk}/")


def brought(user: User) -> Upload:
    table = ContentFile(b"name,question,system,answer\none,What rings?,model-1,A gong.\n", name="items.csv")
    return uploads.receive_upload([("items.csv", table)], actor=user, study=None)


def reported(study: Study) -> None:
    settings = ReportSettings(resampling=Resampling(replicates=20))
    document = study_report(study, settings, language="en", progress=lambda done: None)
    fields = {"report": document_json(document), "finished_at": timezone.now()}
    Job.objects.create(kind="report", study=study, params={}, state="done", **fields)


def test_every_page_about_models(looked_at, signed_in):
    study, empty = StudyFactory(slug="ratings"), StudyFactory(slug="empty")
    fill(study)
    researcher = member(study, "researcher")
    members.add_member(empty, researcher, role="researcher", actor=None)
    signed_in(researcher)
    run = score(study)
    ScoringRun.objects.create(study=study, metric="cascade", created_at=timezone.now() - timedelta(minutes=2))
    for path in ("empty/models", "ratings/models", "ratings/models/new", "ratings/models/prompts"):
        visit(looked_at, f"/studies/{path}/")
    visit(looked_at, "/studies/ratings/models/new/?metric=aqascore", press="Start the run")  # without a model
    looked_at.goto(f"/scoring-runs/{run.pk}/")
    looked_at.get_by_role("link", name="Show these rows").click()
    looked_at.get_by_role("cell", name="Broken at 0.50 s.").wait_for()
    looked_at.get_by_text("Exactly which version").click()
    check_widths(looked_at, wide=1440)
    visit(looked_at, f"/studies/ratings/models/{run.scorer_id}/sensitivity/")


def score(study: Study) -> ScoringRun:
    """A finished run with two templates, one row that failed, and their comparison."""
    templates = {"plain": "Does it fit {text}?", "wordy": "Would you say it fits {text}?"}
    scorer = Scorer.objects.create(key="aqascore", digest="3f1c9a7de0", config={"templates": templates})
    options = {"backbone": "hub/model", "template": ["all"]}
    run = ScoringRun.objects.create(
        study=study, scorer=scorer, metric="aqascore", options=options, state="done",
        n_rows=5, n_done=4, n_failed=1,
    )  # fmt: skip
    broken, *fine = Candidate.objects.filter(item_version__item__study=study)
    ScoringRow.objects.create(
        run=run, candidate=broken, state=4, fault="undecodable", reason="Broken at 0.50 s."
    )
    for number, candidate in enumerate(fine):
        ScoringRow.objects.create(run=run, candidate=candidate, state=3)
        for place, output in enumerate(templates):
            Score.objects.create(
                scorer=scorer, candidate=candidate, output=output, value=0.2 * number + 0.1 * place
            )
    report = sensitivity(study, scorer)
    Job.objects.create(
        kind="sensitivity", study=study, params={"scorer": scorer.pk}, state="done", report=report,
        finished_at=timezone.now(),
    )  # fmt: skip
    return run


def visit(page, path: str, *, press: str = "") -> None:
    page.goto(path)
    if press:
        page.get_by_role("button", name=press).click()
    check_widths(page, wide=1440)
