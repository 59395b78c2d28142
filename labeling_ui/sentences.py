"""What the services say when they refuse, listed here so that it is translated where a page shows it."""

from __future__ import annotations

from django.utils.translation import gettext as look_up
from django.utils.translation import gettext_noop as _

from annotation.errors import DomainError

SENTENCES = (
    _("There is nothing here, or it is not yours to see."),
    _("Only researchers and admins of this study can do this."),
    _("Only admins of this study can do this."),
    _("Only admins of this study can invite researchers and admins."),
    _("You manage this study; rating is for its annotators and experts."),
    _("This invitation has been used up, has expired or was withdrawn. Ask for a new one."),
    _("This invitation has just been used up. Ask for a new one."),
    _("This is the study's only admin; make someone else admin first."),
    _("This study has no protocol yet."),
    _("Your account may not create studies; ask an operator for it."),
    _("There is nothing to rate yet: import items first."),
    _("This job has finished already."),
    _("This run has finished already."),
    _("Nothing failed in this run, so there is nothing to try again."),
    _("This list has changed meanwhile: look again."),
)


def said(error: DomainError) -> str:
    """An error's sentence in the reader's language; as the service wrote it where it is not listed here."""
    return look_up(error.message)
