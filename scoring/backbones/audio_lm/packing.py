"""Questions packed behind what they share, so that one pass answers all of them.

    row:        prefix | question 1 | question 2 | … | padding
    positions:  0 … n  | n+1 …      | n+1 …      | …

Each question sees the prefix and itself, at the positions it would have on its own; nothing is computed twice and
nothing copied. What all rows begin with (the system prompt) is not even in them: `Packed.mask` has columns for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

# Kernels want the masks of attention aligned.
_ALIGNMENT = 8


@dataclass(frozen=True)
class Row:
    """Tokens shared by the questions of a hearing, then each question's own, at least one."""

    shared: tuple[int, ...]
    questions: tuple[tuple[int, ...], ...]

    @property
    def length(self) -> int:
        return len(self.shared) + sum(len(question) for question in self.questions)


@dataclass(frozen=True)
class Packed:
    """A batch of rows, padded to one length L: `ids` and `positions` (B, L); `mask` (B, 1, L, n_before + L), true where
    a token (third axis) sees another; `rows` and `columns` of each question's last token, questions in their order."""

    ids: torch.Tensor
    positions: torch.Tensor
    mask: torch.Tensor
    rows: torch.Tensor
    columns: torch.Tensor


def split(prompts: Sequence[Sequence[int]]) -> Row:
    """The common prefix of the prompts, as far as it leaves each a token of its own."""
    longest = min(len(prompt) for prompt in prompts) - 1
    first = prompts[0]
    n_shared = next(
        (i for i in range(longest) if any(prompt[i] != first[i] for prompt in prompts)),
        longest,
    )
    return Row(tuple(first[:n_shared]), tuple(tuple(prompt[n_shared:]) for prompt in prompts))


def pack(rows: Sequence[Row], *, n_before: int, device: torch.device) -> Packed:
    """Rows as tensors. `n_before` tokens come before each, seen by all: they are not in the rows."""
    length = max(row.length for row in rows)
    length += -(n_before + length) % _ALIGNMENT
    ids = torch.zeros(len(rows), length, dtype=torch.long)
    positions = torch.zeros_like(ids)
    parts = torch.full_like(ids, -1)  # 0 what is shared, 1, 2, … the questions, -1 padding
    lasts: list[tuple[int, int]] = []
    for r, row in enumerate(rows):
        end = 0
        for p, tokens in enumerate((row.shared, *row.questions)):
            start, end = end, end + len(tokens)
            first = n_before + (len(row.shared) if p else 0)
            ids[r, start:end] = torch.tensor(tokens, dtype=torch.long)
            positions[r, start:end] = torch.arange(first, first + len(tokens))
            parts[r, start:end] = p
            if p:
                lasts.append((r, end - 1))
    where = torch.tensor(lasts, dtype=torch.long).T
    ids, positions, parts, where = (tensor.to(device) for tensor in (ids, positions, parts, where))
    return Packed(ids, positions, _mask(parts, n_before), where[0], where[1])


def _mask(parts: torch.Tensor, n_before: int) -> torch.Tensor:
    seen, seeing = parts[:, None, :], parts[:, :, None]
    # Padding sees what is shared: a token that sees nothing would become NaN, and spread.
    visible = (seen == 0) | ((seen == seeing) & (seen > 0))
    order = torch.arange(parts.shape[1], device=parts.device)
    visible &= order[None, :] <= order[:, None]
    before = torch.ones(*parts.shape, n_before, dtype=torch.bool, device=parts.device)
    return torch.cat([before, visible], dim=2)[:, None]
