"""Background work on the server: how far it is, waiting for it, stopping it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from concord_client.errors import JobFailed
from concord_client.pages import Record
from concord_client.resource import Resource

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 5.0
_UNFINISHED = ("queued", "running")


class Jobs(Resource):
    def all(self, study: str, *, kind: str | None = None, state: str | None = None) -> Iterator[Record]:
        """A study's jobs, the newest first."""
        return self._all(f"studies/{study}/jobs/", kind=kind, state=state)

    def get(self, job_id: str) -> Record:
        """How far it is; `report` has what it found or made, `message` what went wrong."""
        return self._get(f"jobs/{job_id}/")

    def cancel(self, job_id: str) -> Record:
        """Stop one that has not finished; it undoes what it did."""
        return self._send("POST", f"jobs/{job_id}/cancel/")

    def wait(
        self,
        job_id: str,
        *,
        timeout: float | None = None,
        on_progress: Callable[[int, int | None, str], None] | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> Record:
        """The job once it is done. `on_progress` hears what is done, of how much (None: not known yet), and the stage.

        Raises JobFailed where it failed or was cancelled, TimeoutError after `timeout` seconds; the job goes on then.
        """
        begun, pause = time.monotonic(), _FIRST_PAUSE_S
        while True:
            job = self.get(job_id)
            if on_progress is not None:
                on_progress(job["done"], job["total"], job["stage"])
            if job["state"] == "done":
                return job
            if job["state"] not in _UNFINISHED:
                raise JobFailed(job)
            if timeout is not None and time.monotonic() - begun + pause > timeout:
                raise TimeoutError(f"Job {job_id} is still {job['state']} after {timeout:g} s; it goes on.")
            sleep(pause)
            pause = min(1.5 * pause, _LONGEST_PAUSE_S)
