"""What the review desk says from JavaScript, handed to it translated. `{name}` is filled in by the browser."""

from __future__ import annotations

from django.utils.translation import gettext as _


def blind_texts() -> dict[str, str]:
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
    } | _taking_back()


def texts() -> dict[str, str]:
    return _keys() | _editor() | _sending() | _taking_back()


def _taking_back() -> dict[str, str]:
    """Of the decision before this case, in either stage."""
    return {
        "conflict.undo_over": _("This decision cannot be undone any more."),
        "desk.reload": _("Reload the page"),
        "desk.refused": _("The server refused: {detail}"),
        "desk.not_sent": _("Nothing was saved: {reason} What you typed is kept; try again."),
    }


def _keys() -> dict[str, str]:
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


def _editor() -> dict[str, str]:
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


def _sending() -> dict[str, str]:
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
