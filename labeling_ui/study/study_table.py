"""The table of the studies that somebody runs, on their own page and on a workspace's: filters, rows, the next page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.models import Study, Workspace
from annotation.models.people import Role
from annotation.studies import study_list
from annotation.studies.study_list import ARCHIVED, NO_WORKSPACE, StudyFilters


class StudyListForm(forms.Form):
    """Of the address; what it cannot be reads as nothing. Without `workspaces` there is none to choose."""

    q = forms.CharField(label=_("Search"), required=False, max_length=200)
    workspace = forms.ChoiceField(label=_("Workspace"), required=False)
    state = forms.ChoiceField(
        label=_("State"),
        required=False,
        choices=[("", _("Every state")), *Study.State.choices, (ARCHIVED, _("Archived"))],
    )
    sort = forms.ChoiceField(label=_("Order"), required=False)
    page_after = forms.IntegerField(required=False, min_value=1, max_value=2**63 - 1)

    def __init__(self, data: Mapping[str, Any], *, workspaces: Sequence[Workspace] = ()) -> None:
        super().__init__(data)
        orders = [
            ("newest", _("Newest first")),
            ("activity", _("Latest judgment first")),
            ("title", _("By title")),
        ]
        if workspaces:
            self.fields["workspace"].choices = [
                ("", _("Every workspace")),
                *((each.slug, each.title) for each in workspaces),
                (NO_WORKSPACE, _("In no workspace")),
            ]
            orders.append(("workspace", _("By workspace")))
        else:
            del self.fields["workspace"]
        self.fields["sort"].choices = orders
        self.is_valid()

    def _values(self) -> dict[str, Any]:
        return {name: value for name, value in self.cleaned_data.items() if value}

    def filters(self, *, workspace: str = "") -> StudyFilters:
        """`workspace`: the one that the page is of."""
        values = self._values()
        return StudyFilters(
            text=values.get("q", ""),
            state=values.get("state", ""),
            sort=values.get("sort", "newest"),
            workspace=workspace or values.get("workspace", ""),
        )

    def after(self) -> int | None:
        after: int | None = self.cleaned_data.get("page_after")
        return after

    def is_active(self) -> bool:
        """Whether it leaves studies out."""
        return bool(self._values())

    def is_grouped(self) -> bool:
        """Whether the rows stand under the workspaces' names."""
        return self._values().get("sort") == "workspace"

    def query(self, *, after: int) -> str:
        return urlencode({**self._values(), "page_after": after})


def study_rows(studies: Sequence[Study], n_open: Mapping[int, int]) -> Iterator[dict[str, Any]]:
    """Each with how far it is; `n_open`: the open cases of each."""
    progress = study_list.progress_of(studies) if studies else {}
    for study in studies:
        yield {
            "study": study,
            "role": Role(study.role),  # type: ignore[attr-defined]
            "progress": progress[study.pk],
            "n_open": n_open.get(study.pk, 0),
        }
