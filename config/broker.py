"""The queue inside PostgreSQL, as processes that start at once can share it."""

from __future__ import annotations

from kombu.transport import pgmq

_HAS_TRIGGER = """
SELECT FROM pg_trigger
WHERE tgrelid = to_regclass(format('pgmq.%%I', pgmq.format_table_name(%s, 'q')))
  AND tgname = 'trigger_notify_queue_insert_listeners'
"""


class Channel(pgmq.Channel):
    """Creates the trigger that wakes workers only where it is missing.

    kombu drops and creates it whenever a process consumes from a queue or sends to it for the first time: each waited
    for all that were just sending, and two at once were a deadlock.
    """

    def _maybe_enable_notify(self, queue: str, queue_name: str | None = None) -> None:
        if not self.use_notify:
            return
        name = queue_name or self._queue_name(queue)
        assert self.pgmq.pool is not None
        with self.pgmq.pool.connection() as connection, connection.transaction():
            connection.execute("SELECT pgmq.acquire_queue_lock(%s)", [name])
            if connection.execute(_HAS_TRIGGER, [name]).fetchone() is None:
                self.pgmq.enable_notify(name, self.notify_throttle_interval_ms, conn=connection)
        self.connection._register_notify_queue(name)


class Transport(pgmq.Transport):
    Channel = Channel
