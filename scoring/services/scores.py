"""Reading what scorers said. For those who run the study."""

from __future__ import annotations

from typing import Any

from django.db.models import F, QuerySet

from annotation.models import Study
from scoring.models import Score

_DIGEST_LENGTH = 64


def of(study: Study, *, scorer: str = "") -> QuerySet[Any]:
    """A study's scores, with the names of what they are about; of one scorer, by name or by a version's digest."""
    found = Score.objects.filter(candidate__item_version__item__study=study)
    if scorer:
        found = found.filter(**{"scorer__digest" if len(scorer) == _DIGEST_LENGTH else "scorer__key": scorer})
    return found.annotate(
        key=F("scorer__key"),
        digest=F("scorer__digest"),
        item=F("candidate__item_version__item__external_id"),
        version_number=F("candidate__item_version__number"),
        system=F("candidate__system__name"),
        take=F("candidate__take"),
        other_system=F("other__system__name"),
        other_take=F("other__take"),
    )
