"""Studies and what they hold: for those who run them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from concord_client.pages import Record
from concord_client.resource import Resource


class Studies(Resource):
    def all(self) -> Iterator[Record]:
        """The studies that you take part in."""
        return self._all("studies/")

    def get(self, study: str) -> Record:
        return self._get(f"studies/{study}/")

    def create(self, slug: str, *, title: str, preset: str, **rules: Any) -> Record:
        """A new study in draft; you are its admin. Rules: description, overlap, order, lease_minutes."""
        return self._send("POST", "studies/", {"slug": slug, "title": title, "preset": preset, **rules})

    def change(self, study: str, **wanted: Any) -> Record:
        """Change title, description, lease_minutes, listening, checks, stopping, ordering, or state."""
        return self._send("PATCH", f"studies/{study}/", wanted)

    def set_state(self, study: str, state: str) -> Record:
        """running, paused or closed."""
        return self.change(study, state=state)

    def overview(self, study: str) -> Record:
        """Progress and figures, as on the study's page."""
        return self._get(f"studies/{study}/overview/")

    def agreement(self, study: str) -> Record:
        """How far raters agree, question by question, as last computed."""
        return self._get(f"studies/{study}/agreement/")

    def items(self, study: str) -> Iterator[Record]:
        return self._all(f"studies/{study}/items/")

    def item(self, study: str, item_id: int) -> Record:
        """One item with all of its versions and corrections."""
        return self._get(f"studies/{study}/items/{item_id}/")

    def tasks(self, study: str) -> Iterator[Record]:
        return self._all(f"studies/{study}/tasks/")

    def judgments(self, study: str) -> Iterator[Record]:
        """Every judgment: superseded, surplus and excluded ones too, each marked as such."""
        return self._all(f"studies/{study}/judgments/")

    def raters(self, study: str) -> Iterator[Record]:
        return self._all(f"studies/{study}/raters/")

    def corrections(self, study: str) -> Iterator[Record]:
        return self._all(f"studies/{study}/corrections/")

    def audit(self, study: str) -> Iterator[Record]:
        """Who did what, the newest first."""
        return self._all(f"studies/{study}/audit/")

    def exclude(self, study: str, client_ids: Sequence[str], *, reason: str, comment: str = "") -> Record:
        """Keep judgments out of analysis; `restore` takes them back in."""
        return self._mark(study, "exclude", client_ids, reason, comment)

    def restore(self, study: str, client_ids: Sequence[str], *, reason: str, comment: str = "") -> Record:
        return self._mark(study, "restore", client_ids, reason, comment)

    def invite(self, study: str, role: str, *, max_uses: int = 1, days: int = 14) -> Record:
        """An invitation, with the link and token that are shown this once."""
        body = {"role": role, "max_uses": max_uses, "days": days}
        return self._send("POST", f"studies/{study}/invitations/", body)

    def join(self, token: str) -> Record:
        """Join the study that an invitation is to."""
        return self._send("POST", "join/", {"token": token})

    def _mark(self, study: str, action: str, client_ids: Sequence[str], reason: str, comment: str) -> Record:
        body = {"action": action, "client_ids": [*client_ids], "reason": reason, "comment": comment}
        return self._send("POST", f"studies/{study}/exclusions/", body)
