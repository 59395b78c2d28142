"""A study as its raters will see it, for those who run it. Nothing is kept."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from concord_client.pages import Record
from concord_client.resource import Resource


class Previews(Resource):
    def all(self, study: str) -> Iterator[Record]:
        """The first tasks, at most 20, each as `next` gives it."""
        seen: list[str] = []
        while (shown := self.next(study, seen=seen)) is not None:
            seen.append(shown["id"])
            yield shown

    def next(self, study: str, *, seen: Sequence[str] = ()) -> Record | None:
        """The first task besides those seen, as an assignment of it would be; None after the last."""
        found = self._send("POST", f"studies/{study}/preview/next/", {"holding": [*seen]})
        shown: Record | None = found["assignment"]
        return shown

    def get(self, study: str, preview_id: str) -> Record:
        """One of them again, with new links to its sounds."""
        return self._get(f"studies/{study}/preview/{preview_id}/")

    def check(
        self,
        study: str,
        preview_id: str,
        answers: Sequence[Record],
        *,
        codes: Sequence[str] = (),
        comment: str = "",
        **further: Any,
    ) -> Record:
        """Have an answer checked as a rater's would be. Raises ConcordError with what would be refused."""
        body = {
            "client_id": str(uuid.uuid4()),
            "answers": [*answers],
            "codes": [*codes],
            "comment": comment,
            **further,
        }
        return self._send("POST", f"studies/{study}/preview/{preview_id}/judgment/", body)
