#!/usr/bin/env python
"""Management commands, with the embedded database up, and its tables there, for as long as the command runs."""

from __future__ import annotations

import os
import signal
import sys

from django.core.management import BaseCommand, execute_from_command_line

from config import postgres, prepare


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    # Asked to end, it ends like any program, and so lets go of the database.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    cluster = postgres.ensure()
    if prepare.needs_tables(sys.argv):
        prepare.prepare_new_database(embedded=cluster is not None)
    else:
        postgres.connect().close()
    # They import every page and half the libraries. `check` runs them, and so does `config.prepare`; `runserver` reads
    # an option that only commands with them have.
    if sys.argv[1:2] != ["runserver"]:
        BaseCommand.requires_system_checks = []
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
