"""A study made of a released file by the product's own import."""

from __future__ import annotations

from pathlib import Path

from annotation.importing import import_jobs, options
from annotation.importing.formats import FORMATS
from annotation.jobs import jobs
from annotation.models import Job, Study


def imported(source: Path, *, format: str) -> Study:
    """As finished data, by the preset that the format brings with it."""
    new = options.NewStudy(f"{format}-reference", source.name, FORMATS[format].protocol)
    job = import_jobs.start(None, source, format=format, actor=None, archive=True, new_study=new)
    jobs.run(job.pk)
    job = Job.objects.get(pk=job.pk)
    assert job.state == Job.State.DONE, (job.message, job.report)
    return Study.objects.get(slug=new.slug)
