"""Demo studies, made through the services: their files are imported, their accounts are members."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db import transaction

from annotation import demo
from annotation.importing import import_jobs, options
from annotation.jobs import jobs
from annotation.models import Job, Rater, Study, User
from annotation.models.people import Role
from annotation.review import flagging, settings
from annotation.studies import members, studies

SLUGS = ("demo-music", "demo-audio-qa")


@dataclass(frozen=True)
class DemoStudy:
    slug: str
    title: str
    format: str
    source: Path
    description: str
    # Rules of its review that are not the defaults.
    flags: dict[str, dict[str, Any]] = field(default_factory=dict)


def demo_studies(folder: Path) -> list[DemoStudy]:
    """What `annotation.demo.write.write_demo` left in a folder."""
    return [
        DemoStudy(
            SLUGS[0],
            "Demo: which music is better?",
            "cmi-pref",
            folder / "music" / "cmi.jsonl",
            "Short pieces made by five imaginary systems, compared two at a time. Every clip is synthesised, the "
            "quality of each system is known, and simulated raters of known reliability have judged a part.",
            # Of three votes, two against one is the closest there is.
            flags={"disagreement": {"minority": 0.33}, "low_confidence": {"confidence": 2.5}},
        ),
        DemoStudy(
            SLUGS[1],
            "Demo: is the answer right?",
            "orca",
            folder / "audio_qa",
            "Questions about synthesised sound scenes, answered by four imaginary systems. What happens in each scene "
            "is known, some questions are flawed on purpose, and a part has been rated by simulated raters.",
        ),
    ]


def is_demo_complete() -> bool:
    """Both studies are there and open; what is left is only to make sure of the accounts."""
    return Study.objects.filter(slug__in=SLUGS).exclude(state=Study.State.DRAFT).count() == len(SLUGS)


def import_demo(demo: DemoStudy) -> None:
    """Create, import and start one demo study, with its review queue; take up where an interrupted run stopped."""
    study = Study.objects.filter(slug=demo.slug).first()
    if study is None:
        new = options.NewStudy(demo.slug, demo.title, demo.format, overlap=3)
        job = import_jobs.start(None, demo.source, format=demo.format, actor=None, overlap=3, new_study=new)
        jobs.run_inline(job)
        if job.state != Job.State.DONE:
            raise jobs.JobFailed(f"The demo could not be imported: {job.message}", report=job.report)
        study = Study.objects.get(slug=demo.slug)
    with transaction.atomic():
        Rater.objects.filter(study=study, origin=Rater.Origin.IMPORTED).update(origin=Rater.Origin.SIMULATED)
        studies.change_study(study, actor=None, description=demo.description)
        settings.change_review_settings(study, actor=None, flags=demo.flags)
        study.refresh_from_db()
        if study.state == Study.State.DRAFT:
            studies.set_study_state(study, Study.State.RUNNING, actor=None)
    flagging.apply_rules(study, actor=None)  # experts find something to do before the first sweep


@transaction.atomic
def add_accounts() -> None:
    """One account per role, member of every demo study."""
    for role in demo.DEMO_ROLES:
        email = demo.demo_email(role)
        user = User.objects.filter(email=email).first()
        if user is None:
            manages = role in (Role.RESEARCHER, Role.ADMIN)
            user = User.objects.create_user(
                email, demo.DEMO_PASSWORD, name=f"Demo {role}", may_create_studies=manages,
                is_staff=role == Role.ADMIN, is_superuser=role == Role.ADMIN,
            )  # fmt: skip
        for study in Study.objects.filter(slug__in=SLUGS):
            members.add_member(study, user, role=role, actor=None)
