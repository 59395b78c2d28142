"""A study with one task and the expert who reviews it; what a call refuses, and what was written down of a case."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from annotation.errors import Conflict, InvalidInput
from annotation.models import CaseEvent, ReviewCase, Study, Task, User
from tests import factories


@pytest.fixture
def study() -> Study:
    return factories.StudyFactory(overlap=2)


@pytest.fixture
def task(study: Study) -> Task:
    return factories.rating_task(study, "a")


@pytest.fixture
def expert(study: Study) -> User:
    return factories.member(study, "expert", name="Ada", email="ada@example.org")


@pytest.fixture
def user(study: Study) -> User:
    return factories.member(study)


def code_of(call: Callable[..., Any], *arguments: Any, **named: Any) -> str:
    """The code of the conflict that a call raises."""
    with pytest.raises(Conflict) as conflict:
        call(*arguments, **named)
    return conflict.value.code


def problems_of(call: Callable[..., Any], *arguments: Any, **named: Any) -> dict[str, str]:
    """The problems that a call refuses its input for, by field."""
    with pytest.raises(InvalidInput) as refused:
        call(*arguments, **named)
    return {problem.field: problem.message for problem in refused.value.problems}


def kinds(case: ReviewCase) -> list[str]:
    return list(CaseEvent.objects.filter(case=case).order_by("pk").values_list("kind", flat=True))


def run_out(case: ReviewCase) -> None:
    """The claim of a case runs out."""
    ReviewCase.objects.filter(pk=case.pk).update(claim_expires_at=timezone.now() - timedelta(seconds=1))
