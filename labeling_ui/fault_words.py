"""Why something has no score, in plain words: what each fault of a scoring run means, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from scoring.services.faults import FaultCount


@dataclass(frozen=True)
class FaultLine:
    count: FaultCount
    meaning: Promise
    remedy: Promise


# Code, what it means, what to do.
FAULTS: dict[str, tuple[Promise, Promise]] = {
    "undecodable": (
        _("The sound file is damaged or of an unknown format."),
        _("Replace the file and import the item again, then retry."),
    ),
    "missing": (
        _("The sound file is not where it was."),
        _("Bring the file back into the media storage, then retry."),
    ),
    "too_long": (
        _("The text is longer than the model can read."),
        _("Shorten the text, or choose a scorer that reads more."),
    ),
    "too_long_sound": (
        _("The sound is longer than the model can hear."),
        _("Cut the clip, or choose a scorer that hears more."),
    ),
    "no_sound": (
        _("There is no sound to hear."),
        _("This scorer needs a clip: limit the run to items that have one."),
    ),
    "no_text": (
        _("There is no text to compare the sound with."),
        _("This scorer needs a text: limit the run to items that have one."),
    ),
    "unknown_token": (
        _("The text becomes a token that the model has no weights for."),
        _("Write it otherwise, without what a picture or the like is written as, and import the item again."),
    ),
    "control_token": (
        _("The text holds a word that steers the model instead of being read by it."),
        _("Take it out of the text and import the item again; a new run then scores it."),
    ),
    "not_finite": (
        _("The model gave a value that is no number."),
        _("Half precision overflows: score again with bfloat16 or float32."),
    ),
    "out_of_memory": (
        _("Even alone it does not fit into the device’s memory."),
        _("Shorten the sound, or run the worker on a larger device, then retry."),
    ),
    "unparsable": (
        _("The model’s answer is not one of those it was asked for. Nothing is guessed."),
        _("Read some of the answers; other prompts or another backbone may do better."),
    ),
    "server_refused": (
        _("The model’s server refused the request."),
        _("Read what it said; its log says more. Then retry."),
    ),
    "server_unreachable": (
        _("The model’s server did not answer."),
        _("See that it runs and that the worker can reach its address, then retry."),
    ),
    "no_logprobs": (
        _("The model’s server gives no log-probabilities."),
        _("Start it so that it returns them, or use a local checkpoint."),
    ),
    "worker_died": (
        _("The worker died at it again and again."),
        _("The worker’s log says why; often it is memory. Then retry."),
    ),
    "no_answer": (
        _("The scorer returned nothing for it."),
        _("This is a fault of the scorer: tell whoever looks after it."),
    ),
    "empty": (
        _("The model wrote nothing."),
        _("Where nobody speaks a transcript may well be empty; otherwise try another prompt or model."),
    ),
    "not_wanted": (
        _("Its case was settled before the draft was written."),
        _("Nothing is to be done."),
    ),
    "unforeseen": (
        _("Something nobody foresaw."),
        _("The reason beside each row and the worker’s log say more."),
    ),
}


def fault_lines(counts: list[FaultCount]) -> list[FaultLine]:
    """A fault that is not listed here goes by what is said of unforeseen ones."""
    return [FaultLine(count, *FAULTS.get(count.code, FAULTS["unforeseen"])) for count in counts]
