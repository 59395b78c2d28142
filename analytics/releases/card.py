"""README.md: what a release is, for people and for the Hugging Face Hub, which reads the YAML at its head."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from analytics.releases.configs import CONFIGS
from analytics.releases.cut import Cut
from analytics.releases.manifest import parquet_path
from analytics.releases.tables import Written

NAME = "README.md"
# The names of the sizes, by how many rows they end below.
_SIZES = {
    10**3: "n<1K", 10**4: "1K<n<10K", 10**5: "10K<n<100K", 10**6: "100K<n<1M", 10**7: "1M<n<10M",
    10**8: "10M<n<100M",
}  # fmt: skip


def make(cut: Cut, files: Mapping[str, Written], left_out: Mapping[str, Any]) -> str:
    return "\n".join([*_head(cut, files), *_body(cut, files, left_out), ""])


def _head(cut: Cut, files: Mapping[str, Written]) -> list[str]:
    """Every config is Parquet, for the Hub takes all of them to be what the first is; a pattern that nothing matches
    would keep the whole from loading, so tables without rows are not named."""
    names = [name for name in CONFIGS if parquet_path(name) in files]
    rows = files[parquet_path(names[0])].rows or 0 if names else 0
    size = next((name for end, name in _SIZES.items() if rows < end), "100M<n<1B")
    lines = ["---", f"license: {_quoted(cut.wishes.license)}"]
    if cut.wishes.language:
        lines += ["language:", *(f"- {_quoted(code)}" for code in cut.wishes.language)]
    lines += [f"pretty_name: {_quoted(cut.study['title'])}", "size_categories:", f"- {size}"]
    lines += ["tags:", "- audio", "- human-feedback", "- preference"]
    if names:
        lines.append("configs:")
    for number, name in enumerate(names):
        lines += [f"- config_name: {name}", *(["  default: true"] if number == 0 else [])]
        lines += ["  data_files:", "  - split: train", f"    path: {parquet_path(name)}"]
    return [*lines, "---"]


def _body(cut: Cut, files: Mapping[str, Written], left_out: Mapping[str, Any]) -> list[str]:
    lines = [f"# {cut.study['title']}", "", f"Release {cut.number}, {cut.date}."]
    lines += _paragraph(cut.study["description"]) + _paragraph(cut.wishes.note)
    lines += ["", "## What counts", "", f"{left_out.get('judgments', 0)} judgments, of which "
              f"{left_out.get('counted', 0)} count (`counted`)."]  # fmt: skip
    if marked := _marked(left_out):
        lines += ["", "The others are here, marked:", "", *marked]
    gone = left_out["withdrawn"]
    if gone:
        told = ", ".join(f"{n} {mode}" for mode, n in gone.items())
        lines += ["", f"Raters who asked to be taken out by then: {told}. Of the removed nothing is here; of the "
                  "anonymised neither name, words, times nor listening log."]  # fmt: skip
    lines += ["", "## Tables", ""]
    for name, config in CONFIGS.items():
        file = files.get(parquet_path(name))
        if file is None:
            continue
        lines += [f"### {name}", "", f"{config.about[0].upper()}{config.about[1:]}: {file.rows} rows.", ""]
        lines += ["| column | type | is |", "|---|---|---|"]
        lines += [f"| {column.name} | {column.kind} | {column.means} |" for column in config.columns]
        lines.append("")
    lines += [
        "`texts` and `ints` are lists; `json` is text that holds JSON; a `moment` is in UTC.",
        "The same rows are in `jsonl/`.",
        "`manifest.json` says what this was made from; `croissant.json` describes it to search engines and loaders.",
    ]
    return lines


def _marked(left_out: Mapping[str, Any]) -> list[str]:
    lines = [f"- {n} excluded: {why or 'without a reason'}" for why, n in left_out["excluded"].items()]
    for name, words in (("superseded", "superseded by a later revision"), ("surplus", "surplus"),
                        ("experts_own", "experts' own")):  # fmt: skip
        if left_out.get(name):
            lines.append(f"- {left_out[name]} {words}")
    return lines


def _paragraph(text: str) -> list[str]:
    return ["", text.strip()] if text.strip() else []


def _quoted(text: str) -> str:
    """A text as YAML takes it on one line, whatever it holds: JSON is YAML."""
    return json.dumps(text, ensure_ascii=False)
