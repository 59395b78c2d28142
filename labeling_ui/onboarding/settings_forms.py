"""Forms of the page “Before rating”: consent, guidelines, questions about the raters, training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from django import forms
from django.utils.text import slugify
from django.utils.translation import gettext_lazy as _

from annotation.checks import keys
from annotation.checks.expected import ExpectedAnswer, answers_of, keyed_questions
from annotation.models import ConsentVersion, Study, Task
from annotation.onboarding import consent, onboarding_settings
from annotation.onboarding.rules import (
    MAX_QUESTIONS,
    STANDARD_QUESTIONS,
    DemographicQuestion,
    OnboardingRules,
    TrainingRules,
)
from annotation.protocols.schema import QuestionSpec
from annotation.studies.protocols import load_protocol
from annotation.studies.settings import declared
from labeling_ui.onboarding.forms import wording
from labeling_ui.study.settings_forms import setting_field
from labeling_ui.templatetags.formatting import in_language

LANGUAGES = (("en", "en"), ("zh-hans", "zh"))
OMITTED, OPTIONAL, REQUIRED = "", "optional", "required"
INCLUSION = ((OMITTED, _("Not asked")), (OPTIONAL, _("Optional")), (REQUIRED, _("Required")))


class ConsentForm(forms.Form):
    part = "consent"
    on = forms.BooleanField(label=_("Raters consent before they start"), required=False)
    text_en = forms.CharField(
        label=_("Text in English"),
        help_text=_(
            "Say who runs the study, what you store, why and for how long, and how raters leave. You can use Markdown."
        ),
        required=False,
        max_length=consent.MAX_TEXT,
        widget=forms.Textarea({"rows": 10}),
    )
    text_zh = forms.CharField(
        label=_("Text in Chinese"),
        help_text=_("Raters who read in Chinese see it. Leave it empty to show them the English text."),
        required=False,
        max_length=consent.MAX_TEXT,
        widget=forms.Textarea({"rows": 10, "lang": "zh-Hans"}),
    )
    reconsent = forms.ChoiceField(
        label=_("When the text changes, who consents anew?"),
        choices=ConsentVersion.Reconsent.choices,
        widget=forms.RadioSelect,
    )

    def __init__(self, data: Any = None, *, study: Study) -> None:
        self.version = consent.current_version(study)
        texts = self.version.texts if self.version else {}
        initial = {
            "on": OnboardingRules.of(study.rules).consent,
            "reconsent": self.version.reconsent if self.version else ConsentVersion.Reconsent.EVERYBODY,
            **{f"text_{short}": texts.get(language, "") for language, short in LANGUAGES},
        }
        super().__init__(data, initial=initial, auto_id="consent_%s")

    def save(self, study: Study, *, actor: Any) -> None:
        texts = {language: self.cleaned_data[f"text_{short}"] for language, short in LANGUAGES}
        onboarding_settings.set_consent(
            study,
            on=self.cleaned_data["on"],
            texts=texts,
            reconsent=self.cleaned_data["reconsent"],
            actor=actor,
        )


class GuidelinesForm(forms.Form):
    part = "guidelines"
    guidelines = forms.BooleanField(
        label=_("Raters open the guidelines before they start"),
        help_text=_("Which version they read is stored. A new version of the questions is read again."),
        required=False,
    )

    def __init__(self, data: Any = None, *, study: Study) -> None:
        initial = {"guidelines": OnboardingRules.of(study.rules).guidelines}
        super().__init__(data, initial=initial, auto_id="guidelines_%s")

    def save(self, study: Study, *, actor: Any) -> None:
        onboarding_settings.set_onboarding(study, actor=actor, **self.cleaned_data)


class AboutRatersForm(forms.Form):
    """Of each usual question whether it is asked, then own questions, with an empty row for another one."""

    part = "questions"

    def __init__(self, data: Any = None, *, study: Study) -> None:
        questions = {question.key: question for question in OnboardingRules.of(study.rules).questions}
        super().__init__(data, auto_id="about_%s")
        for key, question in STANDARD_QUESTIONS.items():
            self.fields[key] = _inclusion_field(questions.get(key), label=wording(question.texts))
        self.own = [question for key, question in questions.items() if key not in STANDARD_QUESTIONS]
        for number in range(min(len(self.own) + 1, MAX_QUESTIONS - len(STANDARD_QUESTIONS))):
            question = self.own[number] if number < len(self.own) else None
            self.fields |= _own_fields(number, question)

    def standard(self) -> list[forms.BoundField]:
        return [self[key] for key in STANDARD_QUESTIONS]

    def own_rows(self) -> Iterator[dict[str, Any]]:
        """The fields of each own question; the last row is empty."""
        number = 0
        while f"own{number}_inclusion" in self.fields:
            names = ("inclusion", "en", "zh", "options")
            yield {"number": number + 1, **{name: self[f"own{number}_{name}"] for name in names}}
            number += 1

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        for number, row in enumerate(self.own_rows()):
            named = cleaned.get(f"own{number}_en") or cleaned.get(f"own{number}_zh")
            if cleaned.get(f"own{number}_inclusion") and not named:
                self.add_error(row["en"].name, _("Write the question, or choose “Not asked”."))
            options = cleaned.get(f"own{number}_options", "").split("\n")
            if named and len([line for line in options if line.strip()]) == 1:
                self.add_error(
                    row["options"].name,
                    _("Give two options or more, or none for an answer in the rater's own words."),
                )
        return cleaned

    def save(self, study: Study, *, actor: Any) -> None:
        questions = [
            _stored(question, required=inclusion == REQUIRED)
            for key, question in STANDARD_QUESTIONS.items()
            if (inclusion := self.cleaned_data[key]) != OMITTED
        ]
        onboarding_settings.set_onboarding(study, actor=actor, questions=[*questions, *self._own_questions()])

    def _own_questions(self) -> Iterator[dict[str, Any]]:
        taken = {*STANDARD_QUESTIONS, *(question.key for question in self.own)}
        for number, _row in enumerate(self.own_rows()):
            values = {
                name: self.cleaned_data.get(f"own{number}_{name}", "") for name in ("inclusion", "en", "zh")
            }
            if not values["inclusion"]:
                continue
            before = self.own[number] if number < len(self.own) else None
            key = before.key if before else _new_key(values["en"] or values["zh"], taken)
            taken.add(key)
            yield {
                "key": key,
                "texts": {"en": values["en"], "zh-hans": values["zh"]},
                "options": _options(self.cleaned_data.get(f"own{number}_options", "")),
                "required": values["inclusion"] == REQUIRED,
            }


def _inclusion_field(question: DemographicQuestion | None, *, label: Any) -> forms.ChoiceField:
    initial = OMITTED if question is None else REQUIRED if question.required else OPTIONAL
    return forms.ChoiceField(
        label=label, choices=INCLUSION, initial=initial, required=False, widget=forms.RadioSelect
    )


def _own_fields(number: int, question: DemographicQuestion | None) -> dict[str, forms.Field]:
    texts: Mapping[str, str] = question.texts if question else {}
    lines = [" | ".join(filter(None, _both(texts))) for _key, texts in (question.options if question else ())]
    return {
        f"own{number}_en": forms.CharField(
            label=_("Question in English"), required=False, max_length=300, initial=texts.get("en", "")
        ),
        f"own{number}_zh": forms.CharField(
            label=_("Question in Chinese"), required=False, max_length=300, initial=texts.get("zh-hans", "")
        ),
        f"own{number}_options": forms.CharField(
            label=_("Options, one per line"),
            help_text=_(
                "English | Chinese. Without options raters answer in their own words. Everybody may prefer not to say."
            ),
            required=False,
            max_length=5000,
            initial="\n".join(lines),
            widget=forms.Textarea({"rows": 3}),
        ),
        f"own{number}_inclusion": _inclusion_field(question, label=_("Asked?")),
    }


def _both(texts: Mapping[str, str]) -> tuple[str, str]:
    return texts.get("en", ""), texts.get("zh-hans", "")


def _options(lines: str) -> list[dict[str, Any]]:
    options: list[dict[str, Any]] = []
    taken: set[str] = set()
    for line in lines.splitlines():
        english, _bar, chinese = (part.strip() for part in line.partition("|"))
        if english or chinese:
            key = _new_key(english or chinese, taken)
            taken.add(key)
            options.append({"key": key, "texts": {"en": english or chinese, "zh-hans": chinese}})
    return options


def _new_key(text: str, taken: set[str]) -> str:
    """From the wording, so that data can be read; a number where two would be the same."""
    stem = slugify(text, allow_unicode=True)[:30] or "own"
    return next(key for key in (stem, *(f"{stem}-{number}" for number in range(2, 1000))) if key not in taken)


def _stored(question: DemographicQuestion, *, required: bool) -> dict[str, Any]:
    options = [{"key": key, "texts": dict(texts)} for key, texts in question.options]
    return {"key": question.key, "texts": dict(question.texts), "options": options, "required": required}


class TrainingForm(forms.Form):
    """A field per declared setting."""

    part = "training"

    def __init__(self, data: Any = None, *, study: Study) -> None:
        super().__init__(
            data, initial=asdict(OnboardingRules.of(study.rules).training), auto_id="training_%s"
        )
        self.fields |= {name: setting_field(setting) for name, setting in declared(TrainingRules).items()}

    def save(self, study: Study, *, actor: Any) -> None:
        onboarding_settings.set_onboarding(study, actor=actor, training=self.cleaned_data)


class TrainingTaskForm(forms.Form):
    """Of each question that can expect an answer: which one, how far a number may be off, and why."""

    def __init__(self, data: Any = None, *, study: Study, task: Task) -> None:
        self.spec = load_protocol(study.protocol_version_id).spec
        self.questions = keyed_questions(self.spec)
        expected = {
            question.key: (key, answer) for question, key, answer in keys.expected_of(task, self.spec)
        }
        super().__init__(data, auto_id="expected_%s")
        for question in self.questions:
            key, answer = expected.get(question.key, (None, ""))
            self.fields[f"{question.key}.answer"] = _answer_field(question, answer)
            if question.kind in ("rating", "correctness"):
                self.fields[f"{question.key}.tolerance"] = forms.FloatField(
                    label=_("Give or take"), required=False, min_value=0, initial=key.tolerance if key else 0
                )
            for language, short in LANGUAGES:
                initial = key.explanation.get(language, "") if key else ""
                self.fields[f"{question.key}.explanation_{short}"] = explanation_field(language, initial)

    def rows(self) -> list[tuple[str, list[forms.BoundField]]]:
        """Each question's title and fields."""
        return [
            (
                in_language(question.title),
                [self[name] for name in self.fields if name.rpartition(".")[0] == question.key],
            )
            for question in self.questions
        ]

    def expected(self) -> list[ExpectedAnswer]:
        return [
            ExpectedAnswer(
                question.key,
                answer,
                tolerance=self.cleaned_data.get(f"{question.key}.tolerance") or 0.0,
                explanation={
                    language: self.cleaned_data[f"{question.key}.explanation_{short}"]
                    for language, short in LANGUAGES
                },
            )
            for question in self.questions
            if (answer := self.cleaned_data[f"{question.key}.answer"])
        ]


def explanation_field(language: str, initial: str = "") -> forms.CharField:
    labels = {
        "en": _("Why, in English? Raters read this after their answer."),
        "zh-hans": _("Why, in Chinese? Raters who read in Chinese see it."),
    }
    return forms.CharField(
        label=labels[language],
        required=False,
        max_length=2000,
        initial=initial,
        widget=forms.Textarea({"rows": 2, "lang": "zh-Hans" if language == "zh-hans" else "en"}),
    )


def _answer_field(question: QuestionSpec, answer: str) -> forms.Field:
    words = {
        "first": _("The first clip or answer, as imported"),
        "second": _("The second clip or answer, as imported"),
        "tie": _("Tie"),
        "both_bad": _("Both bad"),
    }
    points = {f"{point.value:g}": f"{point.value:g} {in_language(point.label)}" for point in question.points}
    options = {option.key: in_language(option.title) for option in question.options}
    named: dict[str, Any] = {**words, **points, **options}
    offered = answers_of(question)
    common: dict[str, Any] = {"label": _("Expected answer"), "required": False, "initial": answer}
    if not offered:
        return forms.CharField(**common, max_length=40)
    choices = [("", _("None: not part of the check")), *((key, named.get(key, key)) for key in offered)]
    return forms.ChoiceField(**common, choices=choices)


PARTS: dict[str, type[ConsentForm] | type[GuidelinesForm] | type[AboutRatersForm] | type[TrainingForm]] = {
    form.part: form for form in (ConsentForm, AboutRatersForm, GuidelinesForm, TrainingForm)
}
