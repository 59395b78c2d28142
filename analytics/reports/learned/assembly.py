"""A comparison of versions as a document; of one version alone, its evaluation."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version

from django.utils import translation
from django.utils.translation import gettext as _

from analytics import prompt_frames, text_frames
from analytics.questions import measured_questions
from analytics.reports.document import Block, Document, Paragraph, Section, Table
from analytics.reports.learned.compared import compared_section
from analytics.reports.learned.differences import preference_differences, rating_differences
from analytics.reports.learned.glance import preference_glance, rating_glance
from analytics.reports.learned.held_out import version_name
from analytics.reports.learned.material import Contest, entrants
from analytics.reports.learned.parts import parts_of_pairs
from analytics.reports.learned.together import together
from analytics.reports.paper.models_calibration import calibration_blocks, rating_curves
from analytics.reports.paper.models_judged import compared, rated
from analytics.reports.paper.models_missed import missed_preferences, missed_ratings
from analytics.reports.paper.models_preferences import preference_tables
from analytics.reports.paper.models_ratings import rating_tables
from analytics.services.code_version import code_version
from analytics.statistics.bootstrap import Resampling
from analytics.vote_frames import Votes, votes
from annotation.models import Study
from scoring.models import LearnedModel, Scorer

# Hears how many of the study's questions are done.
Progress = Callable[[int], None]


def comparison(
    study: Study,
    models: Sequence[LearnedModel],
    others: Sequence[Scorer] = (),
    *,
    resampling: Resampling,
    language: str,
    progress: Progress = lambda done: None,
) -> Document:
    """Read and computed now, in the transaction of whoever calls. `models` in the order in which they are told."""
    held, scored = entrants(study, models, others)
    texts, made = text_frames.answers(study), prompt_frames.made(study)
    contest = Contest(study, models, scored, held, texts, made, resampling)
    asked = measured_questions(study, language=language)
    with translation.override(language):
        sections = [compared_section(contest)]
        for done, question in enumerate(asked, start=1):
            if section := _section(contest, votes(question)):
                sections.append(section)
            progress(done)
        if len(sections) == 1:
            sections.append(_nothing())
        return Document(_title(contest), language, _facts(contest), sections)


def _section(contest: Contest, said: Votes) -> Section | None:
    """None where nobody has a score of anything people said of held-out items."""
    blocks = list(
        _of_preferences(contest, said) if said.question.is_preference else _of_ratings(contest, said)
    )
    return Section(f"question_{said.question.key}", said.question.title, blocks) if blocks else None


def _of_preferences(contest: Contest, said: Votes) -> Iterator[Block]:
    asked = contest.asked(said, by_raters=contest.held.by_raters)
    pairs, early = compared(asked.votes), compared(asked.first_votes)
    scored = asked.with_scores(lambda one: one.leads(pairs.first, pairs.second))
    if scored is None:
        return
    everybodys = compared(contest.asked(said, by_raters=False).first_votes)
    yield preference_glance(scored, pairs, everybodys)
    if contest.held.raters:
        others = compared(contest.asked(said, by_raters=not contest.held.by_raters).votes)
        yield preference_glance(scored, others, everybodys, whose=contest.held.others)
    yield from _one(preference_differences(scored, pairs))
    yield from preference_tables(scored, pairs, early, list(parts_of_pairs(pairs, contest.made)))
    yield from calibration_blocks(scored, early)
    yield from _one(missed_preferences(scored, pairs))


def _of_ratings(contest: Contest, said: Votes) -> Iterator[Block]:
    asked = contest.asked(said, by_raters=contest.held.by_raters)
    found, early = rated(asked.votes), rated(asked.first_votes)
    scored = asked.with_scores(lambda one: one.of(found.candidate))
    if scored is None:
        return
    everybody = contest.asked(said, by_raters=False)
    several = together(scored, rated(everybody.votes))
    joined, everybodys = several.asked if several else scored, rated(everybody.first_votes)
    yield rating_glance(joined, found, everybodys)
    if several:
        yield several.weights
    if contest.held.raters:
        others = rated(contest.asked(said, by_raters=not contest.held.by_raters).votes)
        yield rating_glance(joined, others, everybodys, whose=contest.held.others)
    yield from _one(rating_differences(joined, found))
    yield from rating_tables(scored, found, early, contest.texts)
    yield from rating_curves(scored, found)
    yield from _one(missed_ratings(scored, found))


def _one(table: Table | None) -> Iterator[Table]:
    if table is not None:
        yield table


def _nothing() -> Section:
    text = _(
        "People have not judged any of these items by votes that count, so there is nothing to compare with."
    )
    return Section("nothing", _("Results"), [Paragraph(text, warning=True)])


def _title(contest: Contest) -> str:
    named = [version_name(model) for model in contest.models]
    if len(contest.models) == len(contest.scored) == 1:
        return _("%(version)s on held-out votes: %(study)s") % {
            "version": named[0],
            "study": contest.study.title,
        }
    return _("Models compared on held-out votes: %(study)s") % {"study": contest.study.title}


def _facts(contest: Contest) -> list[tuple[str, str]]:
    drawn = _("%(replicates)s replicates, seed %(seed)s") % {
        "replicates": f"{contest.resampling.replicates:,}",
        "seed": contest.resampling.seed,
    }
    digests = [
        f"{version_name(model)}: {model.scorer.digest[:16]}" for model in contest.models if model.scorer
    ]
    made = [f"{name} {version(name.lower())}" for name in ("NumPy", "SciPy")]
    python = ".".join(platform.python_version_tuple()[:2])
    return [
        (_("Study"), contest.study.slug),
        (_("Versions (digest of the scorer)"), ", ".join(digests)),
        (_("Resampling"), drawn),
        (_("Software"), ", ".join([f"Concord {code_version()}", f"Python {python}", *made])),
    ]
