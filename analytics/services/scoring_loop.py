"""A metric applied to examples in even batches, each batch kept as soon as it is scored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from analytics.services.score_file import ScoreFile
from scoring.metrics.batching import score_each
from scoring.metrics.contract import BatchLimits, Example, Metric

# How many of how many are scored.
Progress = Callable[[int, int], None]


def score_missing(
    metric: Metric, examples: Mapping[str, Example], scores: ScoreFile, *, progress: Progress
) -> int:
    """Score what the file does not have yet; returns how many that were. Raises SetupError, with what came before it
    kept."""
    missing = {example.key: key for key, example in examples.items() if not scores.has(key)}
    batches = even_batches([examples[key] for key in missing.values()], metric.limits)
    done = 0
    progress(done, len(missing))
    for number, batch in enumerate(batches):
        if number + 1 < len(batches):
            metric.prepare(batches[number + 1])
        scores.add((missing[outcome.key], outcome) for outcome in score_each(metric, batch))
        done += len(batch)
        progress(done, len(missing))
    return len(missing)


def even_batches(examples: Sequence[Example], limits: BatchLimits) -> list[list[Example]]:
    """Batches of like length, the longest first: what does not fit into memory shows at once. What shares a sound
    stays together, so that it is heard once."""
    batches: list[list[Example]] = []
    longest = 0.0
    for example in sorted(examples, key=_by_length):
        if not batches or len(batches[-1]) >= limits.examples or _full(batches[-1], longest, limits):
            batches.append([])
            longest = _seconds(example)
        batches[-1].append(example)
    return batches


def _full(batch: Sequence[Example], longest: float, limits: BatchLimits) -> bool:
    return (len(batch) + 1) * longest > limits.seconds


def _seconds(example: Example) -> float:
    return sum(sound.seconds for sound in example.sounds)


def _by_length(example: Example) -> tuple[float, tuple[str, ...], tuple[str, ...]]:
    return -_seconds(example), tuple(sound.sha256 for sound in example.sounds), example.texts
