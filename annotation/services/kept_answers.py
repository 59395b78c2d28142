"""Writes that may be repeated: the answer to the first is kept for a day, and no two of the same key run at once."""

from __future__ import annotations

import hashlib
from datetime import timedelta

from django.db import connection
from django.utils import timezone

from annotation.models import KeptAnswer, User

KEPT = timedelta(hours=24)
_BATCH = 10_000


def name_of(key: str, *, token_id: int | None) -> str:
    """What the answers to one key of one token (None: of the account's browser) are kept under."""
    return hashlib.sha256(f"{token_id}:{key}".encode(errors="surrogatepass")).hexdigest()


def take_turn(user: User, name: str) -> bool:
    """Be the one request with this key until the transaction ends; False while another is. Never waits."""
    lock = int.from_bytes(hashlib.sha256(f"{user.pk}:{name}".encode()).digest()[:8], signed=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [lock])
        return bool(cursor.fetchone()[0])


def find(user: User, name: str) -> KeptAnswer | None:
    """What was answered to this key within a day. Whoever looks has its turn."""
    return KeptAnswer.objects.filter(user=user, name=name, created_at__gt=timezone.now() - KEPT).first()


def keep(user: User, name: str, *, request_sha256: str, status: int, body: str | None) -> None:
    """Store an answer, in the transaction of the work that it tells of; in the place of one that has had its day."""
    KeptAnswer.objects.update_or_create(
        user=user,
        name=name,
        defaults={
            "request_sha256": request_sha256,
            "status": status,
            "body": body,
            "created_at": timezone.now(),
        },
    )


def forget_old() -> int:
    """Delete what has had its day, some of it at a time. Returns how many. For beat."""
    old = KeptAnswer.objects.filter(created_at__lte=timezone.now() - KEPT).values("pk")[:_BATCH]
    return KeptAnswer.objects.filter(pk__in=old).delete()[0]
