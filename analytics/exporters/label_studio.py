"""Label Studio: its JSON of tasks with their annotations, and the labeling configuration that they answer.

Data are what raters see; `meta` says what they must not, systems above all. An annotation is by `rater`, a pseudonym,
for Label Studio refuses annotators whom it does not know (without `completed_by`, they are whoever imports).
`presentation` says in which order the candidates were heard; an import here reads both.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from analytics.exporters.label_studio_config import Control, configuration, controls, endings, shown
from annotation.protocols import Protocol
from annotation.rules.answers import BOTH_BAD, TIE

Record = dict[str, Any]

_CHOICES = {TIE: "tie", BOTH_BAD: "both_bad"}


def refused(protocol: Protocol) -> str:
    """Why a study cannot be written so; nothing where it can."""
    if not protocol.repeats_a_sound:
        return ""
    return (
        f"Trials of {protocol.key} hide one clip among others, which Label Studio cannot; use jsonl or csv."
    )


def files(protocol: Protocol, tasks: Iterable[Record], *, n_candidates: int) -> Mapping[str, Iterator[str]]:
    return {
        "tasks.json": _listed(_Tasks(protocol, n_candidates).of(tasks)),
        "labeling_config.xml": iter([configuration(protocol, n_candidates)]),
    }


def _listed(entries: Iterable[Record]) -> Iterator[str]:
    """One list, an entry per line."""
    before = "[\n"
    for entry in entries:
        yield before + json.dumps(entry, ensure_ascii=False, allow_nan=False)
        before = ",\n"
    yield "\n]\n" if before != "[\n" else "[]\n"


class _Tasks:
    """Tasks of one protocol, with numbers for tasks and annotations, as Label Studio has them."""

    def __init__(self, protocol: Protocol, n_candidates: int) -> None:
        self.protocol = protocol
        item, candidates = shown(protocol, n_candidates)
        self.keys = [key for key, _ in (*item, *candidates)]
        self.ends = endings(protocol, n_candidates)
        self.to = f"show_{candidates[0][0]}"
        self.shown = [f"show_{key}" for key, _ in candidates]
        self.controls = {control.name: control for control in controls(protocol, n_candidates)}
        self.n_annotations = 0

    def of(self, tasks: Iterable[Record]) -> Iterator[Record]:
        for number, task in enumerate(tasks, 1):
            yield {
                "id": number,
                **self._told(task),
                "annotations": [self._annotation(task, judgment) for judgment in task["judgments"]],
                "predictions": [],
            }

    def _told(self, task: Record) -> Record:
        texts = {
            ("question_text" if name == "question" else name): text for name, text in task["texts"].items()
        }
        known: Record = {"item_id": task["item"], **texts}
        known |= {
            name: _path(task["clips"][clip])
            for name, clip in (("item_audio", "clip"), ("reference_audio", "reference_clip"))
        }
        known |= {f"stratum.{name}": str(value) for name, value in task["strata"].items()}
        for end, candidate in zip(self.ends, task["candidates"], strict=False):
            known |= {
                f"system{end}": candidate["system"],
                f"answer{end}": candidate["text"],
                f"audio{end}": _path(candidate["clip"]),
            }
        data = {key: known.pop(key, "") for key in ("item_id", *self.keys)}
        meta = {name: value for name, value in known.items() if value}
        return {"data": data, "meta": {"task": task["task"], "item_version": task["version"], **meta}}

    def _annotation(self, task: Record, judgment: Record) -> Record:
        self.n_annotations += 1
        slots = {candidate["id"]: slot for slot, candidate in enumerate(task["candidates"])}
        said = [part for answer in judgment["answers"] for part in self._said(answer, slots)]
        said += [("codes", judgment["codes"])] if judgment["codes"] else []
        said += [("comment", judgment["comment"])] if judgment["comment"] else []
        named = [(self.controls[name], value) for name, value in said if name in self.controls]
        return {
            "id": self.n_annotations,
            "unique_id": judgment["client_id"],
            "result": [
                self._result(f"{judgment['client_id'][:8]}-{place}", *one) for place, one in enumerate(named)
            ],
            "was_cancelled": False,
            "ground_truth": False,
            "created_at": judgment["submitted_at"],
            "updated_at": judgment["submitted_at"],
            "lead_time": _seconds(judgment["started_at"], judgment["submitted_at"]),
            "rater": judgment["rater"],
            "origin": judgment["origin"],
            "presentation": judgment["presentation"],
        }

    def _said(self, answer: Record, slots: Mapping[int, int]) -> Iterator[tuple[str, Any]]:
        about = answer["candidate_id"]
        name = answer["question"] + ("" if about is None else self.ends[slots[about]])
        choice = answer["choice"]
        if choice is not None:
            yield name, _CHOICES.get(choice) or "AB"[choice - 1]
        elif answer["value"] is not None:
            yield name, answer["value"]
        elif answer["text"]:
            yield name, answer["text"]
        if answer["confidence"] is not None:
            yield f"{name}_confidence", answer["confidence"]

    def _result(self, name: str, control: Control, value: Any) -> Record:
        to = self.to if control.about is None else self.shown[control.about]
        return {
            "id": name,
            "from_name": control.name,
            "to_name": to,
            "type": control.tag.lower(),
            "value": control.value(value),
        }


def _path(sha256: str | None) -> str:
    """Where a release with its sounds has the clip."""
    return f"audio/{sha256}.flac" if sha256 else ""


def _seconds(began: str | None, ended: str | None) -> float | None:
    if not began or not ended:
        return None
    return round((datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds(), 3)
