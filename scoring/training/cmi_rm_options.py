"""The settings of a CMI-RM training. Published values are the defaults for encoders that were trained on much music
(CMI-RewardBench, §3.3.2 and Appendix C.1; learning rate, weight decay and the looks at dev are not published); the
built-in one has its own."""

from __future__ import annotations

from scoring.metrics.entries import Option

_OWN = "Without it, as published for MuQ-MuLan, or what suits the built-in encoder"

OPTIONS: tuple[Option, ...] = (
    Option(
        "encoder",
        "text",
        "built-in, or clap:… or muq-mulan:… with a name on the hub or a folder.",
        default="built-in",
    ),
    Option("width", "number", f"Of the transformers, a multiple of 12. {_OWN}: 768."),
    Option("prompt_depth", "number", f"Layers that read the prompt. {_OWN}: 4."),
    Option("joint_depth", "number", f"Layers that hear the sound beside the prompt. {_OWN}: 1."),
    Option("batch", "number", "Pairs and rated clips per step.", default=48),
    Option("learning_rate", "decimal", f"The highest of the second stage. {_OWN}: 0.0001."),
    Option("weight_decay", "decimal", f"{_OWN}: 0.01."),
    Option(
        "dropout",
        "decimal",
        f"The share of numbers in tokens that are left out in training, drawn anew each time. {_OWN}: 0.",
    ),
    Option("steps", "number", f"The most steps on people's votes and ratings. {_OWN}: 1000."),
    Option(
        "first_steps", "number", f"Steps on pairs that a model judged, where there are any. {_OWN}: 2000."
    ),
    Option(
        "smoothing",
        "decimal",
        "How far the labels of pairs that a model judged are softened: 0.2 makes 0.9 and 0.1 of 1 and 0.",
        default=0.2,
    ),
    Option("validate_every", "number", f"Steps between two looks at the development part. {_OWN}: 50."),
    Option("patience", "number", "So many looks without a lower loss end the second stage.", default=5),
    Option(
        "by_confidence",
        "flag",
        "Whether a vote weighs by the confidence that was given with it, 3 of 5 as much as one without.",
        default=False,
    ),
    Option("start_from", "text", "A trained model's folder whose weights are the start."),
)
