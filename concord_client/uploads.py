"""Files before anything is said of them: brought, looked at, imported as one says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from concord_client.forms import files_below, form
from concord_client.pages import Record
from concord_client.resource import Resource


class Uploads(Resource):
    def bring(self, source: str | Path, *, study: str | None = None) -> Record:
        """Send a file, a .zip or all files of a folder, for a study or (None) to make one. The answer has its `id` and
        what `look` tells. The server keeps it for a day."""
        path = Path(source)
        files = files_below(path) if path.is_dir() else [(path.name, path)]
        fields = {
            "study": study or "",
            "path": [name for name, _ in files] if path.is_dir() else [],
        }
        upload: Record = self._transport.request("POST", "uploads/", form=form(fields, files))
        return upload

    def look(self, upload_id: str, *, format: str | None = None) -> Record:
        """What the server takes it for: `format` and why, `columns` with their type and the field that each seems to
        hold (`suggested`), the first `rows`. `format`: when it is read so instead."""
        return self._get(f"uploads/{upload_id}/", format=format)

    def start(
        self,
        upload_id: str,
        *,
        format: str,
        new_study: Mapping[str, Any] | None = None,
        column_map: Mapping[str, str] | None = None,
        overlap: int | None = None,
        archive: bool = False,
        dry_run: bool = False,
        skip_bad_rows: bool = False,
    ) -> Record:
        """Import it into its study, or one that this makes, as a job; `imports.for_real` does what a dry run has tried.

        `new_study` has slug, title, preset and, if you like, overlap; a failed import leaves no study behind.
        `column_map` says what columns hold, {"your column": "our field"}; an empty field leaves a column out.
        """
        body = {
            "format": format,
            "column_map": dict(column_map or {}),
            "overlap": overlap,
            "archive": archive,
            "dry_run": dry_run,
            "skip_bad_rows": skip_bad_rows,
            "new_study": None if new_study is None else dict(new_study),
        }
        return self._send("POST", f"uploads/{upload_id}/import/", body)
