"""Lookups of management commands: a study by its slug."""

from __future__ import annotations

from django.core.management.base import CommandError

from annotation.models import Study


def study_by_slug(slug: str) -> Study:
    """Raises CommandError where there is none."""
    study = Study.objects.filter(slug=slug).first()
    if study is None:
        raise CommandError(f"There is no study with the address {slug!r}.")
    return study
