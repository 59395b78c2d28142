"""ORCA as a metric: released judges and ours, faults that stay with their rows, and clamping."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer

from scoring.backbones.encoders.contract import TextFields
from scoring.backbones.encoders.encoder_registry import new_answer_encoder
from scoring.metrics.batching import score_batch
from scoring.metrics.contract import Example, Metric, SetupError
from scoring.metrics.orca.checkpoint import JudgeConfig, save_judge
from scoring.metrics.orca.clamping import clamp_means
from scoring.metrics.orca.heads import RatingHead
from scoring.metrics.registry import METRICS, OptionError, Runtime, open_metric
from tests.scoring.checkpoints import released_judge, tiny_gemma3_with_eyes, tiny_llama

FIELDS = {"question": "What is heard?", "reference": "a dog", "rationale": "It barks.", "transcript": "Woof."}
EXAMPLES = [
    Example(3, (), ("a bark",), FIELDS),
    Example(1, (), ("something much longer than that " * 5,), {**FIELDS, "rationale": ""}),
    Example(2, (), ("a cat",), {**FIELDS, "question": "Which animal?"}),
]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_llama(tmp_path_factory.mktemp("base") / "llama")


@pytest.fixture(scope="module")
def released(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return released_judge(tmp_path_factory.mktemp("judge") / "orca", base)


@pytest.fixture
def judge(released: Path, tmp_path: Path) -> Path:
    """One to break."""
    return Path(shutil.copytree(released, tmp_path / "judge"))


def opened(folder: Path | str, **options: Any) -> Metric:
    below = folder.parent if isinstance(folder, Path) else None
    where = Runtime(Path("/nonexistent"), 0, device="cpu", checkpoints=below)
    return open_metric("orca", {"checkpoint": str(folder), **options}, where)


@torch.no_grad()
def published(folder: Path, base: Path, text: str) -> torch.Tensor:
    """As the released program computes it, a row at a time, in full precision: the head's own numbers."""
    lm: Any = PeftModel.from_pretrained(
        AutoModelForCausalLM.from_pretrained(base), folder / "model" / "lm"
    ).merge_and_unload()
    tokenizer = AutoTokenizer.from_pretrained(folder / "tokenizer")
    head = torch.load(folder / "model" / "model_minus_lm.pt", weights_only=True)
    tokens = tokenizer(text, add_special_tokens=False, return_tensors="pt")["input_ids"]
    state = lm(input_ids=tokens, output_hidden_states=True).hidden_states[-1][0, -1]
    return torch.nn.functional.linear(state, head["linear.weight"], head["linear.bias"]).double()


def text_of(example: Example, *, context: str | None = None) -> str:
    fields = example.fields
    context = fields["rationale"] if context is None else context
    return (
        f" |context: {context} |question: {fields['question']} |correct answer: {fields['reference']} "
        f"|candidate answer: {example.texts[0]}"
    )


def test_a_released_judge_gives_what_its_own_program_gives(released: Path, base: Path) -> None:
    for outcome, example in zip(opened(released).score(EXAMPLES), EXAMPLES, strict=True):
        chances = published(released, base, text_of(example)).softmax(-1).numpy()
        y = np.arange(5) / 4
        mean = float(chances @ y)
        assert outcome.key == example.key
        assert outcome.readings["value"].value == pytest.approx(mean, abs=1e-5)
        assert outcome.readings["variance"].value == pytest.approx(float(chances @ (y - mean) ** 2), abs=1e-5)
        assert outcome.readings["value"].distribution == pytest.approx(
            dict(zip("12345", chances, strict=True)), abs=1e-5
        )


def test_a_released_beta_judge_gives_alpha_and_beta_and_reads_the_fields_it_was_trained_on(
    base: Path, tmp_path: Path
) -> None:
    folder = released_judge(tmp_path / "beta", base, score_type="beta", arguments={"add_transcript": True})
    alpha, beta = published(
        folder, base, text_of(EXAMPLES[0], context="|transcription: Woof. It barks.")
    ).exp()
    readings = opened(folder / "model").score(EXAMPLES[:1])[0].readings
    assert readings["value"].value == pytest.approx(float(alpha / (alpha + beta)), abs=1e-5)
    assert readings["value"].distribution == pytest.approx(
        {"alpha": float(alpha), "beta": float(beta)}, rel=1e-4
    )


def test_a_judge_on_a_model_that_also_sees_is_opened(tmp_path: Path) -> None:
    base = tiny_gemma3_with_eyes(tmp_path / "base")
    folder = released_judge(tmp_path / "judge", base)
    chances = published(folder, base, text_of(EXAMPLES[0])).softmax(-1).numpy()
    value = opened(folder).score(EXAMPLES[:1])[0].readings["value"].value
    assert value == pytest.approx(float(chances @ (np.arange(5) / 4)), abs=1e-5)


def test_what_else_is_in_the_batch_does_not_change_a_score(released: Path) -> None:
    metric = opened(released)
    together = [outcome.readings["value"].value for outcome in metric.score(EXAMPLES)]
    alone = [metric.score([example])[0].readings["value"].value for example in EXAMPLES]
    assert together == pytest.approx(alone, abs=1e-6)
    assert len({round(value, 4) for value in together}) == 3


def test_each_fault_stays_with_its_row(released: Path) -> None:
    metric = opened(released)
    long = Example(4, (), ("#" * 600,), FIELDS)
    outcomes = score_batch(
        metric, [EXAMPLES[0], Example(5, (), ("",), FIELDS), long, Example(6, (), ()), EXAMPLES[2]]
    )
    codes = [outcome.fault.code if outcome.fault else "" for outcome in outcomes]
    assert codes == ["", "", "too_long", "no_text", ""]
    alone = metric.score([EXAMPLES[2]])[0]
    assert outcomes[4].readings["value"].value == pytest.approx(alone.readings["value"].value, abs=1e-6)


def test_an_item_without_the_other_fields_is_read_as_it_is(released: Path, base: Path) -> None:
    bare = Example(1, (), ("a bark",), {})
    empty = Example(1, (), ("a bark",), dict.fromkeys(FIELDS, ""))
    assert opened(released).score([bare]) == opened(released).score([empty])


def test_sure_values_near_an_end_are_clamped_up_to_the_variance_asked_for(released: Path) -> None:
    plain = [outcome.readings for outcome in opened(released, clamp_below=0).score(EXAMPLES)]
    means, variances = (np.array([row[name].value for row in plain]) for name in ("value", "variance"))
    metric = opened(released, clamp_below=1)
    found = [outcome.readings["value"] for outcome in metric.score(EXAMPLES)]
    assert [reading.value for reading in found] == clamp_means(means, variances, at_most=1.0).tolist()
    assert [reading.provenance["mean"] for reading in found] == pytest.approx(means.tolist())
    assert metric.identity != opened(released).identity
    with pytest.raises(OptionError, match="clamp_below: a variance is not below 0"):
        opened(released, clamp_below=-1)


def test_a_released_judge_is_known_by_its_name_and_clamps_as_its_authors_do(judge: Path) -> None:
    cached = judge.parent / "models--BUT-FIT--orca-gemma-3-4b-it-multinomial" / "snapshots" / "26a4971"
    copy = judge.parent / "orca-olmo-2-1b-multinomial"
    own_below = judge.parent / "orca-llama-3.2-3b-it-multinomial" / "mine"
    for folder, variance in ((cached, 0.05), (copy, 0.005), (own_below, None)):
        folder.parent.mkdir(parents=True, exist_ok=True)
        judge = judge.rename(folder)
        assert opened(folder).identity["clamp_below"] == variance
        assert opened(folder, clamp_below=0).identity["clamp_below"] is None


def test_its_identity_names_all_that_changes_a_score(released: Path, judge: Path) -> None:
    identity = opened(released).identity
    assert opened(judge).identity == identity
    state = torch.load(judge / "model" / "model_minus_lm.pt", weights_only=True)
    state["linear.bias"][0] += 1e-3
    torch.save(state, judge / "model" / "model_minus_lm.pt")
    assert opened(judge).identity["weights"] != identity["weights"]
    (judge / "args.yaml").write_text("skip_question: true\n")
    assert opened(judge).identity["encoder"] != identity["encoder"]


def test_a_built_in_judge_is_the_same_version_whatever_a_language_model_would_be_loaded_as(
    released: Path, tmp_path: Path
) -> None:
    encoder = new_answer_encoder("built-in", TextFields())
    about = JudgeConfig("built-in", TextFields(), encoder.settings)
    save_judge(tmp_path / "own", encoder, RatingHead(encoder.width, kind="beta"), about)
    identity = opened(tmp_path / "own").identity
    assert opened(tmp_path / "own", dtype="float16").identity == identity
    assert "dtype" not in identity
    assert opened(released).identity["dtype"] == "float32"


def test_it_hears_nothing_and_is_found_below_the_folder_of_checkpoints(released: Path) -> None:
    assert (METRICS["orca"].hears, METRICS["orca"].reads_text) == (False, False)
    where = Runtime(Path("/nonexistent"), 0, device="cpu", checkpoints=released.parent)
    named = open_metric("orca", {"checkpoint": released.name}, where)
    assert named.identity == opened(released).identity


HEAD = "model/model_minus_lm.pt"
SHAPES = r"linear.weight of shape \({}\); a multinomial head on this encoder has \(5, 32\)"


def zeros(*shape: int) -> dict[str, Any]:
    return {"linear.weight": torch.zeros(*shape), "linear.bias": torch.zeros(shape[0])}


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        (HEAD, zeros(2, 32), SHAPES.format("2, 32") + ".*score_type"),
        (HEAD, zeros(5, 16), SHAPES.format("5, 16")),
        (
            HEAD,
            {**zeros(5, 32), "cls.token": torch.zeros(32)},
            "holds cls.token, linear.bias, linear.weight; a head is linear.bias, linear.weight",
        ),
        (HEAD, {"linear.weight": Path("/")}, "model_minus_lm.pt cannot be read"),
        (
            "model/config.yaml",
            "score_type: bernoulli\n",
            "is 'bernoulli'; .* opened are beta and multinomial",
        ),
        ("model/config.yaml", None, r"is no ORCA judge, or not a whole one: config.yaml cannot be read"),
        ("model/lm", None, "it has neither model/lm nor a judge.json"),
        ("model/lm/adapter_config.json", {"r": 7}, "The adapter in .* cannot be applied"),
        ("tokenizer", None, "There is no tokenizer in"),
        ("judge.json", '{"format": 2}', "another version of this program wrote it"),
    ],
)
def test_a_folder_of_another_shape_is_refused_with_what_was_found(
    judge: Path, file: str, content: Any, message: str
) -> None:
    path = judge / file
    if path.is_dir():
        shutil.rmtree(path)
    elif content is None:
        path.unlink()
    elif path.suffix == ".pt":
        torch.save(content, path)
    elif isinstance(content, dict):
        path.write_text(json.dumps(json.loads(path.read_text()) | content))
    else:
        path.write_text(content)
    with pytest.raises(SetupError, match=message):
        opened(judge)


def test_a_judge_that_is_nowhere_is_refused() -> None:
    with pytest.raises(
        SetupError, match=r"There is no folder /no/where\. Give the folder of a trained ORCA judge"
    ):
        opened("/no/where")
