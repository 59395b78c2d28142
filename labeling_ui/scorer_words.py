"""Scorers' settings in words. An option that is not listed goes by its own name."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

LABELS: dict[str, Promise] = {
    "backbone": _("Model"),
    "checkpoint": _("Checkpoint"),
    "template": _("Question templates"),
    "answers": _("Spellings of the answers"),
    "task": _("Task"),
    "judge": _("Judge"),
    "dtype": _("Precision"),
    "prompts": _("Prompts"),
    "long_sounds": _("Long sounds"),
}


def label_of(option: str) -> Promise | str:
    return LABELS.get(option, option.replace("_", " ").capitalize())
