"""The faults of a definition and the reasons against a change, as sentences in the reader's language."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as look_up
from django.utils.translation import gettext_noop as _

from annotation.protocols import changes
from annotation.protocols.changes import Change
from annotation.protocols.schema import ProtocolError
from labeling_ui.sentences import translated_by

# As `annotation.protocols` writes them, with blanks where it fills something in.
PROBLEMS = (
    _("is no table of fields"),
    _("is no JSON: %(error)s"),
    _("is no TOML: %(error)s"),
    _("is nested too deeply"),
    _("is no text"),
    _("holds a number that is too large, or none"),
    _("has a document type, which a labeling configuration does not need"),
    _("is no labeling configuration of Label Studio: its first element is not <View>"),
    _("is no XML: %(error)s"),
    _("has more than %(most)s elements"),
    _("is missing"),
    _("must be a number"),
    _("must be a list"),
    _("must be a table"),
    _("must be true or false"),
    _("must be a whole number from %(least)s"),
    _('must be a text, or a table of texts by language that has "en"'),
    _("must be a text of 1 to %(longest)s characters"),
    _("%(value)s is not one of %(allowed)s"),
    _("%(names)s: not known here"),
    _("%(value)s stands there twice"),
    _("%(names)s are not %(what)s; use %(known)s"),
    _("there are none; a protocol asks at least one"),
    _("there are none"),
    _("a preference needs the layout %(layouts)s"),
    _("X is A or B: an abx question has no tie, no both_bad and no level"),
    _("is missing; use one of %(known)s"),
    _("X is one of the two: rating all three would give it away"),
    _("a ranking needs the layout 'panel' or 'comparison'"),
    _("a ranking is of 2 to %(most)s candidates; write candidates = %(range)s or less"),
    _("is the item's own; leave it out, or per_candidate"),
    _("add %(clip)s to content, or leave it out"),
    _("what is judged is a text; name the item's clip that the events are on"),
    _("events are on one clip; ask of each candidate (per_candidate = true), or name the item's clip"),
    _("%(key)s must be lower-case letters, digits and _, up to 40"),
    _("%(key)s must be letters, digits, _, - and ., up to 40"),
    _("a %(kind)s is between candidates, not of each"),
    _("belongs to a scale with a minimum and a maximum, without points"),
    _("belongs to %(kinds)s; take it out of a %(kind)s"),
    _("cannot be asked of %(kind)s; ask it as a rating after it"),
    _("%(step)s does not lead from %(minimum)s to %(maximum)s; use one that divides it"),
    _("are too few; give two or more"),
    _("are more than %(most)s; ask in two questions"),
    _("%(upper)s is below %(name)s, %(fewest)s"),
    _("%(fewest)s is more than there are; there are %(most)s"),
    _('must be a table of "question" and "any_of"'),
    _("nothing is asked before this question; put it after the one it depends on"),
    _("%(key)s is asked of each candidate and this question once; ask this of each candidate too"),
    _(
        "the answers to %(key)s cannot be listed; use a preference, a choice, choices, or a rating with points"
    ),
    _("must list some of the answers to %(key)s: %(listed)s"),
    _("a scale needs either points or a minimum and a maximum"),
    _("%(minimum)s is not below the maximum, %(maximum)s"),
    _("need a scale with a minimum and a maximum"),
    _("do not go on from %(reached)s, without gap or overlap"),
    _("end at %(reached)s, the scale at %(maximum)s"),
    _("needs a minimum and a maximum"),
    _("%(stated)s is not a fewest and a most within %(range)s of a %(layout)s"),
    _("needs a panel of clips whose items show a reference_clip"),
)
# The same constants as in `changes.REASONS`, here for the catalogue of translations.
REASONS = (
    _("The study has tasks that were made for it."),
    _("Answers before and after the change could not be compared."),
    _("Answers before and after the change would be on different scales."),
    _(
        "Judgments store options by their number, so no option can be removed or moved. Add new ones at the end."
    ),
    _("Before and after the change, different tasks would be asked about."),
    _("Raters before and after the change would judge by different material."),
    _("Judgments that are there have no answer to it. Leave it optional."),
    _("Judgments have answers to it. Make it optional first, or keep it."),
    _(
        "Checks (such as gold tasks) expect an answer that it could not have, or that would mean something else."
        " Make them regular tasks first."
    ),
)


def fault_sentence(problem: str) -> str:
    """As a sentence; as it was written where it is not listed here."""
    problem = translated_by(PROBLEMS, problem) or problem
    return problem[:1].upper() + problem[1:]


def faults_shown(faults: Sequence[ProtocolError], refused: Sequence[Change]) -> list[tuple[str, str]]:
    """Each with its place, for the editor."""
    shown = [(fault.where, fault_sentence(fault.problem)) for fault in faults]
    return shown + [(change.where, look_up(change.reason)) for change in refused]


assert set(REASONS) == set(changes.REASONS)
