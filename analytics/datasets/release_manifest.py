"""Release manifest and root hash, dataset card (README.md), Croissant metadata, and verification of a folder."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from importlib.metadata import version as package_version
from pathlib import Path
from typing import Any

from analytics.code_version import code_version
from analytics.data.postgres import fetch_rows
from analytics.datasets import release_tables
from analytics.datasets.card import card_metadata, yaml_text
from analytics.datasets.release_tables import RELEASE_TABLES, ReleaseTable
from analytics.datasets.snapshot import StudySnapshot, policy_facts, protocol_facts
from analytics.datasets.storage import MANIFEST_NAME, WrittenFile, hash_file
from annotation.errors import InvalidInput
from annotation.models import Study

RELEASE_SCHEMA = 1
RELEASE_FILTERS = {
    "judgments": "all, with their marks, but those of withdrawn raters",
    "items": "all versions, retracted and withdrawn ones marked",
    "corrections": "all, undone ones marked",
    "cases": "all",
    "checks": "all that were finished, but those of withdrawn raters",
}
_WITHOUT_EXCLUDED = {"judgments": "those that nobody excluded, with their other marks"}
# What may differ where a release is built again from the same manifest and is the same release all the same.
_NOT_HASHED = {"files", "sha256", "code_version", "written_with"}


def release_manifest(
    study: Study, cut: StudySnapshot, files: Mapping[str, WrittenFile], left_out: Mapping[str, Any]
) -> dict[str, Any]:
    """A function of the data below the cut and of the code: no time, no place, no person."""
    known = {path: file.as_json() for path, file in files.items()}
    manifest: dict[str, Any] = {
        "schema": RELEASE_SCHEMA,
        "cut": _cut_as_json(cut),
        "protocols": protocol_facts(study.protocol_versions.filter(pk__lte=cut.horizon.protocol_versions)),
        "ordering_policies": policy_facts(
            study.ordering_policies.filter(pk__lte=cut.horizon.ordering_policies)
        ),
        "filters": RELEASE_FILTERS if cut.wishes.excluded else RELEASE_FILTERS | _WITHOUT_EXCLUDED,
        "left_out": dict(left_out),
        "configs": {
            name: {
                "about": config.about,
                "rows": known[parquet_path(name)]["rows"],
                "columns": {column.name: column.kind for column in config.columns},
            }
            for name, config in RELEASE_TABLES.items()
            if parquet_path(name) in known
        },
        "code_version": code_version(),
        "written_with": {"pyarrow": package_version("pyarrow")},
        "files": known,
    }
    return {**manifest, "sha256": root_hash(manifest)}


def root_hash(manifest: Mapping[str, Any]) -> str:
    """The hash of a release: of the hashes of all its files by path, and of what its manifest says beside them."""
    hashed = {name: value for name, value in manifest.items() if name not in _NOT_HASHED}
    text = json.dumps(hashed, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    hashes = {path: file["sha256"] for path, file in manifest["files"].items()}
    hashes[MANIFEST_NAME] = hashlib.sha256(text.encode()).hexdigest()
    lines = "".join(f"{hashes[path]}  {path}\n" for path in sorted(hashes))
    return hashlib.sha256(lines.encode()).hexdigest()


def _cut_as_json(cut: StudySnapshot) -> dict[str, Any]:
    """A choice that came later is left out where it is as before: manifests written before it stay the same."""
    stored = asdict(cut)
    if cut.wishes.excluded:
        del stored["wishes"]["excluded"]
    return stored


def parquet_path(config: str) -> str:
    return f"data/{config}/train-00000-of-00001.parquet"


def jsonl_path(config: str) -> str:
    return f"jsonl/{config}.jsonl"


def left_out(study: Study, cut: StudySnapshot) -> dict[str, Any]:
    """How many judgments there are, how many count, and why the others do not; how many raters have withdrawn."""
    params = {**cut.horizon.params(study), "with_excluded": True}
    fates = fetch_rows(release_tables.JUDGMENT_FATES, **params)
    withdrawn = dict(fetch_rows(release_tables.WITHDRAWAL_COUNTS, **params))
    excluded: Counter[str] = Counter()
    counts = dict.fromkeys(("counted", "experts_own", "judgments", "superseded", "surplus"), 0)
    for out, why, stands, surplus, experts, n in fates:
        excluded.update({why: n} if out else {})
        counts["counted"] += n * (stands and not out and not experts)
        counts["experts_own"] += n * experts
        counts["judgments"] += n * (cut.wishes.excluded or not out)
        counts["superseded"] += n * (not stands and not surplus)
        counts["surplus"] += n * surplus
    return {"excluded": dict(sorted(excluded.items())), "withdrawn": withdrawn, **counts}


# Dataset card: README.md for people and for the Hugging Face Hub, which reads the YAML at its head.

CARD_NAME = "README.md"


def release_card(cut: StudySnapshot, files: Mapping[str, WrittenFile], left_out: Mapping[str, Any]) -> str:
    return "\n".join([*_head(cut, files), *_body(cut, files, left_out), ""])


def _head(cut: StudySnapshot, files: Mapping[str, WrittenFile]) -> list[str]:
    """Every config is Parquet, for the Hub takes all of them to be what the first is. Empty tables have no file."""
    names = [name for name in RELEASE_TABLES if parquet_path(name) in files]
    rows = files[parquet_path(names[0])].rows or 0 if names else 0
    lines = ["---", f"license: {yaml_text(cut.wishes.license)}"]
    if cut.wishes.language:
        lines += ["language:", *(f"- {yaml_text(code)}" for code in cut.wishes.language)]
    configs = {name: [("train", parquet_path(name))] for name in names}
    metadata = card_metadata(rows, ("audio", "human-feedback", "preference"), configs)
    return [*lines, f"pretty_name: {yaml_text(cut.study['title'])}", *metadata, "---"]


def _body(cut: StudySnapshot, files: Mapping[str, WrittenFile], left_out: Mapping[str, Any]) -> list[str]:
    lines = [f"# {cut.study['title']}", "", f"Release {cut.number}, {cut.date}."]
    lines += _paragraph(cut.study["description"]) + _paragraph(cut.wishes.note)
    lines += ["", "## What counts", "", f"{left_out.get('judgments', 0)} judgments, of which "
              f"{left_out.get('counted', 0)} count (`counted`)."]  # fmt: skip
    excluded, marked = _excluded_lines(left_out), _marked_lines(left_out)
    if cut.wishes.excluded:
        excluded, marked = [], [*excluded, *marked]
    if marked:
        lines += ["", "The others are here, marked:", "", *marked]
    if excluded:
        lines += ["", "These are not here:", "", *excluded]
    if left_out["withdrawn"]:
        modes = ", ".join(f"{n} {mode}" for mode, n in left_out["withdrawn"].items())
        lines += ["", f"Raters who asked to be taken out by then: {modes}. Of the removed nothing is here; of the "
                  "anonymised neither name, words, times nor listening log."]  # fmt: skip
    lines += ["", "## Tables", ""]
    for name, config in RELEASE_TABLES.items():
        if (file := files.get(parquet_path(name))) is None:
            continue
        lines += [f"### {name}", "", f"{config.about[0].upper()}{config.about[1:]}: {file.rows} rows.", ""]
        lines += ["| column | type | is |", "|---|---|---|"]
        lines += [f"| {column.name} | {column.kind} | {column.meaning} |" for column in config.columns]
        lines.append("")
    lines += [
        "`texts` and `ints` are lists; `json` is text that holds JSON; a `moment` is in UTC.",
        "The same rows are in `jsonl/`.",
        "`manifest.json` says what this was made from; `croissant.json` describes it to search engines and loaders.",
    ]
    return lines


def _excluded_lines(left_out: Mapping[str, Any]) -> list[str]:
    return [f"- {n} excluded: {why or 'without a reason'}" for why, n in left_out["excluded"].items()]


def _marked_lines(left_out: Mapping[str, Any]) -> list[str]:
    lines = []
    for name, words in (("superseded", "superseded by a later revision"), ("surplus", "surplus"),
                        ("experts_own", "experts' own")):  # fmt: skip
        if left_out.get(name):
            lines.append(f"- {left_out[name]} {words}")
    return lines


def _paragraph(text: str) -> list[str]:
    return ["", text.strip()] if text.strip() else []


# Croissant: the release as JSON-LD for dataset search and loaders. The validator asks for a hash of every file and for
# `conformsTo`; it does not miss a name, description, address or creator, so these are always there.

CROISSANT_NAME = "croissant.json"
_TYPES = {
    "int": "sc:Integer", "ints": "sc:Integer", "real": "sc:Float", "flag": "sc:Boolean", "moment": "sc:DateTime",
}  # fmt: skip
_CONTEXT = {
    "@language": "en", "@vocab": "https://schema.org/", "citeAs": "cr:citeAs", "column": "cr:column",
    "conformsTo": "dct:conformsTo", "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"}, "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/", "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract", "field": "cr:field", "fileObject": "cr:fileObject", "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet", "format": "cr:format", "includes": "cr:includes", "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath", "key": "cr:key", "md5": "cr:md5", "parentField": "cr:parentField", "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/", "recordSet": "cr:recordSet", "references": "cr:references",
    "regex": "cr:regex", "repeated": "cr:repeated", "replace": "cr:replace", "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/", "separator": "cr:separator", "source": "cr:source", "subField": "cr:subField",
    "transform": "cr:transform",
}  # fmt: skip


def croissant_text(cut: StudySnapshot, files: Mapping[str, WrittenFile]) -> str:
    names = [name for name in RELEASE_TABLES if parquet_path(name) in files]
    title = cut.study["title"]
    creator = cut.wishes.creator or f"The researchers of {title}"
    dataset = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": cut.study["slug"],
        "description": cut.study["description"].strip() or f"Human judgments: {title}.",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "license": cut.wishes.license,
        "url": cut.wishes.url or f"urn:study:{cut.study['slug']}",
        "creator": {"@type": "sc:Organization", "name": creator},
        "datePublished": cut.date,
        "version": f"{cut.number}.0.0",
        "citeAs": f"{creator}: {title}, release {cut.number} ({cut.date}).",
        "distribution": [_file(parquet_path(name), files[parquet_path(name)]) for name in names],
        "recordSet": [_records(name, RELEASE_TABLES[name]) for name in names],
    }
    return json.dumps(dataset, ensure_ascii=False, indent=2) + "\n"


def _file(path: str, file: WrittenFile) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": path,
        "name": path,
        "contentUrl": path,
        "contentSize": f"{file.bytes} B",
        "encodingFormat": "application/x-parquet",
        "sha256": file.sha256,
    }


def _records(name: str, config: ReleaseTable) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": config.about,
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{name}/{column.name}",
                "name": column.name,
                "description": column.meaning,
                "dataType": _TYPES.get(column.kind, "sc:Text"),
                **({"repeated": True} if column.kind in ("texts", "ints") else {}),
                "source": {
                    "fileObject": {"@id": parquet_path(name)},
                    "extract": {"column": column.name},
                },
            }
            for column in config.columns
        ],
    }


# Verification.


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest in a file, or in a release's folder. Raises InvalidInput for what is none."""
    path = path / MANIFEST_NAME if path.is_dir() else path
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"{path} cannot be read as a release's manifest: {error}", code="bad_manifest"
        ) from error
    if not isinstance(manifest, dict) or not isinstance(manifest.get("files"), dict) or "cut" not in manifest:
        raise InvalidInput(f"{path} is not the manifest of a release.", code="bad_manifest")
    return manifest


def folder_faults(folder: Path) -> Iterator[str]:
    """A sentence for everything in the folder that is not what its manifest says."""
    manifest = read_manifest(folder)
    yield from _file_faults(folder, manifest["files"])
    if root_hash(manifest) != manifest.get("sha256"):
        yield f"{MANIFEST_NAME}: what it says does not go with its own hash, so it was altered."


def _file_faults(folder: Path, files: Mapping[str, Any]) -> Iterator[str]:
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    for path in sorted(there - files.keys() - {MANIFEST_NAME}):
        yield f"{path}: does not belong to this release."
    for path, file in sorted(files.items()):
        if path not in there:
            yield f"{path}: is missing."
        elif hash_file(folder / path).sha256 != file["sha256"]:
            yield f"{path}: is not what was released; its bytes differ."
