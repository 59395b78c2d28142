"""Notices to raters about their work: warnings, pauses and exclusions, in plain words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from annotation.models import RaterNotice

NOTICES: Mapping[str, tuple[Promise, Promise]] = {
    RaterNotice.Kind.WARN: (
        gettext_lazy("Please take care with your answers"),
        gettext_lazy(
            "Some of your recent work does not look as careful as this study needs. Listen to each clip before you "
            "answer, and read the guidelines again if you are unsure. You can go on."
        ),
    ),
    RaterNotice.Kind.TRAINING: (
        gettext_lazy("Please do the training again"),
        gettext_lazy("Before your next task comes a short training. After that you go on as before."),
    ),
    RaterNotice.Kind.PAUSE: (
        gettext_lazy("Your work here is paused"),
        gettext_lazy(
            "You get no new tasks for now, while the people who run this study look at your work. Finish the task that "
            "is open; your answers are kept. Write to them if you think this is a mistake."
        ),
    ),
    RaterNotice.Kind.EXCLUDE: (
        gettext_lazy("Your work here has ended"),
        gettext_lazy(
            "You get no more tasks in this study. Thank you for your time. Write to the people who run this study if "
            "you think this is a mistake: it can be taken back."
        ),
    ),
    RaterNotice.Kind.REINSTATED: (
        gettext_lazy("You can go on"),
        gettext_lazy(
            "The people who run this study have looked at your work again. You get tasks as before."
        ),
    ),
}


@dataclass(frozen=True)
class ShownNotice:
    title: Promise
    sentence: Promise
    text: str
    warns: bool


def shown_notices(notices: Iterable[RaterNotice]) -> list[ShownNotice]:
    return [
        ShownNotice(*NOTICES[one.kind], one.text, one.kind != RaterNotice.Kind.REINSTATED) for one in notices
    ]
