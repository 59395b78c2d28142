"""`manage.py fuse SCORES.csv … --output DIR`, or `fuse STUDY --scorers …`: judges of answers as one (ORCA §5.6)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from analytics.evaluation.fusion_report import fusion_document
from analytics.evaluation.judged_answers import JudgedSource, TableColumns, read_study, read_tables
from analytics.reports.document import Document
from analytics.reports.render.files import tables_and_figures
from analytics.reports.render.html import render_standalone
from analytics.reports.render.text import document_text
from analytics.statistics.bootstrap import REPLICATES, Resampling
from analytics.statistics.judges.fusion import Fusion, FusionError, fuse
from annotation.errors import DomainError
from annotation.management.lookup import study_by_slug
from scoring.files.file_scoring import csv_text
from scoring.files.source import SOURCE_FORMATS
from scoring.management.terminal import error_lines
from scoring.training.contract import TrainingError

_SCALE = re.compile(r"(-?\d+(?:\.\d+)?)-(-?\d+(?:\.\d+)?)\Z")


class Command(BaseCommand):
    help = "Fuse judges of answers: weights fitted on train, calibrated on dev, measured on test."

    def add_arguments(self, parser: CommandParser) -> None:
        add, names = parser.add_argument, TableColumns()
        add(
            "source",
            nargs="+",
            metavar="SOURCE",
            help="tables of scores (.csv, .tsv, .jsonl), or a study's address",
        )
        add("--output", required=True, type=Path, metavar="DIR", help="report, tables and figures go here")
        add("--judges", default="", metavar="A,B", help="columns of a table (every other column of numbers)")
        add(
            "--scorers",
            default="",
            metavar="A,B",
            help="scorers of a study, as key or key@digest, with :output",
        )
        add("--question-key", default="", metavar="KEY", help="a study's rating question (the first)")
        add(
            "--answer", default=names.answer, metavar="COLUMN", help=f"that names the answer ({names.answer})"
        )
        add(
            "--question",
            default=names.question,
            metavar="COLUMN",
            help=f"the question answered ({names.question})",
        )
        add("--split", default=names.split, metavar="COLUMN", help=f"train, dev or test ({names.split})")
        add("--human", default=names.human, metavar="COLUMN", help=f"people's mean rating ({names.human})")
        add("--scale", default="0-1", metavar="LOW-HIGH", help="of people's ratings (0-1)")
        add("--seed", type=int, default=0, help="of the bootstrap, and of splits where none are named (0)")
        add("--replicates", type=int, default=REPLICATES, help=f"of the bootstrap ({REPLICATES})")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["replicates"] < 1:
            raise CommandError("--replicates: give a number of 1 or more.")
        resampling = Resampling(seed=options["seed"], replicates=options["replicates"])
        try:
            source = _source(options)
            found = fuse(source.judges, source.parts, resampling=resampling)
            document = fusion_document(
                found, title="Fusion of judges", facts=_facts(options, source), resampling=resampling
            )
            paths = write_fusion(options["output"], document, found)
        except DomainError as error:
            raise CommandError(error_lines(error)) from error
        except (FusionError, TrainingError) as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"The results could not be written: {error}") from error
        self.stdout.write(document_text(document))
        self.stdout.write("\n".join(map(str, paths)))


def write_fusion(folder: Path, document: Document, found: Fusion) -> list[Path]:
    """fusion.html, its tables and figures, and fusion_scores.csv with the fused score of each test answer."""
    folder.mkdir(parents=True, exist_ok=True)
    scores = csv_text(("answer", "fusion"), [[name, value] for name, value in found.predictions.items()])
    files = {
        "fusion.html": render_standalone(document), **tables_and_figures(document), "fusion_scores.csv": scores,
    }  # fmt: skip
    for name, text in files.items():
        (folder / name).write_bytes(text.encode())
    return [folder / name for name in files]


def _source(options: dict[str, Any]) -> JudgedSource:
    paths = [Path(one) for one in options["source"]]
    if all(path.suffix in SOURCE_FORMATS for path in paths):
        if options["scorers"]:
            raise CommandError("--scorers is for a study; name a table's columns with --judges.")
        return read_tables(paths, _columns(options), seed=options["seed"])
    if len(paths) > 1:
        raise CommandError("Name one study, or tables that end in .csv, .tsv or .jsonl.")
    if not (scorers := _names(options["scorers"])):
        raise CommandError("Name the study's scorers: --scorers llm-judge,orca.")
    study = study_by_slug(options["source"][0])
    return read_study(study, scorers, question=options["question_key"], seed=options["seed"])


def _columns(options: dict[str, Any]) -> TableColumns:
    match = _SCALE.match(options["scale"])
    scale = (float(match[1]), float(match[2])) if match else (0.0, 0.0)
    if scale[0] >= scale[1]:
        raise CommandError(f"--scale: {options['scale']!r} is no scale; write it as 1-5.")
    own = {name: options[name] for name in ("answer", "question", "split", "human")}
    return TableColumns(**own, judges=tuple(_names(options["judges"])), scale=scale)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _facts(options: dict[str, Any], source: JudgedSource) -> list[tuple[str, str]]:
    drawn = (
        f"drawn by question, 8:1:1, seed {options['seed']}" if source.drawn else "those that the source names"
    )
    facts = [("Source", ", ".join(options["source"])), ("Splits", drawn), ("Seed", str(options["seed"]))]
    for judge, n in source.learned_from.items():
        facts.append((f"Left out of {judge}", f"answers in test that it was trained on: {n:,}"))
    return facts
