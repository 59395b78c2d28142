"""A flagged item of a study, with raters who disagree about it, a model's score and an expert; and a release."""

from __future__ import annotations

from dataclasses import dataclass

from analytics.models import Release
from annotation.models import Judgment, ReviewCase, Study, System, Task, User
from annotation.models.people import Role
from annotation.rating import judgments, leases
from annotation.review import blind_judgments, cases
from scoring.models import Score, Scorer
from tests.annotation.importing import reviewing
from tests.annotation.importing.answers import rating
from tests.factories import StudyFactory, member, rating_task

SECRETS = ("quagga", "pangolin", "0.739", "word-count", "okapi", "axolotl", "Ocelot", "7.77")


@dataclass
class Flagged:
    study: Study
    case: ReviewCase
    task: Task
    expert: User
    raters: list[User]


def flagged(
    *, values: tuple[float, ...] = (1, 5), slug: str = "s", name: str = "clip-7", clip=None
) -> Flagged:
    """An `orca` item whose raters gave `values`; every word that must stay hidden is in SECRETS."""
    study = Study.objects.filter(slug=slug).first() or StudyFactory(slug=slug, title="Bird calls", overlap=5)
    task = rating_task(study, name, rationale="It rings.", overlap=len(values) or 1, clip=clip)
    System.objects.filter(name="system-1").update(name=f"sys-quagga-{name}")
    raters = []
    for value in values:
        rater = member(study, name="Ocelot")
        _, lease = leases.lease_next(rater, slug)
        judgments.submit(rater, lease.id, rating(value, codes=["Q"], comment="pangolin"))
        raters.append(rater)
    scorer, _ = Scorer.objects.get_or_create(key="word-count", digest="axolotl" + "0" * 57)
    Score.objects.create(
        scorer=scorer, candidate=task.slots.get().candidate, value=0.73912, distribution={"okapi": 0.25}
    )
    reviewing.open_case(
        task.item_version,
        rule="disagreement",
        evidence={"n_ratings": 2, "variance_on_5": 7.77},
        task=task,
    )
    return Flagged(study, ReviewCase.objects.get(task=task), task, expert_of(study), raters)


def expert_of(study: Study) -> User:
    found = study.memberships.filter(role=Role.EXPERT).first()
    return (
        found.user
        if found
        else member(study, Role.EXPERT, name="Eve Expert", email=f"eve@{study.slug}.example")
    )


def judged(found: Flagged, *, value: float = 3) -> Judgment:
    """The expert has claimed the case and judged it blind."""
    cases.claim(found.expert, found.case.pk)
    blind_judgments.begin_blind(found.expert, found.case.pk)
    blind_judgments.judge_blind(found.expert, found.case.pk, rating(value, comment="my own words"))
    found.case.refresh_from_db()
    return Judgment.objects.get(origin=Judgment.Origin.EXPERT, task=found.task)


def released(study: Study, **fields) -> Release:
    """A release as the record of one."""
    cut = {"date": "2026-04-01", "wishes": {"note": "for the paper"}, "horizon": {"rater_withdrawals": 0}}
    manifest = {
        "cut": cut,
        "left_out": {"judgments": 3, "counted": 2, "excluded": {"careless": 1}},
        "configs": {"judgments": {"rows": 3}},
        "files": {"data/judgments/train-00000-of-00001.parquet": {"bytes": 2048}},
        "code_version": "abc",
    }
    return Release.objects.create(study=study, number=1, manifest=manifest, sha256="ab" * 32, **fields)
