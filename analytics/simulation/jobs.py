"""A simulation as a background job: the copy, the raters' work, and what the rules found."""

from __future__ import annotations

from typing import Any

from analytics.raters.rules import PRESETS
from analytics.simulation import findings, study_rules
from annotation.errors import InvalidInput
from annotation.jobs import jobs
from annotation.jobs.jobs import JobFailed, RunningJob
from annotation.models import Job, Study, User
from annotation.simulation import simulations
from annotation.simulation.profiles import DEFAULT_MIX
from annotation.simulation.simulations import SimulationOptions

SIMULATION_JOB = "simulation"


def start_simulation(
    study: Study,
    *,
    actor: User,
    profile: str = DEFAULT_MIX,
    raters: int | None = None,
    rules: str = "",
    **options: Any,
) -> Job:
    """The simulation that is under way, or a new one. `rules`: a preset that is in force on the copy, in place of the
    study's own rules. Raises InvalidInput with the fields at fault."""
    if rules and rules not in PRESETS:
        raise InvalidInput.of_field("rules", f"Give one of {', '.join(PRESETS)}, or nothing.")
    simulations.check_can_be_simulated(study)
    chosen = SimulationOptions.read(profile, raters=raters, **options)
    params = {**chosen.as_json(), "rules": rules}
    return jobs.enqueue_once(SIMULATION_JOB, study=study, params=params, actor=actor, any_params=True)


def run_simulation(running: RunningJob) -> dict[str, Any]:
    """The job's work; what it returns is the job's report. Started over, it goes on with the copy that it made."""
    source, params = running.job.study, dict(running.job.params)
    if source is None:
        raise JobFailed("This study is not here any more.")
    rules, slug = params.pop("rules"), f"{source.slug[:60]}-simulation-{running.job.pk.hex[:6]}"
    copy = Study.objects.filter(slug=slug).first()
    if copy is None:
        copy = simulations.copy_for_simulation(
            source, SimulationOptions(**params), actor=running.job.created_by, slug=slug
        )
        if rules:
            study_rules.put_in_force(copy, rules)
    study = copy
    done = simulations.run(study, progress=running.progress, apply_rules=lambda: study_rules.apply(study))
    return findings.findings_of(done.study, done.records).as_json()
