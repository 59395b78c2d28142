"""The tabs of a study's pages, daily work before what sets the study up; and the pages of its settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotation.models import Study
from annotation.studies.protocols import load_protocol
from labeling_ui.study.settings_forms import SECTIONS


@dataclass(frozen=True)
class Tab:
    """`page`: the URL name that it opens. Pages below that address belong to it, and those of the names in `also`."""

    page: str
    title: Promise
    also: frozenset[str] = frozenset()
    for_experts: bool = False


WORK = (
    Tab("study", _("Overview")),
    Tab("data", _("Data"), frozenset({"item_history", "task_key"})),
    Tab("raters", _("Raters"), frozenset({"rater", "quality_rules", "rater_actions", "simulate"})),
    Tab("review_queue", _("Review"), frozenset({"desk"}), for_experts=True),
    Tab("report", _("Report")),
    Tab(
        "models",
        _("Models"),
        frozenset({"writers", "scoring_run", "failed_rows", "writing_run", "learned_model"}),
    ),
)
SETUP = (
    Tab("questions", _("Questions")),
    Tab("import", _("Import"), frozenset({"upload"})),
    Tab("people", _("People"), frozenset({"study_log"})),
    Tab("export", _("Export"), frozenset({"releases", "release", "training_sets"})),
    Tab(
        "settings",
        _("Settings"),
        frozenset(
            {
                "review_rules",
                "rules_preview",
                "webhooks",
                "webhook",
                "webhook_secret",
                "planner",
                "panels",
                "panel_link",
            }
        ),
    ),
)


@dataclass(frozen=True)
class Link:
    href: str
    title: Promise
    is_current: bool


def study_tabs(request: HttpRequest, slug: str, *, reviews_only: bool) -> list[list[Link]]:
    """The tabs that this account may open, in their two groups; an empty group is left out."""
    shown = [[tab for tab in group if tab.for_experts or not reviews_only] for group in (WORK, SETUP)]
    groups = [_links(request, slug, tabs) for tabs in shown]
    return [links for links in groups if links]


def _links(request: HttpRequest, slug: str, tabs: Sequence[Tab]) -> list[Link]:
    links = []
    for tab in tabs:
        try:
            address = reverse(tab.page, args=[slug])
        except NoReverseMatch:
            continue  # no such page yet
        links.append(Link(address, tab.title, _is_current(request, tab, address)))
    return links


def _is_current(request: HttpRequest, tab: Tab, address: str) -> bool:
    name = request.resolver_match.url_name if request.resolver_match else None
    if name in _ELSEWHERE:
        return name in tab.also
    return name == tab.page or (tab.page != "study" and request.path.startswith(address))


# Pages whose address names another tab than theirs, or none.
_ELSEWHERE = frozenset(name for tab in (*WORK, *SETUP) for name in tab.also)


def settings_entries(request: HttpRequest, study: Study) -> list[Link]:
    """The pages of a study's settings; sections that the study cannot have are left out."""
    protocol = load_protocol(study.protocol_version_id).spec
    sections = [form for form in SECTIONS.values() if form.is_offered(study, protocol)]
    pages: list[tuple[str, Promise]] = [
        ("settings", _("General")),
        ("before_rating", _("Before rating")),
        *((form.url_name, form.title) for form in sections),
        ("review_rules", _("Review rules")),
        ("panels", _("Panels")),
        ("webhooks", _("Webhooks")),
    ]
    name = request.resolver_match.url_name if request.resolver_match else ""
    current = {
        "webhook": "webhooks",
        "webhook_secret": "webhooks",
        "rules_preview": "review_rules",
        "preview_path": "before_rating",
        "training_task": "before_rating",
        "panel_link": "panels",
        "hidden_checks": "injection_settings",
    }.get(name or "", name)
    return [Link(reverse(page, args=[study.slug]), title, page == current) for page, title in pages]
