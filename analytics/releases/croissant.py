"""croissant.json: the release as JSON-LD, by the format that dataset search and loaders share.

Its validator asks for a hash of every file and for `conformsTo`; it does not miss a name, description, address or
creator, so these are always there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from analytics.releases.configs import CONFIGS, Config
from analytics.releases.cut import Cut
from analytics.releases.manifest import parquet_path
from analytics.releases.tables import Written

NAME = "croissant.json"
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


def make(cut: Cut, files: Mapping[str, Written]) -> str:
    names = [name for name in CONFIGS if parquet_path(name) in files]
    title = cut.study["title"]
    creator = cut.wishes.creator or f"The researchers of {title}"
    told = {
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
        "recordSet": [_records(name, CONFIGS[name]) for name in names],
    }
    return json.dumps(told, ensure_ascii=False, indent=2) + "\n"


def _file(path: str, file: Written) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": path,
        "name": path,
        "contentUrl": path,
        "contentSize": f"{file.bytes} B",
        "encodingFormat": "application/x-parquet",
        "sha256": file.sha256,
    }


def _records(name: str, config: Config) -> dict[str, Any]:
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
                "description": column.means,
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
