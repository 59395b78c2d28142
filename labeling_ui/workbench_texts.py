"""What the workbench says from JavaScript, handed to it translated. `{name}` is filled in by the browser."""

from __future__ import annotations

from django.utils.translation import gettext as _


def texts() -> dict[str, str]:
    return _parts() | _players() | _listening() | _answers() | _sending() | _unsaved() | _states()


def _parts() -> dict[str, str]:
    """Headings of what is shown, by the name of the item's field."""
    return {
        "content.prompt": _("Instruction"),
        "content.lyrics": _("Lyrics"),
        "content.reference_clip": _("Reference clip"),
        "content.question": _("Question"),
        "content.reference": _("Reference answer"),
        "content.rationale": _("Rationale"),
        "content.transcript": _("Transcript"),
        "content.clip": _("Recording"),
        "part.instruction": _("First, the instruction"),
        "part.about": _("What was asked"),
        "part.reference": _("First, the reference"),
        "part.pair": _("Then the two pieces"),
        "part.abx": _("A, B and X"),
        "part.clip": _("Then the clip"),
        "part.candidates": _("The candidates"),
        "part.answer": _("The answer to judge"),
        "part.note": _("An expert asks you to mind"),
        "part.candidate": _("Candidate {label}"),
        "part.show_all": _("Show all"),
        "part.progress": _("{done} of {tasks} done"),
        "hint.title": _("What a model expects"),
        "hint.side": _("{side} will be chosen, with a chance of {percent} %"),
        "hint.even": _("either may be chosen: it cannot tell"),
        "hint.rating": _("a rating of about {value}"),
        "hint.of": _("{candidate}: about {value}"),
        "hint.note": _(
            "A computer model guesses this, and it may be wrong. What counts is your own judgment."
        ),
    }


def _players() -> dict[str, str]:
    return {
        "player.play": _("Play {clip}"),
        "player.pause": _("Pause {clip}"),
        "player.position": _("Position in {clip}"),
        "player.time": _("{position} of {duration}"),
        "player.switch": _("Switch"),
        "player.loop": _("Loop"),
        "player.loop_begun": _("Loop begins at {from}: press again where it ends"),
        "player.loop_on": _("Repeating {from} to {to}"),
        "player.volume": _("Volume"),
        "player.mute": _("Mute"),
        "player.waiting": _("Loading…"),
        "player.ended": _("{clip} has ended, at {time}."),
        "player.failed": _(
            "This clip could not be loaded. Check your connection and try again; if it stays silent, "
            "skip the task and say so."
        ),
        "player.insecure": _(
            "This browser plays clips only over a secure connection: use the https address."
        ),
        "player.unsupported": _("This browser cannot play clips exactly enough. Please use a current one."),
        "player.stopped.locked": _("Read the instruction first; then the clips can be played."),
        "player.stopped.blocked": _("Your device holds the sound back. Press play once more."),
        "player.stopped.hidden": _(
            "Paused while this page was not in front. Press play to go on where you were."
        ),
        "player.stopped.interrupted": _(
            "Your device took the sound away, for a call perhaps. Press play to go on where you were."
        ),
        "player.stopped.device": _(
            "Paused: headphones or speakers were plugged in or out. Check them, then press play."
        ),
        "player.stopped.silent": _(
            "No sound came out any more, so the clip was paused. Press play to try again."
        ),
        "player.stopped.broken": _("The player failed. Reload the page: your answers stay."),
        "player.again": _("Try again"),
        "spectrogram.failed": _("The spectrogram could not be loaded. Hide it and show it again."),
    }


def _listening() -> dict[str, str]:
    """Hear before you vote, read before you hear, and rest in time."""
    return {
        "listen.meter": _("heard {heard} of {wanted} s"),
        "listen.meter_of": _("Heard of {clip}"),
        "listen.meter_done": _("heard enough"),
        "listen.enough_of": _("{clip}: heard enough."),
        "listen.enough": _("You have heard enough to decide."),
        "listen.left": _("Still to hear: {what}."),
        "listen.seconds_of": _("{seconds} s of {clip}"),
        "listen.switch_once": _("Switch between the pieces at least once."),
        "listen.switch_more": _("Switch between the pieces {count} more times."),
        "listen.refused": _("Please listen before you decide."),
        "hold.wait": _("Read the instruction first: the players open in {seconds} s."),
        "hold.over": _("The players are open."),
        "rest.title": _("Time for a break?"),
        "rest.why": _(
            "You have listened and judged for {minutes} minutes without a pause. Ears tire before we notice; "
            "a few minutes away from the sound help."
        ),
        "rest.take": _("Take a break"),
        "rest.later": _("In five minutes"),
        "rest.taken": _("Enjoy your break"),
        "rest.waits": _("Everything is stored. Come back when your ears are fresh."),
        "rest.back": _("Go on"),
        "rest.stop": _("That is enough listening for now"),
        "rest.until": _(
            "You have worked for {minutes} minutes without a pause, and tired ears judge differently. "
            "Everything is stored; there are more tasks from {time}."
        ),
        "rest.over": _("You can go on now."),
    }


def _answers() -> dict[str, str]:
    return {
        "answer.tie": _("Tie"),
        "answer.both_bad": _("Both bad"),
        "answer.optional": _("optional"),
        "answer.clear": _("Clear"),
        "answer.codes": _("Anything to report?"),
        "answer.comment": _("Comment"),
        "answer.glossary": _("Words that help"),
        "answer.insert_time": _("Insert the time {time}"),
        "answer.characters": _("{used} of {most} characters"),
        "answer.not_given": _("not rated yet"),
        "answer.as_number": _("As a number: {question}"),
        "answer.between": _("A number from {least} to {most}"),
        "missing.choice": _("Choose one."),
        "missing.value": _("Give a rating."),
        "missing.value_or_code": _("Give a rating, or say why not with code {codes}."),
        "missing.confidence": _("Say how sure you are."),
        "missing.text": _("Write at least one sentence."),
        "missing.number": _("Give a number from {least} to {most}."),
        "missing.summary": _("Still missing: {count}. You are at the first."),
    }


def _sending() -> dict[str, str]:
    """While a vote travels, and when it does not arrive. Keys after `refused.` are the API's stable codes."""
    return {
        "sending.now": _("Sending…"),
        "sending.surplus": _("Saved as an extra answer: others had completed this task meanwhile."),
        "sending.unreachable": _(
            "The server cannot be reached. Your answer is kept here and sent again by itself."
        ),
        "sending.failed": _(
            "The server could not save this: {detail} Your answer is kept here and sent again by itself."
        ),
        "sending.signed_out": _(
            "You are signed out. Your answer is kept here: sign in again, then come back to this page."
        ),
        "sending.other_account": _(
            "Another account has signed in on this browser. Your answer is kept here: it goes once you sign in again."
        ),
        "sending.redirected": _(
            "Something between you and the server asks for a sign-in. "
            "Your answer is kept here and sent again by itself."
        ),
        "sending.sign_in": _("Sign in (opens a new tab)"),
        "sending.again": _("Send now"),
        "sending.edit": _("Change my answer"),
        "sending.next": _("Go on to the next task"),
        "sending.retry_in": _("Next try in {seconds} s."),
        "refused.already_submitted": _(
            "You have already answered this task, perhaps in another window. The first answer stands."
        ),
        "refused.client_id_reused": _("Your first answer to this task had already arrived, and it stands."),
        "refused.skipped": _("You skipped this task, so it cannot be answered any more."),
        "refused.not_found": _("This task is not yours any more."),
        "refused.invalid": _(
            "The server did not accept this answer. Your answer is kept; see the marked questions."
        ),
        "refused.elsewhere": _("You have just answered this task in another window. That answer stands."),
        "refused.window_closed": _("The time to change this answer is over. It stands as it was."),
        "refused.not_changeable": _("This answer cannot be changed any more. It stands as it was."),
        "refused.closed": _("This task is not open any more."),
        "refused.other": _("The server refused: {detail}"),
        "lease.over": _(
            "The time for this task has run out. You can still send your answer; it may count as an extra one."
        ),
    }


def _unsaved() -> dict[str, str]:
    """Votes that are not with the server yet, and those that are and may still be changed."""
    return {
        "unsaved.count": _("{count} unsaved"),
        "unsaved.others_count": _("{count} unsaved of another account"),
        "unsaved.judgment": _("Answer of {time}:"),
        "unsaved.revision": _("Changed answer of {time}:"),
        "unsaved.review": _("Blind judgment of {time}:"),
        "unsaved.understood": _("Understood"),
        "unsaved.none": _("Everything of yours is saved."),
        "unsaved.others": _(
            "{count} more were given under another account on this browser. They go once that account signs in here."
        ),
        "change.banner": _("You are changing your answer."),
        "change.saved": _("Your change is saved. Here is the task you were at."),
        "change.none": _("There is no answer here that can still be changed."),
        "change.failed": _("Your earlier answer could not be fetched: {detail}"),
    }


def _states() -> dict[str, str]:
    return {
        "state.study_not_running": _("This study is not open for rating at the moment. Come back later."),
        "state.rater_paused": _("Your work in this study is paused. Ask the researcher who invited you."),
        "state.unreachable": _("The server cannot be reached. Check your connection."),
        "state.failed": _("The server has a problem: {detail}"),
        "state.signed_out": _("You are signed out."),
        "state.redirected": _("Something between you and the server asks for a sign-in."),
        "state.other_account": _("Another account has signed in on this browser. Sign in again with yours."),
        "stop.failed": _(
            "The task could not be given back; it returns to the others by itself in a few minutes."
        ),
        "stop.leave": _("Leave anyway"),
        "skip.choose": _("Choose a reason."),
        "say.task": _("Next task. {progress}"),
        "say.end": _("There is nothing more to judge for now."),
    }
