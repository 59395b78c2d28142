"""Studies to score: items with a prompt and clips, without files behind them."""

from __future__ import annotations

from typing import Any

from annotation.models import Candidate, Item, ItemVersion, Study, System
from scoring.models import Score, ScoringRow, ScoringRun
from scoring.runs import scoring_runs, worker
from tests import factories


def study_of(texts: list[str], *, seconds: float = 10.0) -> Study:
    """A study with one clip for each prompt, by `system-1`."""
    study = factories.StudyFactory(preset="cmi-pref")
    for number, text in enumerate(texts):
        add(study, f"item-{number}", text, seconds=seconds)
    return study


def add(
    study: Study, name: str, prompt: str, *, system: str = "system-1", seconds: float = 10.0, **item: Any
) -> Candidate:
    row, _ = Item.objects.get_or_create(study=study, external_id=name, defaults=item)
    if row.current_version is None:
        row.current_version = ItemVersion.objects.create(item=row, prompt=prompt, content_sha256="0" * 64)
        row.save(update_fields=["current_version"])
    made, _ = System.objects.get_or_create(study=study, name=system)
    clip = factories.clip(f"{study.slug}-{name}-{system}", seconds=seconds)
    return Candidate.objects.create(item_version=row.current_version, system=made, clip=clip)


def run_over(
    study: Study, scorer: str = "word-count", options: dict[str, Any] | None = None, **part: Any
) -> ScoringRun:
    """A run that was requested, and waits."""
    return scoring_runs.request(study, scorer, options or {}, actor=None, **part)


def worked(run: ScoringRun) -> ScoringRun:
    """The same run after a worker was at it."""
    worker.work_on_run(run.pk)
    run.refresh_from_db()
    return run


def values(run: ScoringRun) -> dict[str, float]:
    """The scores of a run's scorer by prompt."""
    scores = Score.objects.filter(scorer=run.scorer, candidate__item_version__item__study=run.study)
    return {score.candidate.item_version.prompt: score.value for score in scores}


def check_books(run: ScoringRun) -> None:
    """What holds of every run that has ended: all rows settled, each with scores or a reason, and true counters."""
    run.refresh_from_db()
    rows = list(run.rows.all())
    done = [row for row in rows if row.state == ScoringRow.State.DONE]
    failed = [row for row in rows if row.state == ScoringRow.State.FAILED]
    assert len(done) + len(failed) == len(rows)
    assert (run.n_rows, run.n_done, run.n_failed) == (len(rows), len(done), len(failed))
    assert all(row.fault and row.reason for row in failed)
    assert not any(row.claim for row in rows)
    scored = Score.objects.filter(scorer=run.scorer).values_list("candidate_id", flat=True)
    assert {row.candidate_id for row in done} <= set(scored)
    assert not {row.candidate_id for row in failed} & set(scored)
    assert len(scored) == len(set(scored))
