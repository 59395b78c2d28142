"""The client itself: what there is on a server, by name; and everything else by its path."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import httpx2

from concord_client import files, transport
from concord_client.files import Exports, Imports, Jobs, Progress, Releases, Reports, TrainingSets, Uploads
from concord_client.studies import Previews, Rating, Review, Scoring, Studies, Training, Writing
from concord_client.transport import Params, Record, Transport
from concord_client.webhooks import Webhooks


class Concord:
    """A server as one token may use it. Use it as a context manager, or close it.

    Refusals are ConcordErrors. Requests that found the server busy or gone are tried again, `attempts` times in all, as
    late as the server asks for; what changes something is done once, however often it is sent. `cached`: keep what was
    read, and ask only whether it still holds.
    """

    def __init__(
        self,
        base_url: str,
        token: str,
        *,
        timeout: float = 60.0,
        attempts: int = 5,
        cached: bool = False,
        http: httpx2.Client | None = None,
    ) -> None:
        self.transport = Transport(
            base_url, token, timeout=timeout, attempts=attempts, cached=cached, http=http
        )
        self.jobs = Jobs(self.transport)
        self.studies = Studies(self.transport)
        self.uploads = Uploads(self.transport)
        self.imports = Imports(self.transport)
        self.previews = Previews(self.transport)
        self.exports = Exports(self.transport, self.jobs)
        self.training_sets = TrainingSets(self.transport, self.jobs)
        self.releases = Releases(self.transport)
        self.reports = Reports(self.transport)
        self.rating = Rating(self.transport)
        self.review = Review(self.transport)
        self.scoring = Scoring(self.transport)
        self.training = Training(self.transport)
        self.writing = Writing(self.transport)
        self.webhooks = Webhooks(self.transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let its connections go."""
        self.transport.close()

    def me(self) -> Record:
        """Whose token this is, and their role in each of their studies."""
        account: Record = self.transport.request("GET", "me/")
        return account

    def get(self, path: str, **params: Any) -> Any:
        """Whatever else the API has, by its path below /api/v1/: its JSON, or bytes where it is none."""
        return self.transport.request("GET", path, params=params)

    def post(self, path: str, body: Any = None) -> Any:
        """`body` is sent as JSON, as by `patch` and `put`; what the server answers, None where that is nothing."""
        return self.transport.request("POST", path, json={} if body is None else body)

    def patch(self, path: str, body: Any) -> Any:
        return self.transport.request("PATCH", path, json=body)

    def put(self, path: str, body: Any) -> Any:
        return self.transport.request("PUT", path, json=body)

    def delete(self, path: str) -> None:
        self.transport.request("DELETE", path)

    def download(self, path: str, to: str | Path, *, on_progress: Progress | None = None) -> Path:
        """Store a file by its path or by a link of the server's, such as a clip's `url` in a preview. What was
        interrupted goes on where it stopped."""
        return files.download_file(self.transport, path, Path(to), on_progress=on_progress)

    def pages(self, path: str, params: Params | None = None) -> Iterator[Record]:
        """Every row of a list, read page by page."""
        return transport.iterate_pages(self.transport, path, params)
