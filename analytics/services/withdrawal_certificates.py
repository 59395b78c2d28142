"""What a person who was taken out of a study gets in writing."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from django.db.models import Min
from django.utils import timezone

from analytics.models import Release
from analytics.records.plain import utc
from analytics.services.releases import KIND as RELEASE
from annotation.errors import Conflict, NotFound
from annotation.models import Answer, Job, Judgment, ListeningCheck, Rater, RaterWithdrawal
from annotation.services import rater_withdrawals

SCHEMA = 2


def certificate(rater: Rater) -> dict[str, Any]:
    """The same whenever it is asked for: nothing that it tells of can change any more, and `sha256` is of all the rest,
    as JSON with sorted keys and no blanks. Raises NotFound while the rater takes part, Conflict while the work that
    follows from their wish is not done."""
    withdrawal = RaterWithdrawal.objects.select_related("rater__study").filter(rater=rater).first()
    if withdrawal is None:
        raise NotFound
    if not is_complete(rater):
        raise Conflict(
            "What this rater said is still being taken out; the certificate is there once it is done.",
            code="not_ready",
        )
    told = {
        "schema": SCHEMA,
        "study": withdrawal.rater.study.slug,
        "rater": withdrawal.rater.pseudonym,
        "mode": withdrawal.mode,
        "in_force_since": utc(withdrawal.withdrawn_at),
        "note": withdrawal.note,
        "left_the_figures": {
            "judgments": Judgment.objects.filter(rater=rater).count(),
            "answers": Answer.objects.filter(judgment__rater=rater).count(),
            "listening_checks": ListeningCheck.objects.filter(rater=rater, finished_at__isnull=False).count(),
        },
        "releases_before": _releases_before(withdrawal),
        "exports_and_training_sets_before": "not given out any more",
    }
    text = json.dumps(told, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return {**told, "sha256": hashlib.sha256(text.encode()).hexdigest()}


def is_complete(rater: Rater) -> bool:
    """Whether the work that follows from the wish is done: nothing that they said stands, and no release is being
    written that was cut before it."""
    return not (rater_withdrawals.unfinished().filter(rater=rater).exists() or _release_under_way(rater))


def _release_under_way(rater: Rater) -> bool:
    """Whether a release that is still being made may hold the rater. The work of the wish is done by a job that begins
    once the wish is committed: a release begun after that one was cut after it."""
    own = Job.objects.filter(kind=rater_withdrawals.KIND, study=rater.study_id, params={"rater": rater.pk})
    begun = own.aggregate(first=Min("started_at"))["first"] or timezone.now()
    unfinished = Job.objects.filter(kind=RELEASE, study=rater.study_id, state__in=Job.UNFINISHED)
    return unfinished.filter(started_at__lte=begun).exists()


def _releases_before(withdrawal: RaterWithdrawal) -> list[dict[str, Any]]:
    """The releases that were cut before, which hold what the rater said and are superseded by that."""
    releases = Release.objects.filter(
        study=withdrawal.rater.study_id, manifest__cut__horizon__rater_withdrawals__lt=withdrawal.pk
    )
    return [
        {"release": number, "sha256": sha256, "superseded": True}
        for number, sha256 in releases.order_by("number").values_list("number", "sha256")
    ]
