"""What can go wrong, as the server says it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx2

_SHOWN = 5


class ConcordError(Exception):
    """A request that the server refused: problem+json, with the fields that are at fault.

    `status` is HTTP's, 0 where no answer came; `code` is stable, for programs; `fields` are {"field", "message"} and
    often a "remedy".
    """

    def __init__(
        self,
        detail: str,
        *,
        status: int = 0,
        code: str = "unreachable",
        fields: list[dict[str, str]] | None = None,
    ) -> None:
        self.detail, self.status, self.code, self.fields = detail, status, code, fields or []
        faults = "".join(
            _problem_line(one.get("field"), one.get("message"), one.get("remedy")) for one in self.fields
        )
        super().__init__(f"{detail} ({status} {code}){faults}")

    @classmethod
    def of(cls, response: httpx2.Response) -> ConcordError:
        """From an answer whose body has been read."""
        try:
            body = response.json()
        except ValueError:
            body = None
        if not isinstance(body, Mapping) or "title" not in body:
            return cls(
                response.text[:200] or response.reason_phrase, status=response.status_code, code="error"
            )
        return cls(
            str(body.get("detail", "")),
            status=response.status_code,
            code=str(body["title"]),
            fields=list(body.get("errors", [])),
        )


class JobFailed(Exception):
    """A job that was waited for failed or was cancelled; `job` is all that is known of it, `job["report"]["problems"]`
    the rows of an import that are at fault."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        self.job = job
        problems = job["report"].get("problems", [])
        shown = "".join(
            _problem_line(", ".join(filter(None, (one["row"], one["field"]))), one["problem"], one["remedy"])
            for one in problems[:_SHOWN]
        )
        more = f"\n  … and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
        super().__init__(f"Job {job['id']} ({job['kind']}) {job['state']}: {job['message']}{shown}{more}")


class DownloadError(Exception):
    """A file that came, and is not what the server said it would be."""


class SignatureError(Exception):
    """A webhook that this server did not sign, or signed too long ago."""


def _problem_line(where: str | None, *sentences: str | None) -> str:
    """What is at fault, below the sentence that says that something is."""
    place = f"{where}: " if where else ""
    return f"\n  {place}{' '.join(filter(None, sentences))}"
