"""Celery tasks of e-mail. Each calls one service and is safe to run twice."""

from __future__ import annotations

from celery import shared_task

from annotation.mail import delivery


@shared_task(name="annotation.tasks.send_mail", expires=60)  # type: ignore[untyped-decorator]
def send_mail() -> None:
    delivery.send_due()
