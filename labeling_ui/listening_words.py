"""What a study asks of listening, told to its raters before they begin."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.protocols import Protocol
from annotation.rules.listening import ListeningRules


def expectations(protocol: Protocol, rules: ListeningRules) -> list[str]:
    """A sentence for each requirement; none where answers may be given without listening."""
    if not protocol.listening.must_hear:
        return []
    told = []
    if amount := _amount(rules.short_seconds, rules.short_share):
        told.append(_("Of each clip of up to a minute, hear at least {amount}.").format(amount=amount))
    if amount := _amount(rules.long_seconds, rules.long_share):
        told.append(_("Of each longer clip, hear at least {amount}.").format(amount=amount))
    compares = protocol.candidates[1] > 1 and "candidates" in protocol.listening.must_hear
    if compares and (n := rules.min_switches):
        switch = ngettext(
            "Switch between the clips at least once.", "Switch between the clips at least {n} times.", n
        )
        told.append(switch.format(n=n))
    return told


def _amount(seconds: float, share: float) -> str:
    if seconds and share:
        words = _("{seconds} seconds or {percent} %, whichever is more")
    elif seconds:
        words = _("{seconds} seconds")
    else:
        words = _("{percent} %") if share else ""
    return words.format(seconds=f"{seconds:g}", percent=f"{share * 100:g}")
