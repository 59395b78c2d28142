"""The works that a report's methods rest on."""

from __future__ import annotations

from django.utils.translation import gettext as _

from analytics.reports.document import Paragraph, Section
from analytics.reports.paper.material import Material
from analytics.vote_frames import NOBODY

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


def references_section(material: Material) -> Section | None:
    """Titles of works are not translated."""
    asked = [votes for votes in material.votes if len(votes)]
    if not asked:
        return None
    works = [KRIPPENDORFF, EFRON]
    if material.settings.interval == "jackknife":
        works.append(HUGHES)
    if any(votes.question.is_preference for votes in asked):
        works += [BRADLEY_TERRY, DAVIDSON, HESTERBERG]
    if rated := [votes for votes in asked if not votes.question.is_preference]:
        works.append(HOLM)
        if not any((votes.rater == NOBODY).any() for votes in rated):
            works.append(CAMERON)
    return Section("references", _("References"), [Paragraph(work) for work in sorted(works)])
