"""Models in the loop: what scores a study, what learns from it, what writes for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from concord_client.pages import Record
from concord_client.resource import Resource

_NONE: Mapping[str, Any] = {}


class Scoring(Resource):
    def scorers(self) -> list[Record]:
        """The scorers there are, and their settings."""
        found: list[Record] = self._get("scorers/")["results"]
        return found

    def start(
        self,
        study: str,
        scorer: str,
        *,
        options: Mapping[str, Any] = _NONE,
        filter: Mapping[str, Any] = _NONE,
    ) -> Record:
        """Score a study, or a part of it, in the background."""
        body = {"scorer": scorer, "options": dict(options), "filter": dict(filter)}
        return self._send("POST", f"studies/{study}/scoring-runs/", body)

    def runs(self, study: str) -> Iterator[Record]:
        return self._all(f"studies/{study}/scoring-runs/")

    def run(self, run_id: int) -> Record:
        return self._get(f"scoring-runs/{run_id}/")

    def scores(self, study: str, *, scorer: str | None = None) -> Iterator[Record]:
        return self._all(f"studies/{study}/scores/", scorer=scorer)


class Training(Resource):
    def kinds(self) -> list[Record]:
        """The kinds of models that can be trained, and their settings."""
        found: list[Record] = self._get("trainable-models/")["results"]
        return found

    def start(self, study: str, model: str, *, options: Mapping[str, Any] = _NONE, **plan: Any) -> Record:
        """Train the next version of a model. Plan: repeats, holdout_raters, split, question, pseudo."""
        body = {"model": model, "options": dict(options), **plan}
        return self._send("POST", f"studies/{study}/learned-models/", body)

    def all(self, study: str) -> Iterator[Record]:
        return self._all(f"studies/{study}/learned-models/")

    def get(self, model_id: int) -> Record:
        return self._get(f"learned-models/{model_id}/")

    def promote(self, model_id: int) -> Record:
        """Make this version the study's scorer of its kind."""
        return self._send("POST", f"learned-models/{model_id}/promote/")


class Writing(Resource):
    def writers(self, study: str) -> Iterator[Record]:
        return self._all(f"studies/{study}/writers/")

    def start(self, study: str, writer_id: int, **wanted: Any) -> Record:
        """Have a writer write. Wanted: filter, anew, judged, publishes."""
        return self._send("POST", f"studies/{study}/writers/{writer_id}/start/", wanted)

    def runs(self, study: str) -> Iterator[Record]:
        return self._all(f"studies/{study}/writing-runs/")

    def run(self, run_id: int) -> Record:
        return self._get(f"writing-runs/{run_id}/")

    def rows(self, run_id: int, *, fault: str | None = None) -> Iterator[Record]:
        return self._all(f"writing-runs/{run_id}/rows/", fault=fault)

    def publish(self, run_id: int, *, cut: bool = False) -> Record:
        """Give what a run has written to the items, in the background."""
        return self._send("POST", f"writing-runs/{run_id}/publish/", {"cut": cut})
