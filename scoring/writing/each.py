"""Writing a batch so that each fault stays with its text."""

from __future__ import annotations

from collections.abc import Sequence

from scoring.metrics.batching import halving
from scoring.metrics.contract import ExampleError, Fault
from scoring.writing.contract import Text, Writer, WritingRequest


def write_each(writer: Writer, requests: Sequence[WritingRequest]) -> dict[int, Text | ExampleError]:
    """What became of every request, by its key. Raises SetupError: that concerns all of them."""
    found = halving(writer.write, requests, broken=_broken)
    return {request.key: outcome for request, outcome in zip(requests, found, strict=True)}


def _broken(request: WritingRequest, fault: Fault) -> Text | ExampleError:
    return ExampleError(fault.code, fault.message)
