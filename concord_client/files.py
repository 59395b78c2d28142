"""Files to the server and from it: imports, exports, training sets, releases, reports."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from concord_client import downloads
from concord_client.downloads import Progress
from concord_client.forms import form
from concord_client.jobs import Jobs
from concord_client.pages import Record
from concord_client.resource import Resource
from concord_client.transport import Transport


class Imports(Resource):
    def start(
        self,
        study: str,
        source: str | Path,
        *,
        format: str,
        column_map: Mapping[str, str] | None = None,
        overlap: int | None = None,
        archive: bool = False,
        dry_run: bool = False,
        skip_bad_rows: bool = False,
    ) -> Record:
        """Send a table, or a .zip with its sounds, and have it imported: a job. What is wrong with which row is in the
        job's report, also when nothing could be imported. Importing again what is there changes nothing."""
        fields: dict[str, Any] = {
            "format": format,
            "column_map": json.dumps(dict(column_map or {})),
            "archive": archive,
            "dry_run": dry_run,
            "skip_bad_rows": skip_bad_rows,
        }
        if overlap is not None:
            fields["overlap"] = overlap
        path = Path(source)
        job: Record = self._transport.request(
            "POST", f"studies/{study}/imports/", form=form(fields, [(path.name, path)])
        )
        return job

    def for_real(self, job_id: str) -> Record:
        """Do what a dry run has tried, with the same file and options."""
        return self._send("POST", f"jobs/{job_id}/import/")


class Exports(Resource):
    def __init__(self, transport: Transport, jobs: Jobs) -> None:
        super().__init__(transport)
        self._jobs = jobs

    def start(self, study: str, *, format: str, texts: str = "both") -> Record:
        """Have a study written out, as a job: `job` is its id, `file` where its archive will be."""
        return self._send("POST", f"studies/{study}/exports/", {"format": format, "texts": texts})

    def download(self, job_id: str, to: str | Path, *, on_progress: Progress | None = None) -> Path:
        """The archive of a finished export. What was interrupted goes on where it stopped; the whole is checked."""
        sha256 = self._jobs.get(job_id)["report"].get("sha256")
        return downloads.fetch(
            self._transport, f"exports/{job_id}/file/", Path(to), sha256=sha256, on_progress=on_progress
        )


class TrainingSets(Resource):
    def __init__(self, transport: Transport, jobs: Jobs) -> None:
        super().__init__(transport)
        self._jobs = jobs

    def preview(self, study: str, *, format: str, **options: Any) -> Record:
        """The first rows of what `start` would make, and the sizes of its splits."""
        return self._send("POST", f"studies/{study}/training-sets/preview/", {"format": format, **options})

    def start(self, study: str, *, format: str, **options: Any) -> Record:
        """Have files made to train a model with, as a job: `job` is its id. Options: questions, votes, ties, ratios,
        seed, audio and what else the schema has."""
        return self._send("POST", f"studies/{study}/training-sets/", {"format": format, **options})

    def download(self, job_id: str, to: str | Path, *, on_progress: Progress | None = None) -> Path:
        """The archive of a finished training set. What was interrupted goes on where it stopped; the whole is
        checked."""
        sha256 = self._jobs.get(job_id)["report"].get("sha256")
        return downloads.fetch(
            self._transport, f"training-sets/{job_id}/file/", Path(to), sha256=sha256, on_progress=on_progress
        )


class Releases(Resource):
    def all(self, study: str) -> Iterator[Record]:
        """The releases of a study, the newest first."""
        return self._all(f"studies/{study}/releases/")

    def get(self, study: str, number: int) -> Record:
        """One release: its manifest, and what is other than in the one before."""
        return self._get(f"studies/{study}/releases/{number}/")

    def preview(self, study: str) -> Record:
        """What a release made now would hold and leave out."""
        return self._get(f"studies/{study}/releases/preview/")

    def start(self, study: str, **wishes: Any) -> Record:
        """Have a release made of the study as it is, as a job: `job` is its id, and once it is done its report has the
        release's number, `release`. Wishes: audio, note, license, language, creator, url."""
        return self._send("POST", f"studies/{study}/releases/", wishes)

    def download(
        self, study: str, number: int, to: str | Path, *, on_progress: Progress | None = None
    ) -> Path:
        """The archive of a release. What was interrupted goes on where it stopped; the whole is checked."""
        path = f"studies/{study}/releases/{number}/file/"
        sha256 = self.get(study, number).get("file_sha256") or None
        return downloads.fetch(self._transport, path, Path(to), sha256=sha256, on_progress=on_progress)


class Reports(Resource):
    def start(self, study: str, **settings: Any) -> Record:
        """Have a report made, as a job. Settings: interval, replicates, seed, language."""
        return self._send("POST", f"studies/{study}/report/", settings)

    def get(self, study: str) -> Record:
        """The last one that was made."""
        return self._get(f"studies/{study}/report/")

    def download(self, study: str, to: str | Path, *, key: str = "report", extension: str = "html") -> Path:
        """The last report, or one of its tables and figures, as a file. It is written when it is asked for, so there is
        no hash to hold it against."""
        return downloads.fetch(self._transport, f"studies/{study}/report/files/{key}.{extension}", Path(to))
