"""What is compared on what, and how the versions were made: the head of a comparison."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext as _

from analytics import hint_frames
from analytics.reports.document import Block, Cell, Column, Paragraph, Section, Table
from analytics.reports.learned.held_out import version_name
from analytics.reports.learned.material import Contest
from analytics.reports.paper.models_cells import count_column, number_column


def compared_section(contest: Contest) -> Section:
    blocks: list[Block] = [*_ground(contest), *_shown(contest), _versions(contest)]
    if figures := _training_figures(contest):
        blocks.append(figures)
    return Section("compared", _("What is compared"), blocks)


def _ground(contest: Contest) -> Iterator[Paragraph]:
    held, named = contest.held, [version_name(model) for model in contest.models]
    if len(named) == 1:
        text = _("All figures are of the %(items)s items that %(version)s did not learn from.")
        yield Paragraph(text % {"items": f"{len(held.items):,}", "version": named[0]})
    else:
        text = _("All figures are of the %(items)s items that none of %(versions)s learned from.")
        yield Paragraph(text % {"items": f"{len(held.items):,}", "versions": ", ".join(named)})
    for systems in held.systems:
        text = _("Only answers or clips by %(systems)s count, which a version held out in place of items.")
        yield Paragraph(text % {"systems": ", ".join(sorted(systems))})
    if held.by_raters:
        text = _("Votes are those of the %(raters)s raters whose votes were held out as well.")
        yield Paragraph(text % {"raters": f"{len(held.raters):,}"})
    elif held.raters:
        text = _(
            "Votes are those of all raters on these items: fewer than five raters were held out, here %(raters)s, "
            "which is too few to say how uncertain a figure is. Theirs alone stand in a table of their own."
        )
        yield Paragraph(text % {"raters": f"{len(held.raters):,}"})
    elif any(model.record.get("held_out", {}).get("raters") for model in contest.models):
        yield Paragraph(
            _("The versions hold out different raters, so votes are those of all raters on these items."),
            warning=True,
        )
    else:
        yield Paragraph(_("No raters were held out: votes are those of all raters on these items."))
    others = [
        str(one.scorer)
        for one in contest.scored
        if one.scorer.pk not in {m.scorer_id for m in contest.models}
    ]
    if others:
        text = _("Whether %(scorers)s learned from these items elsewhere is not known here.")
        yield Paragraph(text % {"scorers": ", ".join(others)})


def _shown(contest: Contest) -> Iterator[Paragraph]:
    """Where raters saw what a model says, their votes are no independent measure of it."""
    if (found := hint_frames.shown_in(contest.study)) and found.shown:
        text = _(
            "Before %(shown)s judgments of this study raters were shown what a model says (%(scorers)s). It may look "
            "more like people than it is; the report of the study tells by how much."
        )
        told = {"shown": f"{found.shown:,}", "scorers": ", ".join(found.scorers)}
        yield Paragraph(text % told, warning=True)


def _versions(contest: Contest) -> Table:
    rows: list[list[Cell]] = []
    for model in contest.models:
        record, held = model.record, model.record.get("held_out", {})
        rows.append(
            [
                version_name(model), f"{model.created_at:%Y-%m-%d}", str(record.get("data_sha256", ""))[:8],
                record.get("seed"), record.get("plan", {}).get("repeats", 1), len(held.get("items", ())),
                len(held.get("raters", ())), record.get("seconds"), record.get("peak_memory_mb"),
                record.get("gpu_peak_memory_mb"),
            ]
        )  # fmt: skip
    return Table(
        key="versions",
        caption=_("The versions"),
        columns=[
            Column("version", _("Version")), Column("made", _("Made")), Column("data", _("Data (SHA-256)")),
            count_column("seed", _("Seed")), count_column("repeats", _("Repeats")),
            count_column("items", _("Items held out")), count_column("raters", _("Raters held out")),
            number_column("seconds", _("Seconds"), digits=0), number_column("memory", _("Memory, MB"), digits=0),
            number_column("gpu_memory", _("GPU memory, MB"), digits=0),
        ],
        rows=rows,
        notes=[_("Data: the first letters of the digest of all votes and items that a version was made from.")],
    )  # fmt: skip


def _training_figures(contest: Contest) -> Table | None:
    rows: list[list[Cell]] = [
        [version_name(model), name, figure.get("mean"), figure.get("sd"), figure.get("n")]
        for model in contest.models
        for name, figure in sorted(_figures(model.record).items())
    ]
    if not rows:
        return None
    return Table(
        key="training",
        caption=_("What each training found on its own held-out items"),
        columns=[
            Column("version", _("Version")), Column("figure", _("Figure")), number_column("mean", _("Mean")),
            number_column("sd", _("Standard deviation")), count_column("n", _("Trainings")),
        ],
        rows=rows,
        notes=[
            _(
                "Over repeated trainings with other seeds, where more than one was asked for. These items differ from "
                "version to version; only the figures below are of the same ones."
            )
        ],
    )  # fmt: skip


def _figures(record: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = record.get("figures", {})
    return found
