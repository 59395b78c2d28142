"""The review of a study: its queue, its rules, and one case after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from concord_client.pages import Record
from concord_client.resource import Resource


class Review(Resource):
    def queue(self, study: str, **filters: Any) -> Iterator[Record]:
        """Cases, the most pressing first. Filters: state, rule, assigned, strata (["name=value"]), text."""
        return self._all(f"studies/{study}/review/", **filters)

    def case(self, case_id: int) -> Record:
        """A case; with votes, scores and evidence once you have judged it, or where you run the study."""
        return self._get(f"review-cases/{case_id}/")

    def claim_next(self, study: str, **filters: Any) -> Record | None:
        """Take the most pressing open case; None where none is left."""
        found: Record | None = self._send("POST", f"studies/{study}/review/next/", filters)
        return found

    def claim(self, case_id: int) -> Record:
        """Take a case, so that nobody else does."""
        return self._send("POST", f"review-cases/{case_id}/claim/")

    def put_back(self, case_id: int) -> Record:
        """Leave it to others."""
        return self._send("POST", f"review-cases/{case_id}/put-back/")

    def assign(self, study: str, cases: Sequence[int], expert: str | None) -> Record:
        """Give cases to an expert, by e-mail address; or (None) back to everybody."""
        return self._send("POST", f"studies/{study}/review/assign/", {"cases": [*cases], "expert": expert})

    def rules(self, study: str) -> Record:
        return self._get(f"studies/{study}/review/rules/")

    def change_rules(self, study: str, **wanted: Any) -> Record:
        return self._send("PATCH", f"studies/{study}/review/rules/", wanted)

    def preview_rules(self, study: str, flags: Mapping[str, Any]) -> Record:
        """What the rules would find now if they were changed so."""
        return self._send("POST", f"studies/{study}/review/rules/preview/", {"flags": dict(flags)})

    def apply_rules(self, study: str) -> Record:
        """Look at the whole study by its rules, as a job."""
        return self._send("POST", f"studies/{study}/review/rules/apply/")
