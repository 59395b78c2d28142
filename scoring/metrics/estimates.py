"""What a scorer would ask of servers, before anything is asked: its prompts for a sample of examples are counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scoring.backbones.openai.counting import CountingServer, Demand
from scoring.backbones.opening import is_server
from scoring.metrics import registry
from scoring.metrics.batching import score_batch
from scoring.metrics.contract import Example
from scoring.metrics.server_use import ServerUse, cost_of

NO_SERVER = "Only what a server computes has a price, and this scorer asks none."
# Options that name a model.
_MODELS = ("backbone", "judge")


@dataclass(frozen=True)
class Estimate:
    """Of scoring `n_rows`, from `n_sampled` of them.

    `prompt_tokens` are of the texts, by their characters; `sound_seconds` come on top, which each model counts
    otherwise. `most_completion_tokens`: as many as the longest answers would have. `cost` is of what is read,
    `most_cost` of that and the longest answers; None without prices. `minutes`: no less, with a rate limit.
    """

    n_rows: int
    n_sampled: int
    requests: int
    prompt_tokens: int
    most_completion_tokens: int
    sound_seconds: float
    cost: float | None
    most_cost: float | None
    minutes: float | None


def asks_servers(options: Mapping[str, Any]) -> bool:
    """Whether any model of a scorer with these options is behind a server."""
    return any(is_server(str(options.get(name) or "")) for name in _MODELS)


def estimate(
    metric: str, options: Mapping[str, Any], examples: Sequence[Example], *, n_rows: int, n_sampled: int
) -> Estimate:
    """`examples` are those of the `n_sampled` rows that there is something to ask about. No model is opened and no
    server asked. Raises OptionError."""
    demand = Demand()
    use = ServerUse(open_backbone=lambda name: CountingServer(demand, is_charged=is_server(name)))
    entry, runtime = registry.entry(metric), registry.Runtime(Path("unused"), 0, server=use)
    opens = registry.import_object(entry.asks or entry.opens)
    score_batch(opens(registry.validate_options(metric, options), runtime), examples)
    scale = n_rows / max(n_sampled, 1)
    requests, read, written = (
        round(scale * count)
        for count in (demand.requests, demand.prompt_tokens, demand.most_completion_tokens)
    )
    prices = {name: options.get(name) for name in ("price_in", "price_out")}
    per_minute = options.get("per_minute")
    return Estimate(
        n_rows=n_rows,
        n_sampled=n_sampled,
        requests=requests,
        prompt_tokens=read,
        most_completion_tokens=written,
        sound_seconds=scale * demand.sound_seconds,
        cost=cost_of(read, 0, **prices),
        most_cost=cost_of(read, written, **prices),
        minutes=requests / per_minute if per_minute else None,
    )
