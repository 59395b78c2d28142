"""Comparisons of versions of learned models, made in the background: they read every vote on what is held out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from analytics.questions import measured_questions
from analytics.records.moment import one_moment
from analytics.renderings.document_json import as_json, from_json
from analytics.reports.document import Document
from analytics.reports.learned.assembly import comparison
from analytics.reports.learned.held_out import held_out_by_all, version_name
from analytics.services.heartbeat import Heartbeat
from analytics.statistics.bootstrap import Resampling
from annotation.errors import FieldProblem, InvalidInput, NotFound
from annotation.models import Job, Study, User
from annotation.services import jobs
from annotation.services.jobs import Failure, Running
from scoring.models import LearnedModel, Scorer

KIND = "learned_comparison"
# A table of more is one that nobody reads.
MOST = 8


@transaction.atomic
def start(
    study: Study,
    versions: Sequence[int],
    scorers: Sequence[int] = (),
    *,
    actor: User | None,
    language: str = "en",
) -> Job:
    """The comparison of these versions, and of other scorers beside them, that is under way, or a new one. Raises
    InvalidInput that names what cannot be compared."""
    models = _models(study, versions)
    _refuse_incomparable(models, len(versions) + len(scorers))
    others = list(scorers_of(study).filter(pk__in=scorers).order_by("key", "pk"))
    if len(others) != len(set(scorers)):
        raise _refused("scorers", "Some of these scorers have scored nothing in this study.")
    params = {
        "versions": [model.pk for model in models],
        "scorers": [scorer.pk for scorer in others],
        "language": language,
    }
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)  # two clicks ask for one job
    begun = of_study(study).filter(state__in=Job.UNFINISHED, params=params).first()
    return begun or jobs.enqueue(KIND, study=study, params=params, actor=actor)


def run(running: Running) -> dict[str, Any]:
    """The job's work; what it returns is the job's report."""
    study, params = running.job.study, running.job.params
    if study is None:
        raise Failure("This study is not here any more.")
    models, others = _models(study, params["versions"]), scorers_of(study).filter(pk__in=params["scorers"])
    questions = len(measured_questions(study))
    with Heartbeat(running, total=questions) as heartbeat, one_moment():
        found = comparison(
            study,
            models,
            list(others.order_by("key", "pk")),
            resampling=Resampling(),
            language=params["language"],
            progress=heartbeat,
        )
        return as_json(found)


def of_study(study: Study) -> QuerySet[Job]:
    """The newest first; without their documents, which pages read apart."""
    found = Job.objects.filter(study=study, kind=KIND).exclude(state=Job.State.CANCELLED)
    return found.defer("report").order_by("-created_at", "-pk")


def comparison_of(job: Job, study: Study) -> Job:
    """The job, where it is a comparison in this study. Raises NotFound."""
    if job.kind != KIND or job.study_id != study.pk:
        raise NotFound
    return job


def newest_with(model: LearnedModel) -> Job | None:
    """The newest that this version is part of."""
    return of_study(model.study).filter(params__versions__contains=model.pk).first()


def document_of(job: Job) -> Document:
    return from_json(job.report)


def comparable(study: Study) -> QuerySet[LearnedModel]:
    """Versions that have been trained to the end, the newest first."""
    found = LearnedModel.objects.filter(study=study, scorer__isnull=False).select_related("scorer", "study")
    return found.order_by("-created_at", "-pk")


def scorers_of(study: Study) -> QuerySet[Scorer]:
    """What else has scored this study. A version opened with another option is none: it has learned what it did."""
    same = LearnedModel.objects.filter(
        scorer__key=OuterRef("key"), scorer__config__weights=OuterRef("config__weights")
    )
    others = Scorer.objects.filter(~Exists(same), runs__study=study, learned_models=None)
    return others.distinct()


def _models(study: Study, versions: Sequence[int]) -> list[LearnedModel]:
    """In the order in which they were made."""
    found = sorted(comparable(study).filter(pk__in=versions), key=lambda model: model.pk)
    if len(found) != len(set(versions)):
        raise _refused(
            "versions", "Some of these versions are not there, or have not been trained to the end."
        )
    return found


def _refuse_incomparable(models: Sequence[LearnedModel], n: int) -> None:
    if not models:
        raise _refused("versions", "Choose one version to evaluate, or several to compare.")
    if n > MOST:
        raise _refused("versions", f"Choose at most {MOST} versions and scorers; these are {n}.")
    if not held_out_by_all(models).items:
        names = ", ".join(version_name(model) for model in models)
        sentence = f"There is no item that all of {names} held out. Compare fewer, or train them anew."
        raise _refused("versions", sentence)


def _refused(field: str, sentence: str) -> InvalidInput:
    return InvalidInput(sentence, problems=[FieldProblem(field, sentence)])
