"""What the workbench says from JavaScript, handed to it translated. `{name}` is filled in by the browser."""

from __future__ import annotations

from django.utils.translation import gettext as _


def workbench_texts() -> dict[str, str]:
    return (
        _content_headings()
        | _player_texts()
        | _listening_gate_texts()
        | _answer_form_texts()
        | _delivery_texts()
        | _outbox_texts()
        | _workbench_state_texts()
    )


def _content_headings() -> dict[str, str]:
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


def _player_texts() -> dict[str, str]:
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


def _listening_gate_texts() -> dict[str, str]:
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


def _answer_form_texts() -> dict[str, str]:
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


def _delivery_texts() -> dict[str, str]:
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


def _outbox_texts() -> dict[str, str]:
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


def _workbench_state_texts() -> dict[str, str]:
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


# What the list of keys says: every action of static/js/keys/key_map.js by its name, and how to give it another
# key.


def keyboard_shortcut_texts() -> dict[str, str]:
    return _key_action_texts() | _answer_key_texts() | _key_change_texts()


def _key_action_texts() -> dict[str, str]:
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


def _answer_key_texts() -> dict[str, str]:
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


def _key_change_texts() -> dict[str, str]:
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


# What the page of listening checks says from JavaScript, handed to it translated.


def listening_check_texts() -> dict[str, str]:
    return (
        _check_progress_texts()
        | _check_result_texts()
        | _level_check_texts()
        | _left_right_check_texts()
        | _antiphase_check_texts()
        | _huggins_check_texts()
    )


def _check_progress_texts() -> dict[str, str]:
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


def _check_result_texts() -> dict[str, str]:
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


def _level_check_texts() -> dict[str, str]:
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


def _left_right_check_texts() -> dict[str, str]:
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


def _antiphase_check_texts() -> dict[str, str]:
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
        **_interval_choice_texts("antiphase"),
        "check.antiphase.passed": _("Your headphones work"),
        "check.antiphase.help": _headphone_advice(),
    }


def _huggins_check_texts() -> dict[str, str]:
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
        **_interval_choice_texts("huggins"),
        "check.huggins.passed": _("Your headphones work"),
        "check.huggins.help": _headphone_advice(),
    }


def _interval_choice_texts(kind: str) -> dict[str, str]:
    words = (_("First"), _("Second"), _("Third"))
    return {f"check.{kind}.choice.{number}": word for number, word in enumerate(words)}


def _headphone_advice() -> str:
    return _(
        "Use headphones with both sides on your ears, in a quiet room. Switch off spatial sound, surround, noise "
        "cancelling and “mono audio” in your device's settings."
    )


# What the review desk says from JavaScript, handed to it translated. `{name}` is filled in by the browser.


def blind_review_texts() -> dict[str, str]:
    """The first stage, in which nothing of the second may be known."""
    return {
        "blind.say": _("Judge this case yourself first."),
        "claim.over": _(
            "Your claim of this case has ended. Your answers are kept: reload the page to claim it again."
        ),
        "refused.claim_lost": _(
            "Your claim of this case has ended. Your answers are kept: reload the page to claim it again."
        ),
        "refused.claimed_by_other": _("Another expert has taken this case meanwhile."),
        "refused.resolved": _("This case has been decided meanwhile."),
    } | _undo_texts()


def review_desk_texts() -> dict[str, str]:
    return _desk_key_texts() | _desk_editor_texts() | _desk_conflict_texts() | _undo_texts()


def _undo_texts() -> dict[str, str]:
    """Of the decision before this case, in either stage."""
    return {
        "conflict.undo_over": _("This decision cannot be undone any more."),
        "desk.reload": _("Reload the page"),
        "desk.refused": _("The server refused: {detail}"),
        "desk.not_sent": _("Nothing was saved: {reason} What you typed is kept; try again."),
    }


def _desk_key_texts() -> dict[str, str]:
    return {
        "keys.field": _("To the field of that number"),
        "key.accept": _("Take the draft of the marked field"),
        "key.edit": _("Write in the marked field, beginning with its draft"),
        "key.reject": _("Reject the draft of the marked field"),
        "key.correct": _("Save the corrections"),
        "key.save": _("Save the corrections, also from within a text"),
        "key.fine": _("Fine as it is"),
        "key.withdraw": _("Withdraw the item"),
        "key.send_back": _("Return it to raters"),
        "key.put_back": _("Put it back and go to the next case"),
        "key.take_back": _("Undo the decision before"),
    }


def _desk_editor_texts() -> dict[str, str]:
    return {
        "diff.gone": _("gone:"),
        "diff.new": _("new:"),
        "desk.restored": _("What you had typed here is back."),
        "desk.taken": _("The draft is taken."),
        "desk.begun_as_draft": _("Begun as an AI draft."),
        "desk.no_draft": _("There is no draft here."),
        "desk.clip_failed": _("The clips could not be fetched: {detail}"),
        "desk.discard": _("You have typed corrections that are not saved. Throw them away?"),
        "desk.discard_them": _("Throw them away"),
    }


def _desk_conflict_texts() -> dict[str, str]:
    """Keys after `conflict.` are the API's stable codes."""
    return {
        "desk.nothing_changed": _(
            "Nothing is changed yet. If it is right as it stands, choose “Fine as it is”."
        ),
        "desk.no_reason": _("Say why it is corrected."),
        "desk.no_comment": _("Write a comment: it says why."),
        "desk.nobody_chosen": _("Choose at least one rater, or the pool."),
        "conflict.version_changed": _(
            "This item was changed meanwhile, so nothing was saved. What you typed is kept on this page, and is there "
            "again when the item comes to you anew."
        ),
        "conflict.claim_lost": _(
            "Your claim of this case has ended, so nothing was saved. What you typed is kept: reload the page to claim "
            "the case again, then save."
        ),
        "conflict.claimed_by_other": _(
            "Another expert has taken this case meanwhile, so nothing was saved. What you typed is kept on this page."
        ),
        "conflict.resolved": _(
            "This case has been decided meanwhile, perhaps in another window, so nothing was saved. "
            "What you typed is kept on this page."
        ),
        "conflict.item_withdrawn": _(
            "This item was withdrawn meanwhile, so nothing was saved. What you typed is kept on this page."
        ),
        "conflict.nothing_changed": _(
            "Nothing is changed yet. If it is right as it stands, choose “Fine as it is”."
        ),
        "conflict.not_judged": _("Judge the case yourself first: reload the page."),
    }
