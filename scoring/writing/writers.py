"""A study's writers: set up, changed, retired. Their runs are requested in `writing_runs`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from annotation.errors import FieldProblem, InvalidInput
from annotation.importing.records import LIST_SEPARATOR
from annotation.models import Study, System, User
from annotation.studies import audit
from scoring.metrics.contract import SetupError
from scoring.metrics.registry import OptionError
from scoring.models import Writer
from scoring.prompts import PromptError
from scoring.runs.validation import check_storable
from scoring.writing.kinds import validate_options, wording_of

_NAME_LENGTH, _BACKBONE_LENGTH, _SYSTEM_LENGTH = 80, 500, 200
_MOST_PER_MINUTE = 100_000


@dataclass(frozen=True)
class WriterSettings:
    """A writer as somebody wants it. `system` names the system whose answers it writes, made where it is new; `prompt`
    is a prompt file as parsed, or empty for the words that come along; prices are per million tokens."""

    name: str
    writes: str
    backbone: str
    options: Mapping[str, Any] = field(default_factory=dict)
    prompt: Mapping[str, Any] = field(default_factory=dict)
    system: str = ""
    per_minute: int | None = None
    price_in: float | None = None
    price_out: float | None = None
    drafts: bool = False


@transaction.atomic
def add(study: Study, settings: WriterSettings, *, actor: User | None) -> Writer:
    """Set up a writer. No model is loaded: whether it opens is seen when it is first asked. Raises InvalidInput."""
    writer = Writer(study=study, created_by=actor)
    _save_settings(writer, settings)
    audit.record("writer.added", actor=actor, study=study, subject=writer.name, writes=writer.writes)
    return writer


@transaction.atomic
def change(writer: Writer, settings: WriterSettings, *, actor: User | None) -> Writer:
    """Set a writer up otherwise, for what is asked of it from now on. What it writes cannot be changed. Raises
    InvalidInput."""
    locked = Writer.objects.select_related("study", "system").select_for_update(of=("self",))
    writer = locked.get(pk=writer.pk)
    if settings.writes != writer.writes:
        message = "What a writer writes cannot be changed."
        raise InvalidInput.of_field("writes", message, "Add another writer.")
    _save_settings(writer, settings)
    audit.record("writer.changed", actor=actor, study=writer.study, subject=writer.name)
    return writer


@transaction.atomic
def retire(writer: Writer, *, retired: bool = True, actor: User | None) -> Writer:
    """Ask it for nothing any more, or bring it back. Runs under way go on."""
    Writer.objects.filter(pk=writer.pk).update(retired=retired)
    event = "writer.retired" if retired else "writer.returned"
    audit.record(event, actor=actor, study=writer.study, subject=writer.name)
    writer.refresh_from_db()
    return writer


def _save_settings(writer: Writer, settings: WriterSettings) -> None:
    check_storable(
        [settings.name, settings.backbone, settings.system, settings.options, settings.prompt], field="writer"
    )
    options, problems = _validate(writer, settings)
    if problems:
        raise InvalidInput(f"This writer cannot be set up so: {problems[0].message}", problems=problems)
    writer.name, writer.writes, writer.backbone = (
        settings.name.strip(),
        settings.writes,
        settings.backbone.strip(),
    )
    writer.options, writer.prompt = options, dict(settings.prompt)
    writer.per_minute = settings.per_minute
    writer.drafts = settings.drafts and settings.writes != Writer.Writes.ANSWER
    writer.price_in, writer.price_out = settings.price_in, settings.price_out
    if not settings.per_minute:
        writer.next_at = None
    if settings.writes == Writer.Writes.ANSWER:
        writer.system, _ = System.objects.get_or_create(study=writer.study, name=settings.system.strip())
    writer.save()


def _validate(writer: Writer, settings: WriterSettings) -> tuple[dict[str, Any], list[FieldProblem]]:
    problems = [*_problems(writer, settings)]
    options: dict[str, Any] = {}
    try:
        options = validate_options(settings.writes, settings.options)
    except OptionError as error:
        name = error.option if error.option == "writes" else f"options.{error.option}"
        problems.append(FieldProblem(name, f"{error.option}: {error.message}."))
    try:
        if not any(problem.field == "writes" for problem in problems):
            wording_of(settings.writes, settings.prompt or None)
    except PromptError as error:
        problems.append(FieldProblem("prompt", str(error)))
    return options, problems


def _problems(writer: Writer, settings: WriterSettings) -> Iterator[FieldProblem]:
    name, backbone, system = settings.name.strip(), settings.backbone.strip(), settings.system.strip()
    answers = settings.writes == Writer.Writes.ANSWER
    if not 0 < len(name) <= _NAME_LENGTH:
        yield FieldProblem("name", f"Give it a name of {_NAME_LENGTH} characters at most.")
    elif Writer.objects.filter(study=writer.study, name=name).exclude(pk=writer.pk).exists():
        yield FieldProblem("name", f"This study has a writer called {name!r} already.", "Use another name.")
    if problem := _backbone_problem(backbone):
        yield FieldProblem("backbone", problem)
    if answers and not 0 < len(system) <= _SYSTEM_LENGTH:
        message = f"Name the system whose answers it writes, in {_SYSTEM_LENGTH} characters."
        yield FieldProblem("system", message)
    elif LIST_SEPARATOR in system:
        yield FieldProblem("system", "It holds the control character U+001F.", "Remove it.")
    elif system and not answers:
        yield FieldProblem("system", "Only candidate answers are a system's.", "Leave it empty.")
    if settings.per_minute is not None and not 1 <= settings.per_minute <= _MOST_PER_MINUTE:
        message = f"Give a whole number from 1 to {_MOST_PER_MINUTE:,}, or none for no limit."
        yield FieldProblem("per_minute", message)
    for field_name in ("price_in", "price_out"):
        price = getattr(settings, field_name)
        if price is not None and not 0 <= price < 1e9:
            yield FieldProblem(field_name, "Give what a million tokens cost, or nothing.")


def _backbone_problem(backbone: str) -> str:
    if not 0 < len(backbone) <= _BACKBONE_LENGTH:
        return "Name a model: as on the hub, a folder, or a server's address with the model's name after a #."
    if re.match(r"https?://", backbone):
        from scoring.backbones.openai.server import check_address  # brings decoders along

        try:
            check_address(backbone)
        except SetupError as error:
            return str(error)
    return ""
