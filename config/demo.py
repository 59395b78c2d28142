"""The demo study on first start: when it is wanted, making it, and who can sign in."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import psycopg

from annotation.demo import accounts
from config import env
from config.processes import Failed
from config.supervisor import Supervisor
from config.terminal import say

ACCOUNTS = tuple(accounts.email(role) for role in accounts.ROLES)
# Stays from the beginning of the making to its end, so that a start that was interrupted is taken up again.
UNFINISHED = "demo.unfinished"


def ensure(supervisor: Supervisor, *, home: Path) -> None:
    """Create the demo study in an installation that holds no study yet. Without it the rest still serves."""
    unfinished = home / UNFINISHED
    if not is_wanted(unfinished):
        return
    unfinished.touch()
    say("Creating the demo study. This happens once and takes a minute or two.")
    try:
        supervisor.complete("demo", sys.executable, "manage.py", "create_demo")
    except Failed as problem:
        say(f"{problem}\nGoing on without the demo study; the next start tries again, --no-demo does not.")
    else:
        unfinished.unlink()


def is_wanted(unfinished: Path) -> bool:
    """On a first start, or after one that was cut short. Never in production: its password is known to all."""
    if env.flag("CONCORD_HTTPS"):
        return False
    return unfinished.exists() or not _exists("SELECT FROM annotation_study")


def how_to_sign_in() -> str:
    """The end of the launcher's one line."""
    if _exists("SELECT FROM annotation_user WHERE email = %s", ACCOUNTS[-1]):
        return f"Sign in as {', '.join(ACCOUNTS[:-1])} or {ACCOUNTS[-1]}; password {accounts.PASSWORD}."
    return "There are no demo accounts; make your own with ./run manage createsuperuser."


def _exists(query: str, *parameters: str) -> bool:
    with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
        return connection.execute(query + " LIMIT 1", parameters).fetchone() is not None
