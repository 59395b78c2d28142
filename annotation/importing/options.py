"""Import options and their validation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from annotation import protocols
from annotation.errors import Conflict, FieldProblem, InvalidInput
from annotation.importing.formats import FORMATS, Format
from annotation.importing.formats.reading_options import ReadingOptionError, ReadingOptions
from annotation.importing.records import UNSTORABLE_CHARACTERS
from annotation.models import Job, Study
from annotation.protocols import preset_overlap
from annotation.studies import studies

MAX_OVERLAP = 1000


@dataclass(frozen=True)
class NewStudy:
    """A study to be created by the import, in the same transaction: a failed import leaves none behind.

    overlap: 0 for the preset's own. owner: the key of the account that becomes its admin; by default whoever starts the
    import. workspace: the address of the one that it is made in.
    """

    slug: str
    title: str
    preset: str
    overlap: int = 0
    owner: int | None = None
    workspace: str | None = None

    def __post_init__(self) -> None:
        if not self.overlap:
            object.__setattr__(self, "overlap", preset_overlap(self.preset))


@dataclass(frozen=True)
class ImportOptions:
    """What to import and how: the defaults of the page, the API and the command are these.

    overlap: what the tasks want; the study's by default. archive: finished data, whose judged tasks want no more
    judgments than they bring; by default data that make a study of their own and name no overlap. The last four are
    those of `ReadingOptions`.
    """

    source: str
    format: str
    column_map: dict[str, str] = field(default_factory=dict)
    overlap: int | None = None
    archive: bool | None = None
    dry_run: bool = False
    skip_bad_rows: bool = False
    new_study: NewStudy | None = None
    encoding: str = ""
    separator: str = ""
    sheet: str = ""
    pair: str = ""

    @property
    def is_archive(self) -> bool:
        if self.archive is None:
            return self.new_study is not None and self.overlap is None
        return self.archive

    @property
    def reading(self) -> ReadingOptions:
        return ReadingOptions(self.encoding, self.separator, self.sheet, self.pair)

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> ImportOptions:
        new = params.get("new_study")
        return cls(**{**params, "new_study": NewStudy(**new) if new else None})


def check_options(study: Study | None, options: ImportOptions) -> None:
    """Refuse what cannot be begun at all."""
    check_format(options.format)
    format_, source = FORMATS[options.format], Path(options.source)
    if not source.exists():
        raise InvalidInput(f"{source.name} is not there (any more).", code="no_source")
    if source.is_dir() and not format_.accepts_folder:
        message = f"{source.name} is a folder; {options.format} is read from one file."
        raise InvalidInput(message, code="bad_source")
    _check_column_map(options, format_)
    check_reading(options.format, options.reading)
    if study is None:
        _check_new_study(options.new_study)


def check_reading(format: str, reading: ReadingOptions) -> None:
    """Refuse ways to read a source that there are not, or that its format has no use for."""
    try:
        reading.check()
    except ReadingOptionError as error:
        raise _bad_reading(error.name, str(error)) from error
    for name, value in asdict(reading).items():
        if value and name not in FORMATS[format].options:
            raise _bad_reading(name, f"{format} is read without {name}; leave it out.")


def _bad_reading(name: str, message: str) -> InvalidInput:
    return InvalidInput(message, problems=[FieldProblem(name, message)], code=f"bad_{name}")


def check_format(format: str) -> None:
    if format not in FORMATS:
        raise InvalidInput(f"{format!r} is not a format; use {', '.join(FORMATS)}.", code="bad_format")


def check_no_import_running(study: Study) -> None:
    """Refuse a second import that is to write into a study: each is compared with what is there long before it writes,
    and would not see what the other adds. Holds the study's row until the caller's transaction ends."""
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    others = Job.objects.filter(study=study, kind="import", state__in=Job.UNFINISHED)
    if others.filter(params__dry_run=False).exists():
        raise Conflict(
            "Another import into this study has not finished; wait for it, or cancel it.",
            code="import_under_way",
        )


def _check_column_map(options: ImportOptions, format_: Format) -> None:
    if problem := next(_column_map_problems(options, format_), ""):
        raise InvalidInput(problem, code="bad_column_map")


def _column_map_problems(options: ImportOptions, format_: Format) -> Iterator[str]:
    if options.column_map and not format_.fields:
        yield f"The columns of {options.format} are fixed; leave the column map out."
    for column, name in options.column_map.items():
        is_control = format_.control_prefix and column.startswith(format_.control_prefix)
        if UNSTORABLE_CHARACTERS.search(column + name):
            yield f"{column!r} holds a character that no text can hold; leave it out."
        elif not is_control and name and name not in format_.fields and not name.startswith("stratum."):
            known = ", ".join(format_.fields)
            yield f"{column} cannot be read as {name!r}; use one of {known}."


def _check_new_study(new: NewStudy | None) -> None:
    assert new is not None
    studies.check_slug(new.slug)
    studies.workspace_by_slug(new.workspace)
    if new.preset not in protocols.preset_keys():
        known = ", ".join(protocols.preset_keys())
        raise InvalidInput(f"{new.preset!r} is not a protocol; use one of {known}.", code="bad_protocol")
    if not 1 <= new.overlap <= MAX_OVERLAP:
        raise InvalidInput("The overlap is a number from 1 to 1000.", code="bad_overlap")
    if not 1 <= len(new.title) <= 200:
        raise InvalidInput("A study's title has 1 to 200 characters.", code="bad_title")
    if Study.objects.filter(slug=new.slug).exists():
        raise Conflict(f"A study with the address {new.slug!r} exists already.", code="slug_taken")
