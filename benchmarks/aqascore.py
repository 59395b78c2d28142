"""AQAScore: a plain loop, ours with one template, ours with nine, for clips of 10 s and 30 s.

    python -m benchmarks.aqascore [--shape 3b-scaled] [--clips 8] [--rounds 3] [--seconds 10,30]
    python -m benchmarks.aqascore --device cuda --shape 7b --clips 64

Random weights: the arithmetic is that of the real models, the scores mean nothing. The plain loop gives the model one
whole prompt at a time and takes the logits of its last position. All three decode each clip and compute its features
each time; nothing is kept between rounds. Features are not padded to 300 s, as the model's own processor pads them for
the plain loop: that would flatter us. Rounds take turns, so that a slow moment of the machine meets all three.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from annotation.demo.write import write_wav
from benchmarks import harness
from benchmarks.inputs import omni_checkpoint
from scoring.backbones.audio_lm.chat import Chat
from scoring.backbones.audio_lm.families import n_pooled, padded_mel
from scoring.backbones.audio_lm.model import load_extractor
from scoring.backbones.loading.sounds import decode
from scoring.metrics.contract import Example, Metric, Sound
from scoring.metrics.registry import Runtime, open_metric
from scoring.prompts import fill, shipped

CAPTION = "A dog barks twice while rain falls on a metal roof and a car passes by"
PROMPTS = shipped("aqascore")
NINE_TO_ONE = {10: 2.5, 30: 1.7}
PLAIN_PASSES = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", choices=omni_checkpoint.SHAPES, default="3b-scaled")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", help="bfloat16 on a GPU and float32 on a CPU where it is not given")
    parser.add_argument("--clips", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", default="10,30")
    arguments = parser.parse_args()
    dtype = arguments.dtype or ("bfloat16" if arguments.device.startswith("cuda") else "float32")
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(Path(name), arguments.shape, device=arguments.device, dtype=dtype)
        by_length = {
            seconds: bench.measure(seconds, n_clips=arguments.clips, n_rounds=arguments.rounds)
            for seconds in map(int, arguments.seconds.split(","))
        }
        figures = {
            "weights": "random",
            "shape": vars(omni_checkpoint.SHAPES[arguments.shape]) | {"name": arguments.shape},
            "device": device_name(arguments.device),
            "dtype": dtype,
            "clips": arguments.clips,
            "rounds": arguments.rounds,
            "matmul_tflops": round(bench.matmul_rate / 1e12, 3),
            **{f"{seconds} s": one for seconds, one in by_length.items()},
        }
    harness.finish("nine templates cost little more than one", figures, targets(by_length, arguments.device))


class Bench:
    """A checkpoint in a folder, the same weights opened both ways."""

    def __init__(self, folder: Path, shape: str, *, device: str, dtype: str) -> None:
        self._folder, self._device = folder, device
        words = " ".join(
            [PROMPTS.system, *PROMPTS.questions["text"].values(), CAPTION, "Yes No system user assistant"]
        )
        checkpoint = folder / "checkpoint"
        omni_checkpoint.write(
            checkpoint, omni_checkpoint.SHAPES[shape], words=words, dtype=getattr(torch, dtype), device=device
        )
        self._plain = PlainLoop(checkpoint, dtype=getattr(torch, dtype), device=device)
        self._metrics = {
            name: open_metric(
                "aqascore",
                {"backbone": str(checkpoint), "dtype": dtype, "template": template},
                Runtime(folder / "cache", cache_bytes=0, device=device),
            )
            for name, template in (("one", "default"), ("nine", "all"))
        }
        self.matmul_rate = matmul_rate(device, getattr(torch, dtype))

    def measure(self, seconds: int, *, n_clips: int, n_rounds: int) -> dict[str, Any]:
        """Per clip, the median of the rounds."""
        examples = [
            Example(i, (clip(self._folder, seconds=seconds, seed=i),), (CAPTION,)) for i in range(n_clips)
        ]
        plain = examples[:PLAIN_PASSES]
        runs: dict[str, tuple[int, Callable[[], None]]] = {
            "plain": (len(plain), lambda: self._plain.score(plain)),
            "one": (n_clips, lambda: score(self._metrics["one"], examples)),
            "nine": (n_clips, lambda: score(self._metrics["nine"], examples)),
        }
        # The first run computes what later ones find done, such as the system prompt.
        for _, run in runs.values():
            run()
        work = {name: flops(run) / n for name, (n, run) in runs.items()}
        times: dict[str, list[float]] = {name: [] for name in runs}
        for _ in range(n_rounds):
            for name, (n, run) in runs.items():
                times[name].append(self._timed(run) / n)
        per_clip = {name: statistics.median(each) for name, each in times.items()}
        return {
            "tokens": self._plain.tokens(examples[0]),
            "clips_per_s": {name: round(1 / each, 3) for name, each in per_clip.items()},
            "gflop_per_clip": {name: round(each / 1e9, 1) for name, each in work.items()},
            "utilisation": {
                name: round(work[name] / per_clip[name] / self.matmul_rate, 3) for name in per_clip
            },
            "nine / one": round(per_clip["nine"] / per_clip["one"], 3),
            "nine plain / nine": round(9 * per_clip["plain"] / per_clip["nine"], 2),
            "plain / one": round(per_clip["plain"] / per_clip["one"], 2),
        }

    def _timed(self, run: Callable[[], None]) -> float:
        return harness.seconds_of(lambda: _synchronized(run, self._device))


class PlainLoop:
    """One prompt at a time, from beginning to end."""

    def __init__(self, checkpoint: Path, *, dtype: torch.dtype, device: str) -> None:
        from transformers import Qwen2_5OmniThinkerForConditionalGeneration

        self._model: Any = Qwen2_5OmniThinkerForConditionalGeneration.from_pretrained(
            checkpoint, dtype=dtype, attn_implementation="sdpa", device_map={"": device}
        ).eval()
        self._extractor = load_extractor(checkpoint)
        self._chat = Chat(checkpoint, placeholder=self._model.config.audio_token_id)
        self._answers = [self._chat.answer_tokens([word])[0] for word in ("Yes", "No")]

    @torch.inference_mode()
    def score(self, examples: Sequence[Example]) -> None:
        for example in examples:
            logits = self._model(**self._inputs(example), use_cache=False).logits[0, -1]
            yes, no = logits.float().log_softmax(-1)[self._answers].tolist()
            assert abs(yes - no) < 100

    def tokens(self, example: Example) -> dict[str, int]:
        ids = self._inputs(example)["input_ids"][0]
        places = (ids == self._chat.placeholder).nonzero()
        return {"before": int(places[0]), "sound": len(places), "after": len(ids) - int(places[-1]) - 1}

    def _inputs(self, example: Example) -> dict[str, torch.Tensor]:
        samples = decode(example.sounds[0], rate=self._extractor.sampling_rate, seconds=300.0)
        n_samples = len(samples) + 400 + -(len(samples) + 400) % 160
        mel, n_frames = padded_mel(self._extractor, samples, n_samples=n_samples)
        question = fill(PROMPTS.questions["text"]["default"], {"text": example.texts[0]})
        (prompt,) = self._chat.prompts([question], system=PROMPTS.system, n_sounds=1)
        at = prompt.index(self._chat.placeholder)
        ids = torch.tensor([prompt[:at] + [prompt[at]] * n_pooled(n_frames) + prompt[at + 1 :]])
        inputs = {
            "input_ids": ids,
            "attention_mask": torch.ones_like(ids),
            "input_features": mel[None, :, :n_frames].to(self._model.dtype),
            "feature_attention_mask": torch.ones(1, n_frames, dtype=torch.long),
        }
        return {name: tensor.to(self._model.device) for name, tensor in inputs.items()}


def score(metric: Metric, examples: Sequence[Example]) -> None:
    """In batches as a run forms them, the next one prepared while one is scored."""
    batches = list(in_batches(examples, metric.limits.examples, metric.limits.seconds))
    for batch, following in zip(batches, [*batches[1:], []], strict=True):
        metric.prepare(following)
        assert not any(outcome.fault for outcome in metric.score(batch))


def in_batches(examples: Sequence[Example], most: int, seconds: float) -> Iterator[Sequence[Example]]:
    size = max(1, min(most, int(seconds // examples[0].sounds[0].seconds)))
    return (examples[start : start + size] for start in range(0, len(examples), size))


def flops(run: Callable[[], None]) -> float:
    """What the model's kernels compute, padding included."""
    with FlopCounterMode(display=False) as counter:
        run()
    return float(counter.get_total_flops())


def matmul_rate(device: str, dtype: torch.dtype) -> float:
    """Operations a second in products of matrices, the best of several."""
    size = 8192 if device.startswith("cuda") else 1536
    a, b = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
    best = min(harness.seconds_of(lambda: _synchronized(lambda: a @ b, device)) for _ in range(8))
    return 2 * size**3 / best


def _synchronized(run: Callable[[], object], device: str) -> None:
    run()
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def clip(folder: Path, *, seconds: int, seed: int) -> Sound:
    path = folder / f"{seconds}-{seed}.wav"
    if not path.exists():
        samples = np.random.default_rng(seed).normal(size=(48_000 * seconds, 1)) * 6000
        write_wav(path, samples.clip(-32_000, 32_000).astype(np.int16), rate=48_000)
    return Sound(hashlib.sha256(path.read_bytes()).hexdigest(), path, float(seconds))


def targets(by_length: dict[int, dict[str, Any]], device: str) -> harness.Targets:
    bounds: harness.Targets = {}
    for seconds, one in by_length.items():
        if seconds in NINE_TO_ONE:
            bounds[f"{seconds} s: nine / one"] = (one["nine / one"], NINE_TO_ONE[seconds], "<=")
        bounds[f"{seconds} s: nine plain / nine"] = (one["nine plain / nine"], 5.0, ">=")
        if device.startswith("cuda"):
            bounds[f"{seconds} s: plain / one"] = (one["plain / one"], 4.0, ">=")
            bounds[f"{seconds} s: utilisation of one"] = (one["utilisation"]["one"], 0.5, ">=")
    return bounds


def device_name(device: str) -> str:
    on_cpu = f"cpu, {torch.get_num_threads()} threads"
    return torch.cuda.get_device_name(device) if device.startswith("cuda") else on_cpu


if __name__ == "__main__":
    main()
