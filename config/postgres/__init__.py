"""The embedded PostgreSQL: started for whoever needs it, stopped when the last of them leaves.

A process that calls `ensure` holds the server up until it exits. `DATABASE_URL` names another server instead,
and then nothing is started. Children inherit `DATABASE_URL`: only the first process of a family starts one.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from config import env

if TYPE_CHECKING:
    import psycopg

    from config.postgres.cluster import Cluster


DATABASE_NAME = "concord"
# Durability stays on: a judgment is acknowledged after its commit has reached the disk.
SERVER_SETTINGS = {
    "shared_buffers": "256MB",
    "max_connections": "200",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "15min",
    "random_page_cost": "1.1",
    "autovacuum_vacuum_scale_factor": "0.05",
    "autovacuum_naptime": "15s",
    "jit": "off",
}


def ensure(folder: Path | None = None, *, settings: Mapping[str, str] = SERVER_SETTINGS) -> Cluster | None:
    """Make sure DATABASE_URL names a server, starting one unless it does; the one started here, if any.

    `settings` go into the configuration of a new server and are not applied to one that exists.
    """
    if env.text("DATABASE_URL"):
        return None
    from config.postgres.cluster import Cluster  # 60 ms that a process with a server already need not pay

    cluster = Cluster(folder or env.home(), settings)
    cluster.hold(on_start=lambda: _create_database(cluster.url("postgres")))
    atexit.register(cluster.leave)
    os.environ["DATABASE_URL"] = cluster.url(DATABASE_NAME)
    return cluster


def connect() -> psycopg.Connection:
    """A connection of our own. Stops with a sentence where DATABASE_URL names a server that does not answer."""
    import psycopg

    try:
        return psycopg.connect(env.text("DATABASE_URL"), autocommit=True, connect_timeout=5)
    except psycopg.Error as error:
        raise env.BadEnvironment("DATABASE_URL", f"no database answers there. {error}") from None


def _create_database(maintenance_url: str) -> None:
    import psycopg
    from psycopg import sql

    with psycopg.connect(maintenance_url, autocommit=True) as connection:
        if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE_NAME]).fetchone():
            return
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE_NAME)))


# Django's PostgreSQL backend, asking whether a connection still lives only when it has been idle.
