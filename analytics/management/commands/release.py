"""`manage.py release make|rebuild|verify|diff`: releases of a study, from the terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from analytics.code_version import code_version
from analytics.datasets import release_manifest, releases
from analytics.datasets.snapshot import AUDIO_CHOICES, ReleaseOptions, StudySnapshot
from annotation.errors import DomainError
from annotation.jobs import jobs
from annotation.management.lookup import study_by_slug
from annotation.models import Job
from scoring.management.terminal import error_lines


class Command(BaseCommand):
    help = "Make a release of a study, make one again from its manifest, check one, or compare two."

    def add_arguments(self, parser: CommandParser) -> None:
        kinds = parser.add_subparsers(dest="what", required=True)
        make = kinds.add_parser("make", help="release a study as it is now")
        make.add_argument("slug", help="the study's address")
        make.add_argument("--audio", choices=AUDIO_CHOICES[1:], default="", help="put the clips in, too")
        make.add_argument("--note", default="", help="what this release is for; stands in its card")
        make.add_argument("--license", default="unknown", help="as Hugging Face names it, such as cc-by-4.0")
        make.add_argument(
            "--language", action="append", default=[], help="a code such as en; may be repeated"
        )
        make.add_argument("--creator", default="", help="who publishes it")
        make.add_argument("--url", default="", help="where it is published")
        make.add_argument(
            "--without-excluded",
            action="store_true",
            help="leave excluded judgments out, instead of marking them",
        )
        rebuild = kinds.add_parser("rebuild", help="make a release again from its manifest and the database")
        rebuild.add_argument("manifest", type=Path)
        rebuild.add_argument("--out", type=Path, required=True, help="a folder that is empty or new")
        verify = kinds.add_parser("verify", help="check that a folder is what its manifest says")
        verify.add_argument("folder", type=Path)
        diff = kinds.add_parser("diff", help="what two unpacked releases do not share, and why")
        diff.add_argument("before", type=Path)
        diff.add_argument("after", type=Path)
        diff.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        verbs = {"make": self._make, "rebuild": self._rebuild, "verify": self._verify, "diff": self._diff}
        try:
            verbs[options["what"]](options)
        except DomainError as error:
            raise CommandError(error_lines(error)) from error

    def _make(self, options: dict[str, Any]) -> None:
        study = study_by_slug(options["slug"])
        names = ("audio", "note", "license", "creator", "url")
        stated = {name: options[name] for name in names}
        release_options = ReleaseOptions(
            **stated, language=tuple(options["language"]), excluded=not options["without_excluded"]
        )
        job = releases.start_release(study, release_options, actor=None)
        jobs.run_inline(job)
        if job.state != Job.State.DONE:
            raise CommandError(f"No release was made. {job.message}")
        self.stdout.write(f"Release {job.report['release']} of {study.slug}: {job.report['sha256']}")

    def _rebuild(self, options: dict[str, Any]) -> None:
        manifest = release_manifest.read_manifest(options["manifest"])
        snapshot = StudySnapshot.from_json(manifest["cut"])
        study = study_by_slug(str(snapshot.study["slug"]))
        if since := releases.withdrawn_since_snapshot(snapshot, study):
            who = "1 rater has" if since == 1 else f"{since} raters have"
            self.stderr.write(
                f"{who} asked since to be taken out. This release has still what they said: do not hand it on."
            )
        if manifest.get("code_version") != code_version():
            self.stderr.write(f"Made by {manifest.get('code_version')}; this is {code_version()}.")
        rebuilt = releases.rebuild_release(snapshot, study, out=options["out"].absolute())
        if rebuilt["sha256"] != manifest["sha256"]:
            raise CommandError(
                f"What is in {options['out']} is another release: {rebuilt['sha256']} instead of "
                f"{manifest['sha256']}. Its manifest was written by {manifest.get('code_version')} with "
                f"{manifest.get('written_with')}."
            )
        self.stdout.write(f"The same release is in {options['out']}: {rebuilt['sha256']}")

    def _verify(self, options: dict[str, Any]) -> None:
        if faults := list(release_manifest.folder_faults(options["folder"])):
            raise CommandError("\n".join(faults))
        manifest = release_manifest.read_manifest(options["folder"])
        self.stdout.write(f"All is as released: {manifest['sha256']}")

    def _diff(self, options: dict[str, Any]) -> None:
        from analytics.datasets import diff

        for folder in (options["before"], options["after"]):
            release_manifest.read_manifest(folder)
        summary = diff.diff_summary(options["before"], options["after"])
        as_json = json.dumps(summary, ensure_ascii=False, indent=2)
        self.stdout.write(as_json if options["json"] else diff.diff_text(summary))
