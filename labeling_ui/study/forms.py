"""Making a study and changing its settings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import parseaddr
from typing import Any

from django import forms
from django.core.validators import validate_email
from django.utils.translation import gettext_lazy as _

from annotation import access
from annotation.models import RaterWithdrawal, Study, User, Webhook, Workspace
from annotation.models.people import RATING_ROLES, Role
from annotation.protocols import preset, preset_keys, preset_overlap
from annotation.studies.members import MAX_ADDRESSES
from annotation.studies.studies import RESERVED_SLUGS
from labeling_ui.questions.definition_form import blank_definition
from labeling_ui.templatetags.formatting import in_language


@dataclass(frozen=True)
class PresetCard:
    """A preset as somebody choosing among them needs it; `what` is how its guidelines begin."""

    key: str
    title: str
    what: str
    source: str
    overlap: int
    chosen: bool


# To begin with an empty page: the layout, its title and its description.
BLANK = {
    "own-rating": (
        "rating",
        _("My own questions about one clip"),
        _("An empty page: write any questions about each clip."),
    ),
    "own-comparison": (
        "comparison",
        _("My own questions about two clips"),
        _("An empty page: write any questions about pairs of clips, A and B."),
    ),
}


class InWorkspaceForm(forms.Form):
    """Of a study that is to be made: the workspace it is in. Where this account may make studies in workspaces alone,
    it is in one of these."""

    workspace = forms.ModelChoiceField(
        Workspace.objects.none(),
        label=_("Workspace"),
        required=False,
        to_field_name="slug",
        empty_label=_("None: you invite people to the study"),
        help_text=_("Its people take part in the study at once, each in the role they have there."),
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["workspace"]
        field.queryset = access.administered_workspaces(user).order_by("title", "pk")
        if not user.may_create_studies:
            field.required, field.empty_label = True, None
        elif not field.queryset.exists():
            del self.fields["workspace"]


class NewStudyForm(InWorkspaceForm):
    title = forms.CharField(
        label=_("Title"),
        max_length=200,
        help_text=_("Raters see it."),
        widget=forms.TextInput({"autofocus": True}),
    )
    slug = forms.SlugField(
        label=_("Address"),
        max_length=80,
        help_text=_("Part of the study's links: letters, digits and hyphens. It cannot be changed later."),
    )
    preset = forms.ChoiceField(label=_("What raters are asked"), widget=forms.RadioSelect)
    overlap = forms.IntegerField(
        label=_("Judgments wanted per task"),
        required=False,
        min_value=1,
        max_value=1000,
        help_text=_(
            "Each by a different rater. Agreement needs at least two. Leave it empty for the number that stands with "
            "the preset."
        ),
    )
    order = forms.ChoiceField(
        label=_("Order of tasks"),
        initial=Study.Order.SHUFFLED,
        choices=Study.Order.choices,
        widget=forms.RadioSelect,
    )
    lease_minutes = forms.IntegerField(
        label=_("Minutes to finish a task"),
        initial=15,
        min_value=1,
        max_value=600,
        help_text=_(
            "After that the task goes to another rater. A later answer is stored, but may not count."
        ),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        presets = [(key, in_language(preset(key).title)) for key in preset_keys()]
        self.fields["preset"].choices = [
            *((key, title) for key, (_layout, title, _what) in BLANK.items()),
            *presets,
        ]
        self.fields["preset"].initial = "cmi-pref"

    @property
    def own_questions(self) -> bool:
        return self.cleaned_data["preset"] in BLANK

    def values(self) -> dict[str, Any]:
        """As `create_study` takes them: a blank page is a definition to begin with, no preset."""
        if not self.own_questions:
            return self.cleaned_data
        definition = blank_definition(BLANK[self.cleaned_data["preset"]][0])
        return {**self.cleaned_data, "preset": "", "definition": definition}

    def cards(self) -> Iterator[PresetCard]:
        for key, (_layout, title, what) in BLANK.items():
            yield PresetCard(
                key, str(title), str(what), "", preset_overlap(key), self["preset"].value() == key
            )
        for key in preset_keys():
            protocol = preset(key)
            beginning = in_language(protocol.guidelines).partition("\n\n")[0]
            chosen = self["preset"].value() == key
            yield PresetCard(
                key, in_language(protocol.title), beginning, protocol.source, preset_overlap(key), chosen
            )

    def clean_slug(self) -> str:
        slug = str(self.cleaned_data["slug"])
        if slug in RESERVED_SLUGS:
            raise forms.ValidationError(_("A page of Concord uses this address. Choose another one."))
        return slug


class SettingsForm(forms.Form):
    title = forms.CharField(label=_("Title"), max_length=200, help_text=_("Raters see it."))
    description = forms.CharField(
        label=_("Description"),
        required=False,
        max_length=20_000,
        help_text=_("Raters see it among their studies and on the invitation."),
        widget=forms.Textarea({"rows": 4}),
    )
    lease_minutes = forms.IntegerField(
        label=_("Minutes to finish a task"),
        min_value=1,
        max_value=600,
        help_text=_("Applies to tasks assigned from now on."),
    )


# Inviting people, changing roles, pausing and excluding raters.


ROLE_LABELS = {
    Role.ANNOTATOR: _("Annotator: rates"),
    Role.EXPERT: _("Expert: rates, and reviews what annotators disagree about"),
    Role.RESEARCHER: _("Researcher: runs the study, does not rate"),
    Role.ADMIN: _("Admin: a researcher who can also change roles"),
}


class InvitationForm(forms.Form):
    """By mail where addresses are given, else by a link to copy."""

    role = forms.ChoiceField(label=_("Role"), initial=Role.ANNOTATOR)
    emails = forms.CharField(
        label=_("E-mail addresses"),
        required=False,
        max_length=10_000,
        widget=forms.Textarea({"rows": 3, "autocomplete": "off", "spellcheck": "false"}),
        help_text=_("One or several, separated by commas or lines. Each gets a mail with a link of its own."),
    )
    label = forms.CharField(
        label=_("Label, for yourselves"),
        required=False,
        max_length=100,
        widget=forms.TextInput({"placeholder": _("second cohort"), "autocomplete": "off"}),
    )
    max_uses = forms.IntegerField(label=_("Uses of a copied link"), initial=1, min_value=1, max_value=10_000)
    days = forms.IntegerField(label=_("Days it stays open"), initial=14, min_value=1, max_value=365)

    def __init__(self, *args: Any, grants_any_role: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        roles = Role if grants_any_role else RATING_ROLES
        self.fields["role"].choices = [(role, ROLE_LABELS[role]) for role in roles]

    def clean(self) -> dict[str, Any]:
        """Which of the two buttons was pressed decides; without one, whether there are addresses."""
        cleaned: dict[str, Any] = super().clean() or {}
        if "link" in self.data:
            cleaned["emails"] = []
        elif "send" in self.data and not cleaned.get("emails") and "emails" not in self.errors:
            self.add_error("emails", _("Enter an address, or create a link to copy."))
        return cleaned

    def clean_emails(self) -> list[str]:
        """Addresses as people paste them: also `Ada Lovelace <ada@example.org>`."""
        parts = [part for part in re.split(r"[,;\n]+", self.cleaned_data["emails"]) if part.strip()]
        addresses = [parseaddr(part.strip())[1].lower() for part in parts]
        problems = []
        for part, address in zip(parts, addresses, strict=True):
            try:
                validate_email(address)
            except forms.ValidationError:
                problems.append(_("%(text)s is no e-mail address.") % {"text": part.strip()})
        if len(addresses) > MAX_ADDRESSES:
            problems.append(_("%(n)s addresses at the most.") % {"n": MAX_ADDRESSES})
        if problems:
            raise forms.ValidationError(problems[:5])
        return list(dict.fromkeys(addresses))


class RoleForm(forms.Form):
    role = forms.ChoiceField(label=_("Role"), choices=list(ROLE_LABELS.items()), widget=forms.RadioSelect)


# Which address hears what of a study.


class WebhookForm(forms.Form):
    address = forms.CharField(
        label=_("Address"),
        max_length=2000,
        widget=forms.URLInput(
            attrs={"placeholder": "https://", "autocomplete": "off", "spellcheck": "false"}
        ),
        help_text=_("Requests are sent here, each with one event."),
    )
    description = forms.CharField(label=_("Description"), max_length=200, required=False)
    events = forms.CharField(
        label=_("Events"),
        initial="*",
        max_length=2000,
        help_text=_(
            "Names or patterns, separated by commas: judgment.*, study.state_changed. * stands for all."
        ),
    )
    with_answers = forms.BooleanField(
        label=_("Send the answers, too"),
        required=False,
        help_text=_(
            "Otherwise events of judgments say which task and which pseudonym, and nothing of what was said."
        ),
    )

    def clean_events(self) -> list[str]:
        text: str = self.cleaned_data["events"]
        return [pattern.strip() for pattern in text.replace("\n", ",").split(",") if pattern.strip()]


class WebhookChangeForm(WebhookForm):
    active = forms.BooleanField(
        label=_("Switched on"),
        required=False,
        help_text=_("While the webhook is off, events are not collected, and they are not sent later."),
    )

    @classmethod
    def initial_of(cls, webhook: Webhook) -> dict[str, Any]:
        values = {name: getattr(webhook, name) for name in cls.base_fields}
        return {**values, "events": ", ".join(webhook.events)}


class WithdrawalForm(forms.Form):
    mode = forms.ChoiceField(
        label=_("What happens to their judgments"),
        choices=RaterWithdrawal.Mode.choices,
        initial=RaterWithdrawal.Mode.REMOVED,
        widget=forms.RadioSelect,
    )
    note = forms.CharField(
        label=_("Note"),
        required=False,
        max_length=2000,
        help_text=_("How they asked for it; it stands on their certificate."),
    )
    sure = forms.BooleanField(label=_("I know that this cannot be undone."))
