"""Writers with no model behind them, and studies for them to write for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from annotation.models import Candidate, Item, ItemVersion, Study
from scoring.metrics.contract import ExampleError, SetupError
from scoring.models import Writer
from scoring.writing import loaded_writer, writers
from scoring.writing.contract import Text, WritingRequest
from scoring.writing.writers import WriterSettings
from tests import factories


class Echo:
    """Writes the question back, and fails as the question tells it to. `asked` remembers what it was given."""

    def __init__(
        self,
        *,
        version: str = "1",
        at_once: int = 4,
        script: Callable[[Sequence[WritingRequest]], None] | None = None,
        ask: str = "{question} {reference}",
        says: str = "On ",
    ) -> None:
        self.identity: Mapping[str, Any] = {
            "writes": "text",
            "version": version,
            "backbone": {"model": "echo", "weights": f"v{version}"},
            "prompt": {"digest": "d" * 64, "source": "a test", "ask": ask},
        }
        self.at_once = at_once
        self.script = script
        self.says = says
        self.asked: list[WritingRequest] = []

    def write(self, requests: Sequence[WritingRequest]) -> list[Text | ExampleError]:
        if self.script:
            self.script(requests)
        self.asked += requests
        return [self._one(request.fields.get("question", "")) for request in requests]

    def _one(self, question: str) -> Text | ExampleError:
        if "undecodable" in question:
            return ExampleError("undecodable", "This file is damaged.")
        if "breaks" in question:
            raise RuntimeError("broke")
        if "gone" in question:
            raise SetupError("The server is gone. Start it again.")
        return Text(
            f"{self.says}{question}",
            cut="cut" in question,
            prompt_tokens=10,
            completion_tokens=3,
            seconds=0.5,
        )


@pytest.fixture
def use(monkeypatch):
    """Let this be what every worker opens."""
    loaded_writer.unload()

    def this(echo: Echo) -> Echo:
        loaded_writer.unload()
        monkeypatch.setattr(loaded_writer.text_writer, "open_writer", lambda *_: echo)
        return echo

    this(Echo())
    yield this
    loaded_writer.unload()


def study_of(questions: Sequence[str], **version: str) -> Study:
    """A study with an item for each question, which nobody has been asked about."""
    study = factories.StudyFactory()
    for number, question in enumerate(questions):
        item = Item.objects.create(study=study, external_id=f"item-{number}", strata={"n": str(number % 2)})
        item.current_version = ItemVersion.objects.create(
            item=item, question=question, **{"reference": "A bell.", **version}, content_sha256="0" * 64
        )
        item.save(update_fields=["current_version"])
    return study


def writer_of(study: Study, writes: str = "rationale", **wanted: Any) -> Writer:
    usual = {
        "name": f"{writes} writer",
        "backbone": "folder/model",
        "system": "robot" if writes == "answer" else "",
    }
    return writers.add(study, WriterSettings(**{**usual, **wanted, "writes": writes}), actor=None)


def texts(study: Study, field: str = "rationale") -> dict[str, str]:
    """What the items say now, by question."""
    items = study.items.select_related("current_version").order_by("pk")
    return {item.current_version.question: getattr(item.current_version, field) for item in items}


def answers(study: Study, system: str = "robot") -> dict[str, str]:
    found = Candidate.objects.filter(item_version__item__study=study, system__name=system)
    return {
        each.item_version.item.external_id: each.text for each in found.select_related("item_version__item")
    }
