"""A study's report from its sections, in the order in which a paper has them."""

from __future__ import annotations

import platform
from collections.abc import Callable
from datetime import UTC
from importlib.metadata import version

from django.db.models import Max
from django.utils import translation
from django.utils.translation import gettext as _

from analytics.fingerprint import data_sha256
from analytics.questions import measured_questions
from analytics.reports.document import Document, Section
from analytics.reports.paper.agreement import agreement_section
from analytics.reports.paper.data import data_section
from analytics.reports.paper.hints import hints_section
from analytics.reports.paper.length import length_section
from analytics.reports.paper.material import Material, ReportSettings
from analytics.reports.paper.methods import interval_words, methods_section
from analytics.reports.paper.models import models_section
from analytics.reports.paper.preferences import preferences_section
from analytics.reports.paper.raters import raters_section
from analytics.reports.paper.ratings import ratings_section
from analytics.reports.paper.references import references_section
from analytics.reports.paper.words import numbers
from analytics.services.code_version import code_version
from analytics.vote_frames import votes
from annotation.models import Judgment, Study

# Hears how many of `steps.STEPS` are done.
Progress = Callable[[int], None]

_SECTIONS: tuple[Callable[[Material], Section | None], ...] = (
    data_section,
    agreement_section,
    preferences_section,
    ratings_section,
    raters_section,
    hints_section,
    models_section,
    length_section,
    methods_section,
    references_section,
)


def report(study: Study, settings: ReportSettings, *, language: str, progress: Progress) -> Document:
    """Read and computed now, in the transaction of whoever calls. Equal data, settings and code give an equal document,
    whenever and wherever it is made."""
    asked = measured_questions(study, language=language)
    material = Material(study, tuple(votes(question) for question in asked), settings)
    progress(1)
    return document(material, language=language, progress=progress)


def document(material: Material, *, language: str, progress: Progress) -> Document:
    sections = []
    with translation.override(language):
        for done, section in enumerate(_SECTIONS, start=2):
            sections.append(section(material))
            progress(done)
        title = _("Report: %(study)s") % {"study": material.study.title}
        return Document(title, language, _facts(material), [one for one in sections if one is not None])


def _facts(material: Material) -> list[tuple[str, str]]:
    study, settings = material.study, material.settings
    drawn = _("%(replicates)s replicates, seed %(seed)s") % {
        "replicates": f"{settings.resampling.replicates:,}",
        "seed": settings.resampling.seed,
    }
    versions = numbers(sorted(study.protocol_versions.values_list("number", flat=True)))
    made = [f"{name} {version(name.lower())}" for name in ("NumPy", "SciPy")]
    python = ".".join(platform.python_version_tuple()[:2])
    return [
        (_("Study"), study.slug),
        (_("Protocol versions"), versions),
        *_newest(study),
        (_("Data (SHA-256)"), data_sha256(study, material.votes)),
        (_("Interval of alpha"), interval_words(settings)),
        (_("Resampling"), drawn),
        (_("Software"), ", ".join([f"Concord {code_version()}", f"Python {python}", *made])),
    ]


def _newest(study: Study) -> list[tuple[str, str]]:
    """The day of the last judgment given here: the report is about the data up to then, whenever it is made. Imported
    judgments have the time of their import, which says nothing about them."""
    given = Judgment.objects.filter(study=study).exclude(origin=Judgment.Origin.IMPORTED)
    newest = given.aggregate(newest=Max("submitted_at"))["newest"]
    return [] if newest is None else [(_("Newest judgment"), f"{newest.astimezone(UTC):%Y-%m-%d}")]
