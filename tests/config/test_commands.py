"""Commands load what they use: somebody waits for each."""

from __future__ import annotations

import subprocess
import sys

from tests.config.conftest import ROOT

# Each in a fork of one process with Django set up.
LOAD = """
import os, sys
import django
django.setup()
from django.core.management import get_commands, load_command_class
apps = get_commands()
for name in sys.argv[1:]:
    if os.fork() == 0:
        load_command_class(apps[name], name)
        print(name, *sys.modules)
        sys.stdout.flush()
        os._exit(0)
    os.wait()
"""
# With the pages and the API, every model, every sound, the queue.
HEAVY = {
    "av", "celery", "config.urls", "kombu", "pandas", "pyarrow", "rest_framework.views", "scipy", "torch",
    "transformers",
}  # fmt: skip
ALLOWED: dict[str, set[str]] = {
    "agreement": set(), "export": set(), "training_set": set(), "flag": set(), "withdraw_rater": set(),
    "stop_early": set(), "score": {"av"}, "import_study": {"av"}, "release": set(), "report": {"av"},
}  # fmt: skip


def test_commands_import_only_what_they_use() -> None:
    output = subprocess.check_output([sys.executable, "-c", LOAD, *ALLOWED], cwd=ROOT, text=True)
    loaded = {name: set(modules) for name, *modules in map(str.split, output.splitlines())}
    assert {name: modules & HEAVY for name, modules in loaded.items()} == ALLOWED
    assert len(loaded["agreement"]) < 1300
