"""A causal language model as an encoder of answers: the last token's state, whatever else is in the batch."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from scoring.backbones.encoders.answer_texts import render_answer, template_fault
from scoring.backbones.encoders.causal_text import (
    CausalText,
    open_model,
    open_tokenizer,
    unfreeze_all,
    with_new_adapter,
)
from scoring.backbones.encoders.contract import TextFields
from scoring.backbones.loading.checkpoints import find_checkpoint
from scoring.metrics.contract import ExampleError, SetupError
from scoring.training.contract import RatedAnswer
from tests.scoring.checkpoints import tiny_gemma3, tiny_gemma3_with_eyes, tiny_llama, tiny_olmo2

MAKERS = {
    "llama": tiny_llama,
    "olmo2": tiny_olmo2,
    "gemma3": tiny_gemma3,
    "gemma3-with-eyes": tiny_gemma3_with_eyes,
}
CPU = torch.device("cpu")
FolderOf = Callable[[str], Path]


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> FolderOf:
    return cache(lambda name: MAKERS[name](tmp_path_factory.mktemp("lm") / name))


def encoder(folder: Path, **given: Any) -> CausalText:
    model = open_model(find_checkpoint(str(folder)), dtype=torch.float32, device=CPU)
    settings: dict[str, Any] = {"wording": "code", "fields": TextFields()} | given
    return CausalText(model, open_tokenizer(folder, model), **settings)


def answer(candidate: str = "a bark", **given: str) -> RatedAnswer:
    fields = {"question": "What is heard?", "reference": "a dog", "rationale": "It barks."} | given
    return RatedAnswer(key="k", group="g", system="s", candidate=candidate, **fields)


ANSWERS = [answer(), answer("something much longer than that " * 6), answer("x", rationale="", question="?")]


@torch.no_grad()
@pytest.mark.parametrize("name", MAKERS)
def test_a_vector_is_the_last_state_of_the_published_forward(folder_of: FolderOf, name: str) -> None:
    folder = folder_of(name)
    of = encoder(folder)
    found = of(of.collate(of.prepare(ANSWERS)))
    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    assert found.shape == (3, of.width)
    for row, each in zip(found, ANSWERS, strict=True):
        text = (
            f" |context: {each.rationale} |question: {each.question} |correct answer: {each.reference} "
            f"|candidate answer: {each.candidate}"
        )
        tokens = tokenizer(text, add_special_tokens=False, return_tensors="pt")["input_ids"]
        states = model(input_ids=tokens, output_hidden_states=True).hidden_states[-1]
        torch.testing.assert_close(row, states[0, -1], atol=2e-6, rtol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("name", ["llama", "gemma3"])
def test_what_else_is_in_the_batch_is_of_no_consequence(folder_of: FolderOf, name: str) -> None:
    of = encoder(folder_of(name))
    parts = of.prepare(ANSWERS)
    together = of(of.collate(parts))
    alone = torch.cat([of(of.collate([part])) for part in parts])
    torch.testing.assert_close(together, alone, atol=2e-6, rtol=1e-5)


def test_the_output_layer_is_never_computed(folder_of: FolderOf) -> None:
    of = encoder(folder_of("llama"))
    of.model.lm_head.register_forward_pre_hook(lambda *_: pytest.fail("the output layer was computed"))
    of(of.collate(of.prepare(ANSWERS))).sum()


def test_a_text_longer_than_the_model_reads_is_refused_and_never_cut(
    folder_of: FolderOf,
) -> None:
    of = encoder(folder_of("llama"))
    room = 512 - int(of.prepare([answer("")])[0].numel())
    assert of.size(of.prepare([answer("#" * room)])[0]) == 512
    with pytest.raises(ExampleError, match=r"take 513 tokens, and the model reads 512\. Shorten it"):
        of.prepare([answer("#" * (room + 1))])


def test_a_token_without_weights_is_refused(folder_of: FolderOf) -> None:
    of = encoder(folder_of("llama"))
    of.tokenizer.add_tokens([f"<extra{number}>" for number in range(20)])
    with pytest.raises(ExampleError, match="no weights"):
        of.prepare([answer("<extra19>")])


@pytest.mark.parametrize("name", ["llama", "gemma3-with-eyes"])
def test_an_adapter_goes_into_the_text_model_alone_and_alone_learns(folder_of: FolderOf, name: str) -> None:
    model = open_model(find_checkpoint(str(folder_of(name))), dtype=torch.float32, device=CPU)
    wrapped = with_new_adapter(model, rank=3, base="somewhere/base")
    learning = [name for name, weight in wrapped.named_parameters() if weight.requires_grad]
    # Seven projections in each of two layers, two factors each.
    assert len(learning) == 28
    assert all("lora_" in name and "vision" not in name for name in learning)
    assert wrapped.peft_config["default"].base_model_name_or_path == "somewhere/base"


def test_the_output_layer_learns_only_where_it_is_the_input_layer_too(
    folder_of: FolderOf,
) -> None:
    frozen = {}
    for name in ("llama", "gemma3"):
        model = open_model(find_checkpoint(str(folder_of(name))), dtype=torch.float32, device=CPU)
        unfreeze_all(model)
        frozen[name] = [part for part, weight in model.named_parameters() if not weight.requires_grad]
    assert frozen == {"llama": ["lm_head.weight"], "gemma3": []}


def test_a_tokenizer_that_is_not_the_model_s_is_refused(folder_of: FolderOf, tmp_path: Path) -> None:
    of = encoder(folder_of("llama"))
    of.tokenizer.add_tokens([f"<extra{number}>" for number in range(200)])
    of.tokenizer.save_pretrained(tmp_path)
    with pytest.raises(SetupError, match=r"knows 4\d\d tokens, the model 300"):
        open_tokenizer(tmp_path, of.model)
    with pytest.raises(SetupError, match="There is no tokenizer in"):
        open_tokenizer(tmp_path / "nowhere", of.model)


@pytest.mark.parametrize(
    ("wording", "fields", "expected"),
    [
        ("paper", TextFields(), "Q; R; A; C"),
        ("paper", TextFields(transcript=True), "Q; R; A; T; C"),
        ("paper", TextFields(question=False, rationale=False), "R; C"),
        ("code", TextFields(), " |context: A |question: Q |correct answer: R |candidate answer: C"),
        (
            "code",
            TextFields(transcript=True),
            " |context: |transcription: T A |question: Q |correct answer: R |candidate answer: C",
        ),
        ("code", TextFields(question=False, rationale=False), " |correct answer: R |candidate answer: C"),
        ("{candidate}? {question} {transcript}.", TextFields(), "C? Q ."),
    ],
)
def test_fields_are_put_in_the_order_and_between_the_separators_asked_for(
    wording: str, fields: TextFields, expected: str
) -> None:
    given = answer("C", question="Q", reference="R", rationale="A", transcript="T")
    assert render_answer(given, wording=wording, fields=fields) == expected


@pytest.mark.parametrize(
    ("wording", "fault"),
    [
        ("papre", "neither paper nor code, nor a wording with {candidate}"),
        ("{candidate} {answer}", "there is no {answer}; there are {question}"),
        ("{candidate} {question.__class__}", "there is no {question.__class__}"),
        ("{candidate", "cannot be read"),
    ],
)
def test_a_wording_that_cannot_be_used_is_refused(wording: str, fault: str) -> None:
    assert fault in (template_fault(wording) or "")
    assert template_fault("{reference} {candidate}") is None
