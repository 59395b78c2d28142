"""The door to single things that a study holds."""

from __future__ import annotations

from annotation.access import managed_study
from annotation.errors import NotFound
from annotation.models import Item, User, Webhook, WebhookDelivery


def item_of(user: User, slug: str, item_id: int) -> Item:
    """An item of a study that this account runs."""
    study = managed_study(user, slug)
    item = Item.objects.filter(study=study, pk=item_id).first()
    if item is None:
        raise NotFound
    return item


def webhook_of(user: User, slug: str, webhook_id: int) -> Webhook:
    """A webhook of a study that this account runs."""
    study = managed_study(user, slug)
    webhook = Webhook.objects.select_related("study").filter(study=study, pk=webhook_id).first()
    if webhook is None:
        raise NotFound
    return webhook


def delivery_of(user: User, slug: str, webhook_id: int, delivery_id: int) -> WebhookDelivery:
    """What was sent to a webhook of a study that this account runs."""
    webhook = webhook_of(user, slug, webhook_id)
    delivery = WebhookDelivery.objects.filter(webhook=webhook, pk=delivery_id).first()
    if delivery is None:
        raise NotFound
    delivery.webhook = webhook
    return delivery
