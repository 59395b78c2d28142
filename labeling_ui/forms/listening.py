"""What a study asks of listening, in the words and units of its settings page."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.models import Study
from annotation.rules.listening import BOUNDS, ListeningRules

_SHARES = ("short_share", "long_share")


def _number(name: str, label: Any, *, help_text: Any = "", whole: bool = True) -> forms.IntegerField:
    """A number within the bounds of its rule; shares are asked for in per cent."""
    least, most = BOUNDS[name]
    field = forms.IntegerField if whole else forms.FloatField
    scale = 100 if name in _SHARES else 1
    return field(label=label, min_value=least, max_value=most * scale, help_text=help_text)


class ListeningForm(forms.Form):
    short_seconds = _number("short_seconds", _("Seconds to hear of a clip of up to a minute"), whole=False)
    short_share = _number(
        "short_share",
        _("Or this much of it, in %"),
        whole=False,
        help_text=_("The larger of the two holds, and never more than the clip."),
    )
    long_seconds = _number("long_seconds", _("Seconds to hear of a longer clip"), whole=False)
    long_share = _number("long_share", _("Or this much of it, in %"), whole=False)
    min_switches = _number(
        "min_switches",
        _("Switches between the clips of a comparison"),
        help_text=_("0 in these fields leaves it to the rater."),
    )
    instruction_seconds = _number(
        "instruction_seconds",
        _("Seconds that the instruction is on screen before clips can be played"),
        whole=False,
    )
    loudness = forms.ChoiceField(
        label=_("Loudness"),
        choices=[
            ("match", _("Play the clips of a task equally loud, at -23 LUFS or below")),
            ("off", _("Leave loudness as it is: for studies of mastering or level")),
        ],
        help_text=_("Louder is often taken for better. It can be chosen only while the study is a draft."),
        widget=forms.RadioSelect,
    )
    fade_ms = _number("fade_ms", _("Milliseconds of cross-fade at a switch"))
    spectrogram = forms.BooleanField(
        label=_("Raters may see spectrograms"),
        required=False,
        help_text=_("They show what a system leaves out, such as high frequencies, to the eye as well."),
    )
    break_minutes = _number("break_minutes", _("Minutes of work until a break is suggested"))
    stop_minutes = _number(
        "stop_minutes",
        _("Minutes of work until no more tasks are shown for a while"),
        help_text=_("0 for never. A pause of five minutes starts the count anew."),
    )
    change_minutes = _number(
        "change_minutes", _("Minutes in which a rater may change an answer"), help_text=_("0 for never.")
    )

    def __init__(self, data: Any = None, *, study: Study) -> None:
        super().__init__(data, initial=_as_shown(ListeningRules.of(study.rules)), auto_id="listening_%s")
        self.fields["loudness"].disabled = study.state != Study.State.DRAFT

    def wanted(self) -> dict[str, Any]:
        """The settings as the rules take them."""
        return {name: value / 100 if name in _SHARES else value for name, value in self.cleaned_data.items()}


def _as_shown(rules: ListeningRules) -> dict[str, Any]:
    shown = {
        name: value * 100 if name in _SHARES else value
        for name, value in asdict(rules).items()
        if name not in ("loudness", "spectrogram")
    }
    plain = {name: int(value) if float(value).is_integer() else value for name, value in shown.items()}
    return {**plain, "loudness": rules.loudness, "spectrogram": rules.spectrogram}
