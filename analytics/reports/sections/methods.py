"""Methods section: how figures are computed, in sentences for a paper, and the references."""

from __future__ import annotations

import math
from collections.abc import Iterator

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from analytics.data import counted_judgments
from analytics.data.counted_judgments import COUNTED, EXCLUDED, SURPLUS
from analytics.data.votes import NOBODY, Votes
from analytics.reports.document import Paragraph, Section
from analytics.reports.sections.data import excluded_because, origin_sentences
from analytics.reports.sections.hints import methods_sentence
from analytics.reports.sections.material import (
    ReportData,
    ReportSettings,
    join_sentences,
    kind_word,
    level_word,
    list_numbers,
)
from analytics.reports.sections.preference_ranking import RIDGE
from annotation.rating.rules import stopping


def methods_section(material: ReportData) -> Section | None:
    questions = [votes for votes in material.votes if len(votes)]
    if not questions:
        return None
    rated = [votes for votes in questions if votes.question.is_rating]
    compared = any(votes.question.is_preference for votes in questions)
    parts = [
        _data(material),
        _questions(questions),
        _agreement(material),
        *([_preferences()] if compared else []),
        *([_ratings(material, rated)] if rated else []),
        _resampled(material.settings),
    ]
    return Section("methods", _("Methods"), [Paragraph(join_sentences(list(part))) for part in parts])


def interval_words(settings: ReportSettings) -> str:
    words = {
        "jackknife": _("jackknife over units"),
        "units": _("bootstrap over units"),
        "items": _("bootstrap over prompts"),
    }
    return f"{_percent(settings)}, {words[settings.interval]}"


def _data(material: ReportData) -> Iterator[str]:
    fates = counted_judgments.judgment_fates(material.study)
    counts = counted_judgments.material_counts(material.study)
    n = {name: sum(one.n for one in fates if one.fate == name) for name in (COUNTED, EXCLUDED, SURPLUS)}
    values = {"judgments": f"{n[COUNTED]:,}", "tasks": f"{counts.judged:,}", "raters": f"{counts.raters:,}"}
    if not any((votes.rater == NOBODY).any() for votes in material.votes):
        text = _("We analysed %(judgments)s judgments of %(tasks)s tasks by %(raters)s raters.")
    elif counts.raters:
        text = _(
            "We analysed %(judgments)s judgments of %(tasks)s tasks; the source does not name all raters."
        )
    else:
        text = _(
            "We analysed %(judgments)s judgments of %(tasks)s tasks; the source does not name the raters."
        )
    yield text % values
    yield from origin_sentences(material)
    yield _(
        "Answers to training tasks, to tasks with a known answer and to attention checks, and judgments that experts "
        "made in the review, are in none of them."
    )
    if n[EXCLUDED]:
        reasons = "; ".join(f"{excluded_because(one)}: {one.n:,}" for one in fates if one.fate == EXCLUDED)
        text = ngettext(
            "%(n)s judgment was excluded (%(reasons)s).",
            "%(n)s judgments were excluded (%(reasons)s).",
            n[EXCLUDED],
        )
        yield text % {"n": f"{n[EXCLUDED]:,}", "reasons": reasons}
    else:
        yield _("No judgment was excluded.")
    if n[SURPLUS]:
        text = ngettext(
            "%(n)s judgment arrived after its task had all it wanted; it is left out.",
            "%(n)s judgments arrived after their task had all it wanted; they are left out.",
            n[SURPLUS],
        )
        yield text % {"n": f"{n[SURPLUS]:,}"}
    if any(votes.units.corrected.any() for votes in material.votes):
        yield _(
            "Where an expert corrected a text, votes on the text before are left out and votes on the corrected text "
            "count, unless a table says otherwise."
        )
    yield methods_sentence(material)
    if stopping.adaptive_rule(material.study.rules):
        yield _("Overlap was adaptive, by the rule that the section on the data gives.")


def _questions(questions: list[Votes]) -> Iterator[str]:
    for votes in questions:
        question = votes.question
        values = {
            "title": question.title.rstrip(".?!。？！"),
            "kind": kind_word(question.kind),
            "level": level_word(question.level),
            "points": list_numbers(question.points) if question.is_rating else "",
            "versions": list_numbers(question.versions),
        }
        text = _(
            "“%(title)s” (%(kind)s) was measured at the %(level)s level, under protocol version %(versions)s."
        )
        if values["points"]:
            text = _(
                "“%(title)s” (%(kind)s, values %(points)s) was measured at the %(level)s level, under protocol "
                "version %(versions)s."
            )
        yield text % values
        if question.other_versions:
            text = _("Answers to it under version %(versions)s are on another scale and left out.")
            yield text % {"versions": list_numbers(question.other_versions)}


def _agreement(material: ReportData) -> Iterator[str]:
    settings = material.settings
    values = {"level": _percent(settings), "n": f"{settings.resampling.replicates:,}"}
    yield _("Agreement is Krippendorff’s alpha (Krippendorff, 2018).")
    yield _("A unit is a task, or one candidate of a task where the question is asked of each.")
    yield _(
        "Missing ratings are left out, never filled in: a unit with fewer than two ratings adds nothing, and of "
        "several answers that a rater gave to one unit the first counts."
    )
    intervals = {
        "jackknife": _(
            "Its %(level)s intervals are the jackknife’s over units, with Student’s t (Hughes, 2022)."
        ),
        "units": _(
            "Its %(level)s intervals lie between percentiles of %(n)s bootstrap replicates that draw units."
        ),
        "items": _(
            "Its %(level)s intervals lie between percentiles of %(n)s bootstrap replicates that draw prompts, each "
            "with all its units."
        ),
    }
    yield intervals[settings.interval] % values
    yield _("Where a figure or its interval is not defined, a dash stands in its place and a note says why.")


def _preferences() -> Iterator[str]:
    yield _(
        "Which of two candidates is stored first is arbitrary, so agreement on preferences treats the sides as "
        "interchangeable; ties and “both bad” are left out of it."
    )
    yield _(
        "Systems are ranked by the strengths of the Bradley–Terry model (Bradley & Terry, 1952) with ties as in "
        "Davidson (1970), fitted by maximum likelihood."
    )
    text = _(
        "Where a system never lost to the others, which leaves its strength without bound, all strengths get a normal "
        "prior with a standard deviation of %(deviation)s."
    )
    yield text % {"deviation": f"{1 / math.sqrt(RIDGE):.1f}"}
    yield _(
        "“Both bad” does not say which is better: it is counted apart, and part of no strength and no win rate."
    )


def _ratings(material: ReportData, rated: list[Votes]) -> Iterator[str]:
    if any((votes.rater == NOBODY).any() for votes in rated):
        text = _(
            "Mean ratings are over votes; their %(level)s intervals are clustered by prompt, as raters are not named."
        )
    else:
        text = _(
            "Mean ratings are over votes; their %(level)s intervals are clustered by rater and by prompt (Cameron, "
            "Gelbach & Miller, 2011)."
        )
    yield text % {"level": _percent(material.settings)}
    yield _("Tests of differences between systems are corrected for the number of pairs (Holm, 1979).")


def _resampled(settings: ReportSettings) -> Iterator[str]:
    text = _(
        "Where a note speaks of resamples or of drawing anew, %(level)s intervals are percentiles of %(n)s bootstrap "
        "replicates (seed %(seed)s) of raters or prompts, each with all their votes (Efron & Tibshirani, 1993); those "
        "of preferences are expanded for the number of raters or prompts (Hesterberg, 2015) and not given below five."
    )
    resampling = settings.resampling
    yield text % {"level": _percent(settings), "n": f"{resampling.replicates:,}", "seed": resampling.seed}


def _percent(settings: ReportSettings) -> str:
    return f"{settings.resampling.level * 100:g}\N{NO-BREAK SPACE}%"


KENDALL = (
    "Kendall, M. G., & Babington Smith, B. (1939). The problem of m rankings. Annals of Mathematical Statistics, "
    "10(3), 275–287."
)
KRIPPENDORFF = (
    "Krippendorff, K. (2018). Content Analysis: An Introduction to Its Methodology (4th ed.). SAGE."
)
HUGHES = (
    "Hughes, J. (2022). Toward improved inference for Krippendorff’s Alpha agreement coefficient. arXiv preprint "
    "arXiv:2210.13265."
)
EFRON = "Efron, B., & Tibshirani, R. J. (1993). An Introduction to the Bootstrap (chapters 8 and 13). Chapman & Hall."
BRADLEY_TERRY = (
    "Bradley, R. A., & Terry, M. E. (1952). Rank analysis of incomplete block designs: I. The method of paired "
    "comparisons. Biometrika, 39(3/4), 324–345."
)
DAVIDSON = (
    "Davidson, R. R. (1970). On extending the Bradley–Terry model to accommodate ties in paired comparison "
    "experiments. Journal of the American Statistical Association, 65(329), 317–328."
)
CAMERON = (
    "Cameron, A. C., Gelbach, J. B., & Miller, D. L. (2011). Robust inference with multiway clustering. Journal of "
    "Business & Economic Statistics, 29(2), 238–249."
)
HESTERBERG = (
    "Hesterberg, T. C. (2015). What teachers should know about the bootstrap: Resampling in the undergraduate "
    "statistics curriculum. The American Statistician, 69(4), 371–386."
)
HOLM = (
    "Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics, "
    "6(2), 65–70."
)


def references_section(material: ReportData) -> Section | None:
    """Titles of works are not translated."""
    questions = [votes for votes in material.votes if len(votes)]
    if not questions:
        return None
    works = [KRIPPENDORFF, EFRON]
    if any(votes.question.is_ranking for votes in questions):
        works.append(KENDALL)
    if material.settings.interval == "jackknife":
        works.append(HUGHES)
    if any(votes.question.is_preference for votes in questions):
        works += [BRADLEY_TERRY, DAVIDSON, HESTERBERG]
    if rated := [votes for votes in questions if votes.question.is_rating]:
        works.append(HOLM)
        if not any((votes.rater == NOBODY).any() for votes in rated):
            works.append(CAMERON)
    return Section("references", _("References"), [Paragraph(work) for work in sorted(works)])
