"""The settings of an ORCA training. Published values are the defaults for language models (ORCA §5.5 and its released
code); a built-in encoder has its own."""

from __future__ import annotations

from scoring.metrics.entries import Option

_OWN = "Without it, as published for a language model, or what suits the built-in encoder"

OPTIONS: tuple[Option, ...] = (
    Option(
        "encoder",
        "text",
        "built-in, or a causal language model: its name on the hub such as google/gemma-3-270m, or a folder.",
        default="built-in",
    ),
    Option(
        "head",
        "choice",
        "The distribution of ratings that is foretold: beta as in the paper, or multinomial, the five ratings' own "
        "probabilities, as in the released judges.",
        default="beta",
        choices=("beta", "multinomial"),
    ),
    Option(
        "edges",
        "choice",
        "What a Beta makes of ratings at the ends of the scale, where its density is not finite: clamp moves them by "
        "0.01 as the published code does; cells takes for each rating the mass of the Beta nearest to it.",
        default="clamp",
        choices=("clamp", "cells"),
    ),
    Option(
        "input",
        "text",
        "How a language model is given the fields: paper, code, or an own wording such as "
        "“{question} | {reference} | {candidate}”.",
        default="paper",
    ),
    Option("question", "flag", "Whether the question is read.", default=True),
    Option("rationale", "flag", "Whether the rationale is read.", default=True),
    Option("transcript", "flag", "Whether the transcript is read.", default=False),
    Option(
        "tuning",
        "choice",
        "Of a language model: lora trains a low-rank adapter, full all weights.",
        default="lora",
        choices=("lora", "full"),
    ),
    Option("rank", "number", "The rank of that adapter, and its alpha.", default=128),
    Option(
        "longest",
        "number",
        "Of a language model: answers that make longer texts, in characters, are left out of what it learns from, as "
        "the published code does; 0 for none.",
        default=1000,
    ),
    Option("learning_rate", "decimal", f"{_OWN}: 0.00005."),
    Option("weight_decay", "decimal", f"{_OWN}: 0."),
    Option("steps", "number", f"The most steps of optimisation. {_OWN}: 4000."),
    Option("batch", "number", f"Answers per step. {_OWN}: 8."),
    Option("warmup", "number", f"Steps in which the learning rate rises; it then falls to 1 %. {_OWN}: 100."),
    Option("validate_every", "number", f"Steps between two looks at the development part. {_OWN}: 200."),
    Option("patience", "number", f"So many looks without a better Spearman end the training. {_OWN}: 5."),
    Option(
        "clamp",
        "choice",
        "How the threshold of clamping is chosen on the development part: by rho + tau - MAE as in the paper, by "
        "rho + tau as in the code, or not at all.",
        default="paper",
        choices=("paper", "code", "none"),
    ),
    Option(
        "start_from",
        "text",
        "A trained judge's folder or hub name whose weights are the start, as when judges' ratings are learned first "
        "and people's then.",
    ),
)
