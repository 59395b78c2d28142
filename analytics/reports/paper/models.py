"""Models against people: every scorer version with scores in the study, beside what people said of the same things."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.utils.translation import gettext as _

from analytics import text_frames
from analytics.reports.document import Block, Cell, Column, Paragraph, Section, Table
from analytics.reports.paper.hints import not_independent
from analytics.reports.paper.material import Material
from analytics.reports.paper.models_calibration import calibration_blocks, rating_curves
from analytics.reports.paper.models_cells import count_column, scorer_column
from analytics.reports.paper.models_judged import Compared, Rated, compared, rated
from analytics.reports.paper.models_missed import missed_preferences, missed_ratings
from analytics.reports.paper.models_preferences import preference_tables
from analytics.reports.paper.models_question import Asked, asked_with
from analytics.reports.paper.models_ratings import rating_tables
from analytics.reports.paper.models_scores import ScoredBy, scored_by
from analytics.reports.paper.words import sentences
from analytics.text_frames import Answer


def models_section(material: Material) -> Section | None:
    """None where nothing has scored what people judged."""
    scored = scored_by(material.study)
    if not scored:
        return None
    texts = text_frames.answers(material.study)
    blocks: list[Block] = []
    for votes in material.votes:
        asked = asked_with(votes.counted(), scored, material.settings.resampling)
        blocks += _blocks(asked, texts)
    if not blocks:
        return None
    return Section(
        "models",
        _("Models against people"),
        [*not_independent(material), _reading(scored), _scorers(scored), *blocks],
    )


def _blocks(asked: Asked, texts: dict[int, Answer]) -> Iterator[Block]:
    if asked.question.is_preference:
        pairs = compared(asked.votes)
        if scored := asked.with_scores(lambda one: one.leads(pairs.first, pairs.second)):
            yield from _of_preferences(scored, pairs)
        return
    found = rated(asked.votes)
    if scored := asked.with_scores(lambda one: one.of(found.candidate)):
        yield from _of_ratings(scored, found, texts)


def _of_preferences(asked: Asked, pairs: Compared) -> Iterator[Block]:
    early = compared(asked.first_votes)
    yield from preference_tables(asked, pairs, early)
    yield from calibration_blocks(asked, early)
    if missed := missed_preferences(asked, pairs):
        yield missed


def _of_ratings(asked: Asked, found: Rated, texts: dict[int, Answer]) -> Iterator[Block]:
    yield from rating_tables(asked, found, rated(asked.first_votes), texts)
    yield from rating_curves(asked, found)
    if missed := missed_ratings(asked, found):
        yield missed


def _reading(scored: Sequence[ScoredBy]) -> Paragraph:
    said = [_("Scores are taken as they are stored, each scorer version by itself.")]
    if learned := [str(one.scorer) for one in scored if one.learned_here]:
        text = _(
            "%(scorer)s: trained on votes of this study, so all figures of it here rest on what was held out of that "
            "training; elsewhere it counts as having no score."
        )
        said += [text % {"scorer": name} for name in learned]
    if len(learned) < len(scored):
        said.append(
            _("Whether other scorers were trained on this material elsewhere is not known here.")
            if learned
            else _(
                "None of them was trained on votes of this study here. Whether one was trained on this material "
                "elsewhere is not known: if so, its figures say nothing about other material."
            )
        )
    return Paragraph(sentences(said))


def _scorers(scored: Sequence[ScoredBy]) -> Table:
    learned = any(one.learned_here for one in scored)
    rows: list[list[Cell]] = [
        [str(one.scorer), one.title, ", ".join(output.output for output in one.contenders), one.n_scored,
         *([one.n_told] if learned else [])]
        for one in scored
    ]  # fmt: skip
    return Table(
        key="models_scorers",
        caption=_("Scorers with scores in this study"),
        columns=[
            scorer_column(),
            Column("title", _("What it is")),
            Column("outputs", _("Outputs")),
            count_column("n", _("Candidates or pairs")),
            *([count_column("told", _("Not learned from"))] if learned else []),
        ],
        rows=rows,
        notes=[
            _(
                "The letters after @ begin the digest of all that can change a score. Of several outputs, that of a "
                "question’s own name is held against it; else musicality and alignment where there are both; else the "
                "usual one: “default”, “value”, the mean, or the first."
            )
        ],
    )
