"""Forms of a study's settings: listening, listening checks, stopping early, task order, model hints.

Shares are asked for in per cent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django import forms
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from annotation.listening import checks
from annotation.listening.rules.checks import CheckRules
from annotation.listening.rules.coverage import ListeningRules
from annotation.models import ListeningCheck, Study
from annotation.protocols import Protocol
from annotation.rating import task_selection
from annotation.rating.rules import hints as rules
from annotation.rating.rules import ordering, stopping
from annotation.studies.protocols import load_protocol
from annotation.studies.settings import declared
from labeling_ui.models.catalogue_texts import scorer_title
from scoring.models import LearnedModel, ScoringRun
from scoring.policies import hints


class SectionForm(forms.Form):
    """One section. `is_available`: the study has such settings; `can_be_saved`: there is something to choose."""

    is_available = can_be_saved = True

    def __init__(self, data: Any = None, *, study: Study, initial: Mapping[str, Any], key: str) -> None:
        super().__init__(data, initial=initial, auto_id=f"{key}_%s")
        self.study = study

    @property
    def settings(self) -> dict[str, Any]:
        """The submitted values as the service stores them."""
        return self.cleaned_data


_PERCENT_FIELDS = ("short_share", "long_share")


def _bounded_field(name: str, label: Any, *, help_text: Any = "", whole: bool = True) -> forms.IntegerField:
    """A number within the bounds of its rule; shares are asked for in per cent."""
    least, most = int(declared(ListeningRules)[name].least), int(declared(ListeningRules)[name].most)
    field = forms.IntegerField if whole else forms.FloatField
    scale = 100 if name in _PERCENT_FIELDS else 1
    return field(label=label, min_value=least, max_value=most * scale, help_text=help_text)


class ListeningForm(SectionForm):
    short_seconds = _bounded_field(
        "short_seconds", _("Seconds to hear of a clip of up to a minute"), whole=False
    )
    short_share = _bounded_field(
        "short_share",
        _("Or this much of it, in %"),
        whole=False,
        help_text=_("The larger of the two holds, and never more than the clip."),
    )
    long_seconds = _bounded_field("long_seconds", _("Seconds to hear of a longer clip"), whole=False)
    long_share = _bounded_field("long_share", _("Or this much of it, in %"), whole=False)
    min_switches = _bounded_field(
        "min_switches",
        _("Switches between the clips of a comparison"),
        help_text=_("0 in these fields leaves it to the rater."),
    )
    instruction_seconds = _bounded_field(
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
    fade_ms = _bounded_field("fade_ms", _("Milliseconds of cross-fade at a switch"))
    spectrogram = forms.BooleanField(
        label=_("Raters may see spectrograms"),
        required=False,
        help_text=_("They show what a system leaves out, such as high frequencies, to the eye as well."),
    )
    break_minutes = _bounded_field("break_minutes", _("Minutes of work until a break is suggested"))
    stop_minutes = _bounded_field(
        "stop_minutes",
        _("Minutes of work until no more tasks are shown for a while"),
        help_text=_("0 for never. A pause of five minutes starts the count anew."),
    )
    change_minutes = _bounded_field(
        "change_minutes", _("Minutes in which a rater may change an answer"), help_text=_("0 for never.")
    )

    def __init__(self, data: Any = None, *, study: Study) -> None:
        initial = _listening_initial(ListeningRules.of(study.rules))
        super().__init__(data, study=study, initial=initial, key="listening")
        self.fields["loudness"].disabled = study.state != Study.State.DRAFT

    @property
    def settings(self) -> dict[str, Any]:
        return {
            name: value / 100 if name in _PERCENT_FIELDS else value
            for name, value in self.cleaned_data.items()
        }


def _listening_initial(rules: ListeningRules) -> dict[str, Any]:
    shown = {
        name: value * 100 if name in _PERCENT_FIELDS else value
        for name, value in asdict(rules).items()
        if name not in ("loudness", "spectrogram")
    }
    plain = {name: int(value) if float(value).is_integer() else value for name, value in shown.items()}
    return {**plain, "loudness": rules.loudness, "spectrogram": rules.spectrogram}


SHUFFLED_ORDER, ACTIVE_LEARNING_ORDER = "", "policy"


class OrderingForm(SectionForm):
    order = forms.ChoiceField(
        label=_("Which task comes next"),
        required=False,
        widget=forms.RadioSelect,
        choices=[
            (SHUFFLED_ORDER, _("The next one on the rater’s way through the shuffled list")),
            (ACTIVE_LEARNING_ORDER, _("One on which a vote would teach a model most")),
        ],
    )
    uniform = forms.FloatField(
        label=_("Share of tasks drawn from all that are open, in %"),
        required=False,
        min_value=100 * ordering.MIN_UNIFORM,
        max_value=100,
        help_text=_(
            "All of them almost equally likely, whatever a model says of them. Never less than a fifth."
        ),
    )
    among = forms.IntegerField(
        label=_("The others are drawn from the first"),
        required=False,
        min_value=4,
        max_value=1000,
        help_text=_("So many tasks. With few, raters at work at the same time get the same ones."),
    )
    uncertainty = forms.FloatField(
        label=_("Weight of what the model is unsure of"),
        required=False,
        min_value=0,
        max_value=ordering.MAX_WEIGHT,
    )
    disagreement = forms.FloatField(
        label=_("Weight of where votes so far contradict the model"),
        required=False,
        min_value=0,
        max_value=ordering.MAX_WEIGHT,
    )
    coverage = forms.FloatField(
        label=_("Weight of having few judgments yet"),
        required=False,
        min_value=0,
        max_value=ordering.MAX_WEIGHT,
    )
    scorer = forms.ChoiceField(label=_("The model"), required=False, widget=forms.RadioSelect)

    def __init__(self, data: Any = None, *, study: Study) -> None:
        settings = ordering.as_json(study.rules)
        initial = {
            **settings,
            "order": ACTIVE_LEARNING_ORDER if settings["on"] else SHUFFLED_ORDER,
            "uniform": f"{100 * settings['uniform']:g}",
            **{name: f"{settings[name]:g}" for name in ordering.WEIGHTS},
        }
        super().__init__(data, study=study, initial=initial, key="ordering")
        self.is_available = study.order == Study.Order.SHUFFLED
        self.policy = task_selection.ordering_policy_of(study)
        offered = [
            ("", _("The one that was made this study’s scorer, if any")),
            *_ordering_scorer_choices(study),
        ]
        if settings["scorer"] not in dict(offered):  # a version, or a model that is gone: shown, not dropped
            offered.append((settings["scorer"], settings["scorer"]))
        self.fields["scorer"].choices = offered

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("order") == ACTIVE_LEARNING_ORDER:
            for name in ("uniform", "among", *ordering.WEIGHTS):
                if cleaned.get(name, "") is None:
                    self.add_error(name, self.fields[name].error_messages["required"])
            weights = [cleaned.get(name) for name in ordering.WEIGHTS]
            if weights == [0.0] * len(weights):
                self.add_error("uncertainty", _("Give at least one of the three a weight above 0."))
        return cleaned

    @property
    def settings(self) -> dict[str, Any]:
        if self.cleaned_data["order"] != ACTIVE_LEARNING_ORDER:
            return {"on": False}
        values = {name: self.cleaned_data[name] for name in declared(ordering.Ordering)}
        return {"on": True, **values, "uniform": round(values["uniform"] / 100, 6)}


def _ordering_scorer_choices(study: Study) -> list[tuple[str, str]]:
    """By name, which stands for the version that counts in the study."""
    scored = ScoringRun.objects.filter(study=study, scorer__isnull=False).values_list(
        "scorer__key", flat=True
    )
    learned = LearnedModel.objects.filter(study=study, scorer__isnull=False).values_list("kind", flat=True)
    return [(key, scorer_title(key)) for key in sorted({*scored.distinct(), *learned.distinct()})]


class HintsForm(SectionForm):
    scorer = forms.ChoiceField(
        label=_("Show raters what a model says"), required=False, widget=forms.RadioSelect
    )
    withheld = forms.FloatField(
        label=_("Share of tasks where it is kept from the rater, in %"),
        required=False,
        min_value=10,
        max_value=90,
        help_text=_("Drawn at random for each rater and task. It tells what showing does to the answers."),
    )

    def __init__(self, data: Any = None, *, study: Study) -> None:
        settings = rules.as_json(study.rules)
        initial = {**settings, "withheld": f"{100 * settings['withheld']:g}"}
        super().__init__(data, study=study, initial=initial, key="hints")
        self.is_available = bool(rules.eligible_questions(load_protocol(study.protocol_version_id).spec))
        offered = [("", _("Nothing: raters judge for themselves")), *_hint_scorer_choices(study)]
        if settings["scorer"] not in dict(offered):  # of a model that is gone: shown, not dropped
            offered.append((settings["scorer"], settings["scorer"]))
        self.can_be_saved = len(offered) > 1
        self.fields["scorer"].choices = offered

    def clean_withheld(self) -> float | None:
        share: float | None = self.cleaned_data["withheld"]
        if share is None and self.cleaned_data.get("scorer"):
            raise forms.ValidationError(self.fields["withheld"].error_messages["required"])
        return share

    @property
    def settings(self) -> dict[str, Any]:
        """A share left empty stays as it was."""
        share = self.cleaned_data["withheld"]
        before = rules.as_json(self.study.rules)["withheld"]
        return {
            "scorer": self.cleaned_data["scorer"],
            "withheld": before if share is None else round(share / 100, 6),
        }


def _hint_scorer_choices(study: Study) -> list[tuple[str, str]]:
    """By name, which stands for the version that counts; where there are several, each of them as well."""
    versions = hints.eligible_scorers(study)
    names = Counter(scorer.key for scorer in versions)
    several = [scorer for scorer in versions if names[scorer.key] > 1]
    return [
        *((key, scorer_title(key)) for key in names),
        *((one.digest, f"{scorer_title(one.key)} · {one.digest[:8]}") for one in several),
    ]


class StoppingForm(SectionForm):
    question = forms.ChoiceField(
        label=_("Ask for more votes while this is undecided"), required=False, widget=forms.RadioSelect
    )
    threshold = forms.FloatField(
        label=_("Certainty that decides, in %"),
        required=False,
        min_value=51,
        max_value=100 * stopping.MAX_THRESHOLD,
        help_text=_(
            "The chance that the majority is right. With 90 %, three votes of three decide, five of six, or six of "
            "eight; a vote for neither is half a vote for each."
        ),
    )
    most = forms.IntegerField(label=_("Votes that a pair gets at most"), required=False, max_value=1000)

    def __init__(self, data: Any = None, *, study: Study) -> None:
        settings = stopping.as_json(study.rules)
        settings["threshold"] = f"{100 * settings['threshold']:g}"
        settings["most"] = settings["most"] or max(9, study.overlap + 2)
        super().__init__(data, study=study, initial=settings, key="stopping")
        protocol = load_protocol(study.protocol_version_id).spec
        keys = stopping.eligible_questions(protocol)
        self.is_available = bool(keys)
        self.fields["question"].choices = [
            ("", _("Nothing: every pair gets %(n)d votes") % {"n": study.overlap}),
            *((key, _question_title(protocol, key)) for key in keys),
        ]
        self.fields["most"].min_value = study.overlap + 1
        self.fields["most"].widget.attrs["min"] = study.overlap + 1

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        threshold, most = cleaned.get("threshold"), cleaned.get("most")
        for name in ("threshold", "most"):
            if cleaned.get("question") and cleaned.get(name, "") is None:
                self.add_error(name, self.fields[name].error_messages["required"])
        if most is not None and most <= self.study.overlap:
            text = _("Give more than the %(n)d that every pair gets first.") % {"n": self.study.overlap}
            self.add_error("most", text)
        elif most is not None and threshold and most < stopping.min_votes_to_decide(threshold / 100):
            needed = stopping.min_votes_to_decide(threshold / 100)
            text = _(
                "So few votes are never so certain, even if all agree: give %(n)d or more, or a lower chance."
            )
            self.add_error("most", text % {"n": needed})
        return cleaned

    @property
    def settings(self) -> dict[str, Any]:
        """Numbers that are left empty stay as they were."""
        values = {name: value for name, value in self.cleaned_data.items() if value is not None}
        if "threshold" in values:
            values["threshold"] = round(values["threshold"] / 100, 6)
        return values


def _question_title(protocol: Protocol, key: str) -> str:
    question = protocol.question(key)
    assert question is not None  # eligible questions are the protocol's own
    return question.title.in_language(get_language() or "en")


class ChecksForm(SectionForm):
    require = forms.MultipleChoiceField(
        label=_("Before the work, raters"),
        required=False,
        choices=[
            (ListeningCheck.Kind.LEVEL, _("set the volume with a noise at -23 LUFS")),
            (ListeningCheck.Kind.LEFT_RIGHT, _("tell left from right (4 of 4)")),
            (
                ListeningCheck.Kind.ANTIPHASE,
                _("find the quietest of three tones, one of them antiphase (5 of 6)"),
            ),
            (ListeningCheck.Kind.HUGGINS, _("find a tone that only headphones let through (5 of 6)")),
        ],
        help_text=_(
            "The two last ones tell headphones from loudspeakers; together they are stricter than either."
        ),
        widget=forms.CheckboxSelectMultiple,
    )
    gate = forms.BooleanField(
        label=_("Only raters who pass may work"),
        required=False,
        help_text=_("Otherwise the result is noted with the rater, and the work goes on."),
    )
    valid_hours = forms.IntegerField(
        label=_("Hours until a check is due again"),
        min_value=int(declared(CheckRules)["valid_hours"].least),
        max_value=int(declared(CheckRules)["valid_hours"].most),
    )
    recheck_minutes = forms.IntegerField(
        label=_("Minutes of work until a check is due again"),
        min_value=int(declared(CheckRules)["recheck_minutes"].least),
        max_value=int(declared(CheckRules)["recheck_minutes"].most),
        help_text=_("0 leaves it to the hours."),
    )

    def __init__(self, data: Any = None, *, study: Study) -> None:
        super().__init__(data, study=study, initial=checks.check_settings(study), key="checks")
