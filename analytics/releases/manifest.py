"""What a release says of itself to programs, and the one hash that stands for all of it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import pyarrow as pa
from django.db import connection

from analytics.releases import votes_sql
from analytics.releases.configs import CONFIGS
from analytics.releases.cut import Cut
from analytics.releases.tables import Written
from analytics.services.code_version import code_version
from annotation.models import Study

NAME = "manifest.json"
SCHEMA = 1
FILTERS = {
    "judgments": "all, with their marks, but those of withdrawn raters",
    "items": "all versions, retracted and withdrawn ones marked",
    "corrections": "all, undone ones marked",
    "cases": "all",
    "checks": "all that were finished, but those of withdrawn raters",
}
# What may differ where a release is built again from the same manifest and is the same release all the same.
_ASIDE = {"files", "sha256", "code_version", "written_with"}


def make(study: Study, cut: Cut, files: Mapping[str, Written], left_out: Mapping[str, Any]) -> dict[str, Any]:
    """A function of the data below the cut and of the code: no time, no place, no person."""
    known = {path: {k: v for k, v in asdict(file).items() if v is not None} for path, file in files.items()}
    made: dict[str, Any] = {
        "schema": SCHEMA,
        "cut": cut.as_json(),
        "protocols": _protocols(study, cut),
        "ordering_policies": _policies(study, cut),
        "filters": FILTERS,
        "left_out": dict(left_out),
        "configs": {
            name: {
                "about": config.about,
                "rows": known[parquet_path(name)]["rows"],
                "columns": {column.name: column.kind for column in config.columns},
            }
            for name, config in CONFIGS.items()
            if parquet_path(name) in known
        },
    }
    made |= {"code_version": code_version(), "written_with": {"pyarrow": pa.__version__}, "files": known}
    return {**made, "sha256": root(made)}


def root(manifest: Mapping[str, Any]) -> str:
    """The hash of a release: of the hashes of all its files by path, and of what its manifest says beside them."""
    said = {name: value for name, value in manifest.items() if name not in _ASIDE}
    text = json.dumps(said, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    hashes = {path: file["sha256"] for path, file in manifest["files"].items()}
    hashes[NAME] = hashlib.sha256(text.encode()).hexdigest()
    lines = "".join(f"{hashes[path]}  {path}\n" for path in sorted(hashes))
    return hashlib.sha256(lines.encode()).hexdigest()


def written(manifest: Mapping[str, Any]) -> str:
    return json.dumps(manifest, ensure_ascii=False, indent=2) + "\n"


def parquet_path(config: str) -> str:
    return f"data/{config}/train-00000-of-00001.parquet"


def jsonl_path(config: str) -> str:
    return f"jsonl/{config}.jsonl"


def left_out(study: Study, cut: Cut) -> dict[str, Any]:
    """How many judgments there are, how many count, and why the others do not; how many raters have withdrawn."""
    params = cut.horizon.params(study)
    with connection.cursor() as cursor:
        cursor.execute(votes_sql.FATES, params)
        fates = cursor.fetchall()
        cursor.execute(votes_sql.WITHDRAWN, params)
        withdrawn = dict(cursor.fetchall())
    excluded: Counter[str] = Counter()
    found = dict.fromkeys(("counted", "experts_own", "judgments", "superseded", "surplus"), 0)
    for out, why, stands, surplus, experts, n in fates:
        excluded.update({why: n} if out else {})
        found["counted"] += n if stands and not out and not experts else 0
        found["experts_own"] += n if experts else 0
        found["judgments"] += n
        found["superseded"] += n if not stands and not surplus else 0
        found["surplus"] += n if surplus else 0
    return {"excluded": dict(sorted(excluded.items())), "withdrawn": withdrawn, **found}


def _protocols(study: Study, cut: Cut) -> list[dict[str, Any]]:
    versions = study.protocol_versions.filter(pk__lte=cut.horizon.protocol_versions).order_by("number")
    return [
        {
            "number": version.number,
            "preset": version.preset,
            "sha256": version.definition_sha256,
            "definition": version.definition,
        }
        for version in versions
    ]


def _policies(study: Study, cut: Cut) -> list[dict[str, Any]]:
    policies = study.ordering_policies.filter(pk__lte=cut.horizon.ordering_policies).order_by("number")
    return [dict(row) for row in policies.values("number", "settings", "made_from")]
