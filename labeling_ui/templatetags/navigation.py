"""The way around a study, in templates."""

from __future__ import annotations

from typing import Any

from django import template
from django.template import Context

from labeling_ui.study import navigation

register = template.Library()


@register.simple_tag(takes_context=True)
def settings_entries(context: Context) -> list[navigation.Link]:
    return navigation.settings_entries(context["request"], context["study"])


@register.simple_tag(takes_context=True)
def study_tabs(context: Context) -> list[list[navigation.Link]]:
    """Experts who do not manage the study have its review alone."""
    access: Any = context.get("access")
    reviews_only = bool(access and access.reviews)
    return navigation.study_tabs(context["request"], context["study"].slug, reviews_only=reviews_only)
