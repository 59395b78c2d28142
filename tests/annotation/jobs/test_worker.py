"""A worker that was asked to end."""

from __future__ import annotations

import pytest

from annotation.jobs import heartbeat


@pytest.mark.parametrize(("status", "stopping"), [(None, False), (False, False), (0, True), (1, True)])
def test_a_worker_that_was_asked_to_end_knows_it(monkeypatch, status, stopping):
    monkeypatch.setattr(heartbeat.state, "should_stop", status)
    assert heartbeat.is_stopping() is stopping
