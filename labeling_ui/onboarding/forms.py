"""The form of a study's questions about its raters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from annotation.onboarding.rules import MAX_TEXT, PREFER_NOT_TO_SAY, DemographicQuestion, in_language


def wording(texts: Mapping[str, str]) -> str:
    """A text in the language of this page; in English, or whatever there is, where it lacks that."""
    return in_language(texts, get_language() or "en")


class DemographicsForm(forms.Form):
    """A field per question, and beside each text a box for “Prefer not to say”. Required answers are checked by the
    service, which knows that this is one."""

    def __init__(
        self,
        data: Any = None,
        *,
        questions: Sequence[DemographicQuestion],
        answers: Mapping[str, str] | None = None,
    ) -> None:
        self.questions = questions
        super().__init__(data, initial=answers or {}, auto_id="about_%s")
        for question in questions:
            self.fields[question.key] = _field(question)
            if not question.options:
                declines = (answers or {}).get(question.key) == PREFER_NOT_TO_SAY
                self.fields[_declined(question)] = forms.BooleanField(
                    label=_("Prefer not to say"), required=False, initial=declines
                )
                if declines:
                    self.initial[question.key] = ""

    def rows(self) -> list[tuple[DemographicQuestion, forms.BoundField, forms.BoundField | None]]:
        """Each question with its field, and the box beside a text."""
        return [
            (question, self[question.key], None if question.options else self[_declined(question)])
            for question in self.questions
        ]

    @property
    def answers(self) -> dict[str, str]:
        """As the service takes them."""
        return {
            question.key: PREFER_NOT_TO_SAY
            if self.cleaned_data.get(_declined(question))
            else self.cleaned_data.get(question.key, "")
            for question in self.questions
        }


def _declined(question: DemographicQuestion) -> str:
    return f"{question.key}:declined"


def _field(question: DemographicQuestion) -> forms.Field:
    label = wording(question.texts)
    if not question.required:
        label = _("%(question)s (optional)") % {"question": label}
    if not question.options:
        return forms.CharField(label=label, required=False, max_length=MAX_TEXT, strip=True)
    choices = [(key, wording(texts)) for key, texts in question.options]
    choices.append((PREFER_NOT_TO_SAY, _("Prefer not to say")))
    return forms.ChoiceField(label=label, required=False, choices=choices, widget=forms.RadioSelect)
