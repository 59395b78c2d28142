"""What AURA asks its language model, CLAP aside: for an estimate of what a server would be sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scoring.backbones.contract import Hearing
from scoring.backbones.opening import open_backbone
from scoring.metrics.answer_judge import AnswerJudge, field_text
from scoring.metrics.aura.plan import FAMILY, plan_aura
from scoring.metrics.contract import Example, Outcome
from scoring.metrics.registry import Runtime
from scoring.prompts import fill


class AuraRequests:
    """A Metric whose outcomes are the judge's alone."""

    def __init__(self, options: Mapping[str, Any], runtime: Runtime) -> None:
        self._plan, self._max_new_tokens = plan_aura(options), options["max_new_tokens"]
        self._backbone = open_backbone(options["backbone"], dtype=options["dtype"], runtime=runtime)
        self._judge = AnswerJudge(
            FAMILY,
            self._plan.judge,
            self._backbone,
            max_new_tokens=self._max_new_tokens,
            unreadable_as_lowest=False,
            server=runtime.server,
        )
        self.identity, self.limits = self._judge.identity, self._judge.limits

    def prepare(self, examples: Sequence[Example]) -> None:
        """Nothing: CLAP hears, and the language model does not."""

    def score(self, examples: Sequence[Example]) -> list[Outcome]:
        """Raises nothing about an example: what cannot be judged has a fault, and asks for no hypothesis either."""
        asked = [
            one
            for one in examples
            if one.texts and one.fields.get("reference") and field_text(one, "question")
        ]
        questions = [
            fill(
                self._plan.hypothesis.ask,
                {"question": field_text(one, "question"), "candidate": one.texts[0].strip()},
            )
            for one in asked
        ]
        self._backbone.generate(
            [Hearing((), (question,)) for question in questions],
            system=self._plan.hypothesis.system,
            max_new_tokens=self._max_new_tokens,
            decoding=self._plan.hypothesis_decoding,
        )
        return self._judge.score(asked)
