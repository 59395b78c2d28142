"""What the sections of a comparison are made from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from analytics.prompt_frames import Made
from analytics.reports.learned.held_out import HeldOut, held_out_by_all, version_name
from analytics.reports.paper.models_question import Asked, asked_with
from analytics.reports.paper.models_scores import Contender, ScoredBy, scores_of
from analytics.statistics.bootstrap import Resampling
from analytics.text_frames import Answer
from analytics.vote_frames import Votes
from annotation.models import Study
from scoring.models import LearnedModel, Scorer


@dataclass(frozen=True, eq=False)
class Contest:
    """Versions, and other scorers beside them, on what the versions hold out together.

    texts: what systems wrote, by candidate. made: what they were asked for, and how long what they made is.
    """

    study: Study
    models: Sequence[LearnedModel]
    scored: Sequence[ScoredBy]
    held: HeldOut
    texts: dict[int, Answer]
    made: Made
    resampling: Resampling

    def asked(self, votes: Votes, *, by_raters: bool) -> Asked:
        kept = self.held.select(votes.counted(), by_raters=by_raters)
        return asked_with(kept, self.scored, self.resampling)


def entrants(
    study: Study, models: Sequence[LearnedModel], others: Sequence[Scorer]
) -> tuple[HeldOut, list[ScoredBy]]:
    """What the versions hold out together, and everybody's scores. Versions that came to the same weights are one
    scorer, under the names of all of them."""
    names: dict[int, list[str]] = {}
    scorers = {model.scorer.pk: model.scorer for model in models if model.scorer}
    for model in models:
        if model.scorer:
            names.setdefault(model.scorer.pk, []).append(version_name(model))
    own = [scores_of(study, scorer, name=" = ".join(names[pk])) for pk, scorer in scorers.items()]
    rest = [scores_of(study, scorer) for scorer in others if scorer.pk not in scorers]
    return held_out_by_all(models), [*own, *rest]


def duels(contenders: Sequence[Contender]) -> Iterator[tuple[Contender, Contender]]:
    """Every two scorers once, the later before the earlier; of scorers with several outputs, like against like."""
    for earlier, later in combinations(contenders, 2):
        if earlier.scorer == later.scorer:
            continue
        several = [sum(one.scorer == each.scorer for one in contenders) > 1 for each in (earlier, later)]
        if earlier.output == later.output or not all(several):
            yield later, earlier
