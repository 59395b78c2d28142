"""Forms of a study's settings: listening, listening checks, hidden checks, stopping early, task order, model hints.

Fields follow from the declarations of `annotation.studies.settings`. Shares are asked for in per cent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any, ClassVar

from django import forms
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_lazy as look_up

from annotation.checks import rules as check_rules
from annotation.checks import settings as check_settings
from annotation.listening import checks, coverage
from annotation.listening.rules.checks import CheckRules
from annotation.listening.rules.coverage import ListeningRules
from annotation.models import Study
from annotation.protocols import Protocol
from annotation.rating import stopping as stopping_service
from annotation.rating import task_selection
from annotation.rating.rules import hints as hint_rules
from annotation.rating.rules import ordering, stopping
from annotation.studies.protocols import load_protocol
from annotation.studies.settings import Setting, declared
from labeling_ui.models.catalogue_texts import scorer_choices, scorer_title
from labeling_ui.templatetags.formatting import in_language
from scoring.models import LearnedModel, ScoringRun
from scoring.policies import hints

# Stored shares have so many digits; more come from arithmetic.
_SHARE_DIGITS = 8
Choices = Iterable[tuple[str, Any]]


def setting_field(setting: Setting, *, required: bool = True) -> forms.Field:
    """The form field of a declared setting. A text is chosen among the setting's choices, or those of a study."""
    common = {
        "label": look_up(setting.label),
        "help_text": look_up(setting.help_text) if setting.help_text else "",
    }
    choices = [(value, look_up(label)) for value, label in setting.choices]
    match setting.type:
        case "bool":
            return forms.BooleanField(**common, required=False)
        case "tuple":
            widget = forms.CheckboxSelectMultiple
            return forms.MultipleChoiceField(**common, required=False, choices=choices, widget=widget)
        case "str":
            return forms.ChoiceField(**common, required=required, choices=choices, widget=forms.RadioSelect)
    number = forms.IntegerField if setting.type == "int" else forms.FloatField
    least, most = setting.least, setting.most
    if setting.percent:
        least, most = math.ceil(100 * least), _plain_number(100 * most)
    return number(**common, required=required, min_value=least, max_value=most)


def _plain_number(value: float) -> float:
    """10, not 10.0; without what arithmetic adds."""
    number = round(value, _SHARE_DIGITS)
    return int(number) if number == int(number) else number


class SectionForm(forms.Form):
    """One section of the settings page, by the dataclass that declares its settings.

    `key` names its template and its place on the page; `url_name` its own page; `save` is the service that stores its
    settings. `is_offered(study, protocol)`: whether the study has such settings; `unavailable` is the reason where it
    has none. `can_be_saved`: there is something to choose. Settings that are not `required` may be left empty, and then
    stay as they were.
    """

    declaration: ClassVar[type]
    key: ClassVar[str]
    url_name: ClassVar[str]
    title: ClassVar[Promise]
    save: ClassVar[Callable[..., object]]
    unavailable: ClassVar[Promise | str] = ""
    required: ClassVar[bool] = True
    can_be_saved = True

    @staticmethod
    def is_offered(study: Study, protocol: Protocol) -> bool:
        return True

    @property
    def is_available(self) -> bool:
        return self.is_offered(self.study, load_protocol(self.study.protocol_version_id).spec)

    def __init__(self, data: Any = None, *, study: Study, values: Mapping[str, Any]) -> None:
        self.study = study
        self.declared = declared(self.declaration)
        super().__init__(data, initial={**values, **self._shown_numbers(values)}, auto_id=f"{self.key}_%s")
        self.fields |= {
            name: setting_field(setting, required=self.required) for name, setting in self.declared.items()
        }

    def _shown_numbers(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Numbers as the form shows them, shares in per cent."""
        return {
            name: _plain_number(100 * values[name] if setting.percent else values[name])
            for name, setting in self.declared.items()
            if setting.type in ("int", "float") and values[name] is not None
        }

    @property
    def settings(self) -> dict[str, Any]:
        """The submitted values as the service stores them."""
        return {
            name: round(value / 100, _SHARE_DIGITS)
            if name in self.declared and self.declared[name].percent
            else value
            for name, value in self.cleaned_data.items()
            if value is not None
        }

    @property
    def template(self) -> str:
        return f"labeling_ui/study/settings/{self.key}.html"

    def offer(self, name: str, choices: Choices) -> None:
        """Let a setting be chosen among these; a value of something that is gone is shown, not dropped."""
        offered = list(choices)
        if self.initial[name] not in dict(offered):
            offered.append((self.initial[name], self.initial[name]))
        self.fields[name].choices = offered

    def require(self, *names: str) -> None:
        """Add an error to each of these fields that is empty."""
        for name in names:
            if self.cleaned_data.get(name, "") is None:
                self.add_error(name, self.fields[name].error_messages["required"])


class ListeningForm(SectionForm):
    declaration, key, url_name = ListeningRules, "listening", "listening_rules"
    title, save = _("Listening"), staticmethod(coverage.set_listening_rules)

    def __init__(self, data: Any = None, *, study: Study) -> None:
        super().__init__(data, study=study, values=asdict(ListeningRules.of(study.rules)))
        self.fields["loudness"].disabled = study.state != Study.State.DRAFT


class ChecksForm(SectionForm):
    declaration, key, url_name = CheckRules, "checks", "check_settings"
    title, save = _("Listening checks"), staticmethod(checks.set_check_rules)

    def __init__(self, data: Any = None, *, study: Study) -> None:
        values = asdict(CheckRules.of(study.rules))
        super().__init__(data, study=study, values=values | {"require": list(values["require"])})


class InjectionForm(SectionForm):
    declaration, key, url_name = check_rules.Injection, "injection", "injection_settings"
    title, save = _("Hidden checks"), staticmethod(check_settings.set_injection)

    def __init__(self, data: Any = None, *, study: Study) -> None:
        super().__init__(data, study=study, values=check_rules.as_json(study.rules))
        if not check_settings.can_pair(load_protocol(study.protocol_version_id).spec):
            del self.fields["identical"]

    @property
    def shares(self) -> list[forms.BoundField]:
        return [self[kind] for kind in check_rules.KINDS if kind in self.fields]


class StoppingForm(SectionForm):
    declaration, key, url_name, required = stopping.Stopping, "stopping", "stopping_rule", False
    title, save = _("Stopping early"), staticmethod(stopping_service.set_stopping_rule)
    unavailable = _("This study compares no pairs, so every task gets the same number of votes.")

    @staticmethod
    def is_offered(study: Study, protocol: Protocol) -> bool:
        return bool(stopping.eligible_questions(protocol))

    def __init__(self, data: Any = None, *, study: Study) -> None:
        values = stopping.as_json(study.rules)
        values["most"] = values["most"] or max(9, study.overlap + 2)
        super().__init__(data, study=study, values=values)
        protocol = load_protocol(study.protocol_version_id).spec
        questions = stopping.eligible_questions(protocol)
        nothing = _("Nothing: every pair gets %(n)d votes") % {"n": study.overlap}
        self.fields["question"].choices = [
            ("", nothing),
            *((key, _question_title(protocol, key)) for key in questions),
        ]
        self.fields["most"] = setting_field(replace(self.declared["most"], least=None), required=False)
        self.fields["most"].widget.attrs["min"] = study.overlap + 1

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("question"):
            self.require("threshold", "most")
        threshold, most = cleaned.get("threshold"), cleaned.get("most")
        if most is not None and most <= self.study.overlap:
            text = _("Give more than the %(n)d that every pair gets first.") % {"n": self.study.overlap}
            self.add_error("most", text)
        elif most is not None and threshold and most < (n := stopping.min_votes_to_decide(threshold / 100)):
            text = _(
                "So few votes are never so certain, even if all agree: give %(n)d or more, or a lower chance."
            )
            self.add_error("most", text % {"n": n})
        return cleaned


def _question_title(protocol: Protocol, key: str) -> str:
    question = protocol.question(key)
    assert question is not None  # eligible questions are the protocol's own
    return in_language(question.title)


SHUFFLED_ORDER, ACTIVE_LEARNING_ORDER = "", "policy"


class OrderingForm(SectionForm):
    declaration, key, url_name, required = ordering.Ordering, "ordering", "ordering_rule", False
    title, save = _("Which tasks come first"), staticmethod(task_selection.set_ordering)
    unavailable = _("This study presents its tasks in the listed order, to every rater.")

    @staticmethod
    def is_offered(study: Study, protocol: Protocol) -> bool:
        return study.order == Study.Order.SHUFFLED

    order = forms.ChoiceField(
        label=_("Order of tasks (active learning)"),
        required=False,
        widget=forms.RadioSelect,
        choices=[
            (SHUFFLED_ORDER, _("The next one on the rater’s way through the shuffled list")),
            (ACTIVE_LEARNING_ORDER, _("The task whose vote teaches a model most (active learning)")),
        ],
    )

    def __init__(self, data: Any = None, *, study: Study) -> None:
        values = ordering.as_json(study.rules)
        order = ACTIVE_LEARNING_ORDER if values["on"] else SHUFFLED_ORDER
        super().__init__(data, study=study, values=values | {"order": order})
        self.policy = task_selection.ordering_policy_of(study)
        own = ("", _("The study’s promoted scorer, if any"))
        self.offer("scorer", [own, *((name, scorer_title(name)) for name in _scorer_names(study))])

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("order") == ACTIVE_LEARNING_ORDER:
            self.require("uniform", "among", *ordering.WEIGHTS)
            if all(cleaned.get(name) == 0 for name in ordering.WEIGHTS):
                self.add_error("uncertainty", _("Give at least one of the three a weight above 0."))
        return cleaned

    @property
    def settings(self) -> dict[str, Any]:
        values = super().settings
        return {**values, "on": True} if values.pop("order") == ACTIVE_LEARNING_ORDER else {"on": False}


def _scorer_names(study: Study) -> list[str]:
    """A name stands for the version that is promoted in the study."""
    scored = ScoringRun.objects.filter(study=study, scorer__isnull=False).values_list(
        "scorer__key", flat=True
    )
    learned = LearnedModel.objects.filter(study=study, scorer__isnull=False).values_list("kind", flat=True)
    return sorted({*scored.distinct(), *learned.distinct()})


class HintsForm(SectionForm):
    declaration, key, url_name, required = hint_rules.Hints, "hints", "hint_rule", False
    title, save = _("Scores shown to raters"), staticmethod(hints.set_rule)
    unavailable = _("No question of this study can have a model prediction.")

    @staticmethod
    def is_offered(study: Study, protocol: Protocol) -> bool:
        return bool(hint_rules.eligible_questions(protocol))

    def __init__(self, data: Any = None, *, study: Study) -> None:
        super().__init__(data, study=study, values=hint_rules.as_json(study.rules))
        nothing = ("", _("No prediction: raters judge for themselves"))
        self.offer("scorer", [nothing, *scorer_choices(hints.eligible_scorers(study))])
        self.can_be_saved = len(self.fields["scorer"].choices) > 1

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("scorer"):
            self.require("withheld")
        return cleaned

    @property
    def settings(self) -> dict[str, Any]:
        """A share left empty stays as it was."""
        return {"withheld": hint_rules.as_json(self.study.rules)["withheld"], **super().settings}


SECTIONS: dict[str, type[SectionForm]] = {
    form.key: form
    for form in (ListeningForm, ChecksForm, InjectionForm, StoppingForm, OrderingForm, HintsForm)
}
