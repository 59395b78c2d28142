"""A study at work, and releases of it made without a job."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from analytics.datasets import snapshot, table_files
from analytics.datasets.snapshot import ReleaseOptions, StudySnapshot
from annotation.jobs import jobs
from annotation.listening import checks
from annotation.models import CaseEvent, Judgment, Rater, Study, Task, User
from annotation.raters import withdrawal
from annotation.rating import exclusions, judgments, leases, revisions
from annotation.review import adjudication
from annotation.studies import studies
from tests import factories
from tests.annotation.importing.answers import rating
from tests.annotation.importing.desk import corrections, judged, withdraw

DAY = date(2026, 4, 1)


@dataclass
class Working:
    """Ratings of six items by three raters, an expert at hand."""

    study: Study
    users: list[User]
    expert: User
    tasks: list[Task]

    def rate(self, user: User, value: float = 4) -> Judgment:
        _, lease = leases.lease_next(user, self.study.slug)
        judgments.submit(user, lease.id, rating(value))
        return Judgment.objects.get(assignment_id=lease.id)

    def rater(self, user: User) -> Rater:
        return Rater.objects.get(study=self.study, user=user)

    def correct(self, task: Task) -> Any:
        case = judged(self.expert, task)
        CaseEvent.objects.create(case=case, kind="opened", data={"rule": "codes"})
        adjudication.correct_item(self.expert, case.pk, corrections(case))
        return case

    def withdraw(self, user: User, mode: str = "removed") -> None:
        _, job = withdrawal.withdraw(self.rater(user), mode=mode, actor=None)
        jobs.run(job.pk)

    def go_on(self) -> None:
        """One of everything that can become of a study."""
        first, second, third = self.users
        last = self.rate(second, 2)
        revisions.revise(second, last.assignment_id, rating(5, client_id=uuid.uuid4()))
        self.mark("exclude", self.of(third))
        self.mark("restore", Judgment.objects.filter(excluded=True))
        case = self.correct(self.tasks[2])
        adjudication.undo_decision(self.expert, case.pk)
        self.correct(self.tasks[1])
        withdraw(self.tasks[4].item_version.item)
        checks.set_check_rules(self.study, actor=None, require=["level"])
        check = checks.start_check(second, self.study.slug, kind="level")
        checks.answer_trial(second, check.pk, trial=0, choice=0)
        self.withdraw(first)
        studies.set_study_state(self.study, "paused", actor=None)
        Study.objects.filter(pk=self.study.pk).update(title="Another", description="Other", overlap=9)

    def of(self, user: User) -> Any:
        return Judgment.objects.filter(rater__user=user)

    def mark(self, action: str, chosen: Any) -> None:
        exclusions.exclude_or_restore(chosen, study=self.study, action=action, reason="careless", actor=None)


def working() -> Working:
    study = factories.StudyFactory(
        # Every rater begins with items 0 and 1.
        overlap=3,
        slug="duel",
        title='A "duel"',
        order="listed",
        seed=7,
        rules={"listening": {"change_minutes": 60}},
    )
    tasks = [factories.rating_task(study, f"item {n}", question=f'Say "{n}"\n\\ and é') for n in range(6)]
    users = [factories.member(study) for _ in range(3)]
    world = Working(study, users, factories.member(study, "expert"), tasks)
    for user in users:
        world.rate(user)
        world.rate(user, 2)
    world.mark("exclude", world.of(users[1]).filter(answers__value=2))
    world.correct(tasks[0])
    return world


def cut_of(study: Study, *, number: int = 1, **wishes: Any) -> StudySnapshot:
    drawn, then = snapshot.draw_snapshot(study)
    return snapshot.study_snapshot(then, drawn, number=number, wishes=ReleaseOptions(**wishes), today=DAY)


def release(study: Study, out: Path, *, number: int = 1, **wishes: Any) -> dict[str, Any]:
    return table_files.write_release(cut_of(study, number=number, **wishes), study, out=out)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below the folder by its path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def rows(out: Path, config: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(
        out / "data" / config / "train-00000-of-00001.parquet"
    ).to_pylist()
    return rows
