"""Tasks of the demo's items, whose truth is known, without their sounds."""

from __future__ import annotations

from annotation.demo.clips import load_prompts
from annotation.demo.scenes import load_questions
from annotation.models import Candidate, Item, ItemVersion, Study, System, Task, TaskCandidate
from annotation.rating.rules import ordering
from tests import factories

Slot = tuple[str, dict[str, object]]


def comparison(
    study: Study, *, prompt: int = 0, systems: tuple[str, str] = ("Aria-1", "Drone-0"), text: str = ""
) -> Task:
    """`text`: what the prompt says now, where it was changed."""
    asked = load_prompts()[prompt]
    slots: list[Slot] = [(name, {"clip": factories.clip(f"{asked.id}-{name}")}) for name in systems]
    return _task(study, asked.id, " | ".join([asked.id, *systems]), {"prompt": text or asked.text}, slots)


def answer(study: Study, *, question: int = 0, index: int = 0) -> Task:
    asked = load_questions()[question]
    version = {"question": asked.text, "reference": asked.reference}
    slots: list[Slot] = [("Coda-0", {"text": asked.answers[index]})]
    return _task(study, asked.id, f"{asked.id}_M1_{index}", version, slots)


def _task(study: Study, item: str, name: str, texts: dict[str, str], slots: list[Slot]) -> Task:
    row, made = Item.objects.get_or_create(study=study, external_id=item)
    if made:
        row.current_version = ItemVersion.objects.create(item=row, content_sha256="0" * 64, **texts)
        row.save(update_fields=["current_version"])
    task = Task.objects.create(
        study=study, item_version=row.current_version, external_id=name, overlap=study.overlap,
        shuffle_key=ordering.shuffle_key(study.seed, name),
    )  # fmt: skip
    for slot, (system, content) in enumerate(slots):
        named, _ = System.objects.get_or_create(study=study, name=system)
        candidate = Candidate.objects.create(item_version=row.current_version, system=named, **content)
        TaskCandidate.objects.create(task=task, slot=slot, candidate=candidate)
    return task
