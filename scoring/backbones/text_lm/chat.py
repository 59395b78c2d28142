"""Chat template and tokenizer of a text model: system prompt and question as tokens, within the model's own window."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from jinja2 import TemplateError

from scoring.backbones.contract import label_of
from scoring.metrics.contract import ExampleError, SetupError


class TextChat:
    """Renders and tokenises. `window` is how many tokens the model reads and writes together."""

    def __init__(self, tokenizer: Any, *, name: str, window: int, ends: set[int]) -> None:
        if not tokenizer.chat_template:
            raise SetupError(
                f"{name} has no chat template (chat_template.jinja, or in tokenizer_config.json), so it is not known "
                "how to put a question to it. Use the model's instruct version."
            )
        self.tokenizer = tokenizer
        self.ends = sorted(ends)
        self._window = window
        control = [str(token) for token in tokenizer.added_tokens_decoder.values() if token.special]
        self._control = re.compile("|".join(map(re.escape, control)) or r"\Z\A")
        self._labels: dict[tuple[str, ...], Mapping[str, list[int]]] = {}

    @property
    def template(self) -> str:
        return str(self.tokenizer.chat_template)

    def prompt(
        self, question: str, *, system: str, max_new_tokens: int, settings: Mapping[str, Any]
    ) -> list[int]:
        """Up to where the answer begins. Raises ExampleError `too_long`, `control_token`."""
        if found := self._control.search(question):
            raise ExampleError(
                "control_token", f"The text holds {found[0]}, a control token of this model. Remove it."
            )
        text = self._render(question, system=system, settings=settings)
        # The template has written the token of beginning already, where the model wants one.
        ids = [int(token) for token in self.tokenizer.encode(text, add_special_tokens=False, verbose=False)]
        if len(ids) + max_new_tokens > self._window:
            raise ExampleError(
                "too_long",
                f"The prompt has {len(ids):,} tokens and the answer may take {max_new_tokens:,}; the model reads and "
                f"writes {self._window:,} together. Shorten the texts, allow fewer new tokens, or use a model with a "
                "larger window.",
            )
        return ids

    def decode(self, ids: list[int]) -> str:
        return str(self.tokenizer.decode(ids, skip_special_tokens=True)).strip()

    def piece(self, token: int) -> str:
        return str(self.tokenizer.decode([token]))

    def single_tokens(self, spellings: tuple[str, ...]) -> list[int]:
        """The tokens of those spellings that are one token. Raises SetupError if none is."""
        encoded = [self.tokenizer.encode(spelling, add_special_tokens=False) for spelling in spellings]
        if single := sorted({ids[0] for ids in encoded if len(ids) == 1}):
            return single
        raise SetupError(
            f"{' / '.join(spellings)} is not one token for this model, so its probability cannot be read at one "
            "position. Use a model with another tokenizer."
        )

    def label_tokens(self, labels: tuple[str, ...]) -> Mapping[str, list[int]]:
        """The tokens of the vocabulary that stand for each label, with whatever space and punctuation around it."""
        if labels not in self._labels:
            tokens: dict[str, list[int]] = {label: [] for label in labels}
            for spelling, token in self.tokenizer.get_vocab().items():
                if any(label in spelling for label in labels) and (
                    label := label_of(self.piece(token), labels)
                ):
                    tokens[label].append(token)
            self._labels[labels] = {label: sorted(ids) for label, ids in tokens.items() if ids}
        return self._labels[labels]

    def _render(self, question: str, *, system: str, settings: Mapping[str, Any]) -> str:
        turns = [{"role": "user", "content": question}]
        if system:
            turns = [{"role": "system", "content": system}, *turns]
        try:
            return self._template(turns, settings)
        except TemplateError:
            # Some models know no system prompt (Mistral and what was trained from it, Gemma 2).
            return self._template([{"role": "user", "content": f"{system}\n\n{question}".strip()}], settings)

    def _template(self, turns: list[dict[str, str]], settings: Mapping[str, Any]) -> str:
        return str(
            self.tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True, **settings)
        )
