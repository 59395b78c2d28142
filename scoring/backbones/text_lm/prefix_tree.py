"""Prompts packed behind what they share: what several begin with is computed once, in prefill and in decoding alike.

    row:        prompt 1: a b c d e | what prompt 2 has of its own: x y | of prompt 3: z | padding
    positions:            0 1 2 3 4 |                               3 4 |              5 |

A prompt is a path of columns: prompt 2 is a b c x y. Each token sees the columns before it on its own path, at the
positions it would have alone, so keys and values are those of a plain pass over each whole prompt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch

Prompt = list[int]

# Prompts that share less than this part of themselves are no neighbours: in one row they would only make each other's
# attention longer.
_SHARED_PART = 0.25
# Attention takes the square of a row.
_LONGEST_ROW = 4096


@dataclass
class Row:
    """Tokens of several prompts; `paths` has, for each prompt by its number, the columns that it consists of."""

    tokens: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    paths: dict[int, list[int]] = field(default_factory=dict)

    def add(self, number: int, prompt: Prompt, *, n_shared: int, before: Sequence[int]) -> None:
        """`before`: the path of the prompt that this one shares its first `n_shared` tokens with."""
        new = range(len(self.tokens), len(self.tokens) + len(prompt) - n_shared)
        self.tokens += prompt[n_shared:]
        self.positions += range(n_shared, len(prompt))
        self.paths[number] = [*before[:n_shared], *new]


def common_length(prompts: Sequence[Prompt]) -> int:
    """How many tokens all of them begin with: as many as the first and the last in their order."""
    first, last = min(prompts), max(prompts)
    n_both = min(len(first), len(last))
    return next((n for n in range(n_both) if first[n] != last[n]), n_both)


def rows_of(prompts: Sequence[Prompt]) -> list[Row]:
    """All prompts in rows, neighbours together. In the order of their tokens, no earlier prompt of a row begins more
    like the next one than the one just before it."""
    rows: list[Row] = []
    before: Prompt = []
    for number in sorted(range(len(prompts)), key=lambda number: prompts[number]):
        prompt = prompts[number]
        n_shared = common_length([before, prompt])
        is_neighbour = n_shared >= _SHARED_PART * len(prompt)
        if not rows or not is_neighbour or len(rows[-1].tokens) + len(prompt) - n_shared > _LONGEST_ROW:
            rows.append(Row())
            n_shared, path = 0, list[int]()
        else:
            path = next(reversed(rows[-1].paths.values()))
        rows[-1].add(number, prompt, n_shared=n_shared, before=path)
        before = prompt
    return rows


@dataclass(frozen=True)
class PackedRows:
    """Rows padded to one length L: `ids`, `positions` and `own` (rows, L), true where a token is a row's; `sees`
    (rows, L, n_before + L), true where a token (second axis) sees another."""

    ids: torch.Tensor
    positions: torch.Tensor
    own: torch.Tensor
    sees: torch.Tensor


def pack_rows(rows: Sequence[Row], *, n_before: int) -> PackedRows:
    """`n_before` tokens come before each row, seen by all: they are not in the rows."""
    length = max(len(row.tokens) for row in rows)
    ids = torch.zeros(len(rows), length, dtype=torch.long)
    positions, own = torch.zeros_like(ids), torch.zeros_like(ids, dtype=torch.bool)
    sees = torch.zeros(len(rows), length, n_before + length, dtype=torch.bool)
    # A token that sees nothing would become NaN, and spread: padding sees itself.
    sees[:, torch.arange(length), n_before + torch.arange(length)] = True
    sees[:, :, :n_before] = True
    for r, row in enumerate(rows):
        ids[r, : len(row.tokens)] = torch.tensor(row.tokens, dtype=torch.long)
        positions[r, : len(row.tokens)] = n_before + torch.tensor(row.positions, dtype=torch.long)
        own[r, : len(row.tokens)] = True
        for path in _new_paths(row):
            columns = torch.tensor(path.columns, dtype=torch.long)
            order = torch.arange(len(path.columns))
            new = slice(path.n_shared, None)
            sees[r, columns[new, None], n_before + columns[None, :]] = order[None, :] <= order[new, None]
    return PackedRows(ids, positions, own, sees)


@dataclass(frozen=True)
class _Path:
    columns: list[int]
    n_shared: int


def _new_paths(row: Row) -> Iterator[_Path]:
    """Each prompt's path, and how much of it an earlier one has laid already."""
    n_laid = 0
    for columns in row.paths.values():
        n_new = sum(column >= n_laid for column in columns)
        n_laid += n_new
        yield _Path(columns, len(columns) - n_new)


def columns_seen(rows: Sequence[Row], numbers: Sequence[Sequence[int]], *, n_columns: int) -> torch.Tensor:
    """Shape (rows, most prompts of a row, n_columns): the columns of each prompt that `numbers` names, by row."""
    most = max(len(chosen) for chosen in numbers)
    sees = torch.zeros(len(rows), most, n_columns, dtype=torch.bool)
    for r, (row, chosen) in enumerate(zip(rows, numbers, strict=True)):
        for place, number in enumerate(chosen):
            sees[r, place, torch.tensor(row.paths[number], dtype=torch.long)] = True
    return sees
