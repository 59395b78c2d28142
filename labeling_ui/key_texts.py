"""What the list of keys says: every action of static/js/keys/key_map.js by its name, and how to give it another key."""

from __future__ import annotations

from django.utils.translation import gettext as _


def texts() -> dict[str, str]:
    return _actions() | _answers() | _changing()


def _actions() -> dict[str, str]:
    return {
        "key.space": _("Space"),
        "key.play": _("Play or pause"),
        "key.switch": _("Switch to the other piece, keeping the place"),
        "key.reference": _("Play the reference clip"),
        "key.back5": _("Five seconds back"),
        "key.on5": _("Five seconds on"),
        "key.restart": _("Back to the start of the clip"),
        "key.loop_start": _("Repeat from here"),
        "key.loop_end": _("Repeat up to here"),
        "key.loop_clear": _("Stop repeating"),
        "key.louder": _("Louder"),
        "key.quieter": _("Quieter"),
        "key.mute": _("Sound off or on"),
        "key.spectrogram": _("Show or hide the spectrograms"),
        "key.next_question": _("To the next question"),
        "key.previous_question": _("To the question before"),
        "key.leave_text": _("Leave a text, so that these keys work again"),
        "key.submit": _("Submit"),
        "key.undo": _("Change the answer before"),
        "key.skip": _("Skip the task"),
        "key.help": _("This list"),
    }


def _answers() -> dict[str, str]:
    return {
        "keys.choose": _("Choose, in the marked question"),
        "keys.verdict": _("Correct or not, in the marked question"),
        "keys.point": _("The point of the scale, in the marked question"),
        "keys.ten": _("Point 10 of the scale"),
        "keys.codes": _("Codes on or off"),
        "keys.candidate": _(
            "Play the piece of that number, 0 the reference; without Alt where no scale is marked"
        ),
    }


def _changing() -> dict[str, str]:
    return {
        "keys.change": _("Change"),
        "keys.change_of": _("Change the key for: {action}"),
        "keys.press": _("Press a key"),
        "keys.press_for": _("Press the new key for: {action}. Esc leaves it as it is."),
        "keys.none": _("none here"),
        "keys.changed": _("{action}: the key is now {key}."),
        "keys.taken": _("That key is already used for: {action}. Press another one."),
        "keys.reserved": _("That key gives an answer in this study. Press another one."),
        "keys.unusable": _("That key cannot be used. Press a letter, a sign, Space or Enter."),
        "keys.reset_done": _("All keys are as they were at first."),
    }
