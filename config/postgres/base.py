"""The database backend named in settings."""

from __future__ import annotations

import time

from django.db.backends.postgresql import base

IDLE_SECONDS = 2.0


class DatabaseWrapper(base.DatabaseWrapper):
    """Connections are kept between requests. A busy one proves itself by use; an idle one is asked before use, so
    that a restarted database costs nobody an error. Asking on every request cost a sixth of a short one's CPU."""

    _last_used = 0.0

    def close_if_health_check_failed(self) -> None:
        if time.monotonic() - self._last_used < IDLE_SECONDS:
            self.health_check_done = True
        super().close_if_health_check_failed()

    def close_if_unusable_or_obsolete(self) -> None:
        # Django calls this at both ends of a request; only the end of one that worked says that it lives.
        if self.connection is not None and self.health_check_done and not self.errors_occurred:
            self._last_used = time.monotonic()
        super().close_if_unusable_or_obsolete()
