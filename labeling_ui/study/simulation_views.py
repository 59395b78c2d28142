"""Try a study with simulated raters: who they are, and the simulations so far."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext as look_up
from django.utils.translation import gettext_lazy

from analytics.raters.rules import PRESETS
from analytics.simulation import jobs
from annotation import access
from annotation.errors import Conflict, InvalidInput
from annotation.jobs.jobs import newest_jobs
from annotation.simulation import simulations
from annotation.simulation.profiles import DEFAULT_MIX, MAX_RATERS, parse_mix, profiles
from labeling_ui.domain_errors import errors_in_form
from labeling_ui.templatetags.formatting import in_language

JOBS_SHOWN = 10
_DEFAULTS = parse_mix(DEFAULT_MIX)


class SimulationForm(forms.Form):
    """A field for each profile, named n_ and its key."""

    votes = forms.IntegerField(
        label=gettext_lazy("Tasks of each rater, at most"),
        min_value=1,
        max_value=simulations.MAX_VOTES,
        initial=30,
    )
    overlap = forms.IntegerField(
        label=gettext_lazy("Judgments per task"), min_value=1, max_value=simulations.MAX_VOTES, required=False,
        help_text=gettext_lazy("Empty: the study's own, or as many as the raters need to give their votes."),
    )  # fmt: skip
    seed = forms.IntegerField(
        label=gettext_lazy("Seed"), min_value=0, max_value=2**31 - 1, initial=1,
        help_text=gettext_lazy("The same seed gives the same raters."),
    )  # fmt: skip
    truth_from = forms.ChoiceField(
        label=gettext_lazy("What is true"),
        choices=(
            ("votes", gettext_lazy("What the votes so far say; drawn where there are none")),
            ("drawn", gettext_lazy("Drawn at random")),
        ),
    )
    rules = forms.ChoiceField(label=gettext_lazy("Quality rules"), required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        presets = [
            (key, _("Preset: %(title)s") % {"title": look_up(title)})
            for key, (title, _rules) in PRESETS.items()
        ]
        rules = self.fields["rules"]
        assert isinstance(rules, forms.ChoiceField)
        rules.choices = [("", _("Those of the study")), *presets]
        for profile in profiles().values():
            self.fields[f"n_{profile.key}"] = forms.IntegerField(
                label=in_language(profile.title), min_value=0, max_value=MAX_RATERS, required=False,
                initial=_DEFAULTS.get(profile.key, 0),
            )  # fmt: skip

    def of_profiles(self, *, good: bool) -> Iterator[forms.BoundField]:
        return (self[f"n_{one.key}"] for one in profiles().values() if one.good == good)

    @property
    def good(self) -> list[forms.BoundField]:
        return list(self.of_profiles(good=True))

    @property
    def bad(self) -> list[forms.BoundField]:
        return list(self.of_profiles(good=False))

    @property
    def options(self) -> dict[str, Any]:
        """As `start_simulation` takes them."""
        counts = {one: self.cleaned_data[f"n_{one}"] or 0 for one in profiles()}
        mix = ",".join(f"{key}:{count}" for key, count in counts.items() if count)
        return {
            "profile": mix,
            **{name: self.cleaned_data[name] for name in ("votes", "overlap", "seed", "truth_from", "rules")},
        }


@login_required
def simulate(request: HttpRequest, slug: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    form = SimulationForm(request.POST or None)
    if form.is_valid():
        with errors_in_form(form, (Conflict, InvalidInput), field=None):
            return redirect("job", jobs.start_simulation(study, actor=request.user, **form.options).pk)
    context = {
        "study": study,
        "form": form,
        "simulated": simulations.is_simulation(study),
        "copies": simulations.simulations_of(study),
        "jobs": newest_jobs(study, jobs.SIMULATION_JOB)[:JOBS_SHOWN],
    }
    return render(request, "labeling_ui/study/simulate.html", context)
