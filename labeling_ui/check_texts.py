"""What the page of listening checks says from JavaScript, handed to it translated."""

from __future__ import annotations

from django.utils.translation import gettext as _


def texts() -> dict[str, str]:
    return _running() | _results() | _level() | _left_right() | _antiphase() | _huggins()


def _running() -> dict[str, str]:
    return {
        "check.progress": _("{number} of {of}"),
        "check.failed_to_play": _(
            "The sound could not be loaded. Check your connection and press Play again."
        ),
        "check.unreachable": _("The server cannot be reached. Check your connection."),
        "check.failed": _("The server has a problem. Try again in a moment."),
        "check.signed_out": _("You are signed out. Sign in again, then come back to this page."),
        "check.checks_exhausted": _("You have tried this check too often; try again tomorrow."),
        "check.out_of_turn": _("This check went on in another window. Reload this page."),
        "check.not_found": _("This check is over. Reload this page."),
    }


def _results() -> dict[str, str]:
    return {
        "check.count": _("{right} of {of} right."),
        "check.next": _("Next check"),
        "check.try_again": _("Try again"),
        "check.not_passed": _("That was not quite it"),
        "check.not_passed.recorded": _("The result is noted, and you can go on with the work."),
        "check.tries_left": _("Tries left today: {left}."),
        "check.exhausted": _(
            "That was the last try for now. You can try again from {time}. If you have no other headphones, tell the "
            "researcher who invited you."
        ),
    }


def _level() -> dict[str, str]:
    return {
        "check.level.title": _("Set the volume"),
        "check.level.how": _(
            "Put your headphones on and play the noise. Set the volume of your device so that it is comfortable: as "
            "loud as you would like music that you listen to closely."
        ),
        "check.level.ask": _("Is the volume comfortable?"),
        "check.level.play": _("Play the noise"),
        "check.level.again": _("Play the noise"),
        "check.level.stop": _("Stop the noise"),
        "check.level.choice.0": _("The volume is comfortable"),
        "check.level.passed": _("The volume is set"),
        "check.level.keep": _(
            "Please leave the volume of your device as it is from now on. What you will judge is as loud as this."
        ),
        "check.level.help": "",
    }


def _left_right() -> dict[str, str]:
    return {
        "check.left_right.title": _("Left and right"),
        "check.left_right.how": _(
            "A short note sounds in one ear. Say in which. If it is always the other one, your headphones are the "
            "wrong way round."
        ),
        "check.left_right.ask": _("In which ear was the note?"),
        "check.left_right.play": _("Play the note"),
        "check.left_right.again": _("Play it again"),
        "check.left_right.stop": _("Stop"),
        "check.left_right.choice.0": _("Left"),
        "check.left_right.choice.1": _("Right"),
        "check.left_right.passed": _("Left and right are where they belong"),
        "check.left_right.help": _(
            "Check that your headphones sit the right way round, and that “mono audio” is off in your device's "
            "settings."
        ),
    }


def _antiphase() -> dict[str, str]:
    return {
        "check.antiphase.title": _("The quietest tone"),
        "check.antiphase.how": _(
            "You hear three tones, one after another. One of them is quieter than the others. This is easy with "
            "headphones and hard with loudspeakers."
        ),
        "check.antiphase.ask": _("Which tone was the quietest?"),
        "check.antiphase.play": _("Play the tones"),
        "check.antiphase.again": _("Play them again"),
        "check.antiphase.stop": _("Stop"),
        **_ordinals("antiphase"),
        "check.antiphase.passed": _("Your headphones work"),
        "check.antiphase.help": _wear(),
    }


def _huggins() -> dict[str, str]:
    return {
        "check.huggins.title": _("The hidden tone"),
        "check.huggins.how": _(
            "You hear three noises, one after another. One of them hides a faint tone, which only headphones let "
            "through. Listen closely; the tone is soft but steady."
        ),
        "check.huggins.ask": _("Which noise hid the tone?"),
        "check.huggins.play": _("Play the noises"),
        "check.huggins.again": _("Play them again"),
        "check.huggins.stop": _("Stop"),
        **_ordinals("huggins"),
        "check.huggins.passed": _("Your headphones work"),
        "check.huggins.help": _wear(),
    }


def _ordinals(kind: str) -> dict[str, str]:
    words = (_("First"), _("Second"), _("Third"))
    return {f"check.{kind}.choice.{number}": word for number, word in enumerate(words)}


def _wear() -> str:
    return _(
        "Use headphones with both sides on your ears, in a quiet room. Switch off spatial sound, surround, noise "
        "cancelling and “mono audio” in your device's settings."
    )
