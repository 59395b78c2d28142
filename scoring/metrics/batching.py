"""Scoring a batch so that each fault stays with its row."""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Sequence

from scoring.metrics.contract import Example, ExampleError, Fault, Metric, Outcome, SetupError

_log = logging.getLogger(__name__)


def score_each(metric: Metric, examples: Sequence[Example]) -> list[Outcome]:
    """An outcome for every example, in their order.

    A batch that does not fit into memory, or that breaks for a reason nobody foresaw, is halved until the example at
    fault is alone with it. Values that are no numbers become faults. Raises SetupError: that concerns all of them.
    """
    by_key = {outcome.key: _finite(outcome) for outcome in _halving(metric, examples)}
    missing = Fault("no_answer", "The scorer returned nothing for this one.")
    return [by_key.get(example.key, Outcome(example.key, fault=missing)) for example in examples]


def _halving(metric: Metric, examples: Sequence[Example]) -> list[Outcome]:
    if not examples:
        return []
    try:
        return list(metric.score(examples))
    except SetupError:
        raise
    except Exception as error:
        if len(examples) > 1:
            _free_memory(error)
            middle = len(examples) // 2
            return _halving(metric, examples[:middle]) + _halving(metric, examples[middle:])
        fault = _fault(error)
    return [Outcome(examples[0].key, fault=fault)]


def _fault(error: Exception) -> Fault:
    if isinstance(error, ExampleError):
        return error.fault
    if _is_out_of_memory(error):
        _free_memory(error)
        return Fault(
            "out_of_memory",
            "This one alone does not fit into the device's memory. Shorten the sound, or score it on a larger device.",
        )
    _log.error("An example could not be scored", exc_info=error)
    return Fault("unforeseen", f"{type(error).__name__}: {error}"[:500])


def _finite(outcome: Outcome) -> Outcome:
    bad = sorted(name for name, reading in outcome.readings.items() if not math.isfinite(reading.value))
    if not bad:
        return outcome
    message = (
        f"The model gave a value that is no number for {', '.join(bad)}. With half precision this happens when "
        "activations overflow: try bfloat16 or float32."
    )
    return Outcome(outcome.key, fault=Fault("not_finite", message))


def _is_out_of_memory(error: Exception) -> bool:
    torch = sys.modules.get("torch")
    return isinstance(error, MemoryError) or (torch is not None and isinstance(error, torch.OutOfMemoryError))


def _free_memory(error: Exception) -> None:
    """Give back what the failed attempt held: its frames keep tensors alive, torch keeps what tensors gave up."""
    error.__traceback__ = None
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
