"""Which metrics there are: what each reads, which settings it has and where its code is.

Looking at this table loads no model code: pages and the API show it without torch in their process.
"""

from __future__ import annotations

from scoring.metrics.entries import Entry

ENTRIES: tuple[Entry, ...] = ()
