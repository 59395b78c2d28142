"""Rating: the next task, an answer to it. For programs that simulate raters, and for rating pages of one's own."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from concord_client.pages import Record
from concord_client.resource import Resource


class Rating(Resource):
    def protocol(self, study: str) -> Record:
        """What is asked of raters."""
        return self._get(f"studies/{study}/protocol/")

    def next(self, study: str, *, holding: Sequence[str] = ()) -> Record | None:
        """The next task as an assignment, besides those that you hold; None where nothing is left for you."""
        found = self._send("POST", f"studies/{study}/next/", {"holding": [*holding]})
        assignment: Record | None = found["assignment"]
        return assignment

    def submit(
        self,
        assignment_id: str,
        answers: Sequence[Record],
        *,
        client_id: str | None = None,
        codes: Sequence[str] = (),
        comment: str = "",
        **further: Any,
    ) -> Record:
        """Store an answer. `client_id` (a UUID) names it: sent again, it is stored once, whoever sends it again."""
        body = {
            "client_id": client_id or str(uuid.uuid4()),
            "answers": [*answers],
            "codes": [*codes],
            "comment": comment,
            **further,
        }
        return self._send("POST", f"assignments/{assignment_id}/judgment/", body)

    def skip(self, assignment_id: str, reason: str, *, comment: str = "") -> None:
        """Decline a task for good, with one of the protocol's reasons."""
        self._send("POST", f"assignments/{assignment_id}/skip/", {"reason": reason, "comment": comment})

    def give_back(self, assignment_id: str) -> None:
        """Return an unanswered task to the queue."""
        self._send("POST", f"assignments/{assignment_id}/give-back/")
