"""What a service refused, shown beside the fields of the form that asked for it."""

from __future__ import annotations

from django import forms

from annotation.errors import DomainError
from labeling_ui.sentences import said


def add_problems(form: forms.Form, error: DomainError, *, field: str | None = None) -> None:
    """Each problem at its field; the sentence itself at `field`, or above the form."""
    if not error.problems:
        form.add_error(field, said(error))
    for problem in error.problems:
        text = f"{problem.message} {problem.remedy}".strip()
        form.add_error(problem.field if problem.field in form.fields else field, text)
