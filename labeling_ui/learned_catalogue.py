"""What trainings say of themselves: the catalogue of them, their figures, curves and stages. Listed here so that it is
translated where a page shows it; what trains works without Django."""

from __future__ import annotations

from django.utils.translation import gettext_noop

TEXTS = (
    gettext_noop("ORCA"),
    gettext_noop(
        "Reads question, reference, rationale, transcript and answer, and foretells how people rate it."
    ),
    gettext_noop(
        "built-in, or a causal language model: its name on the hub such as google/gemma-3-270m, or a folder."
    ),
    gettext_noop(
        "The distribution of ratings that is foretold: beta as in the paper, or multinomial, the five "
        "ratings' own probabilities, as in the released judges."
    ),
    gettext_noop(
        "What a Beta makes of ratings at the ends of the scale, where its density is not finite: "
        "clamp moves them by 0.01 as the published code does; cells takes for each rating the mass of "
        "the Beta nearest to it."
    ),
    gettext_noop(
        "How a language model is given the fields: paper, code, or an own wording such as “{question} "
        "| {reference} | {candidate}”."
    ),
    gettext_noop("Whether the question is read."),
    gettext_noop("Whether the rationale is read."),
    gettext_noop("Whether the transcript is read."),
    gettext_noop("Of a language model: lora trains a low-rank adapter, full all weights."),
    gettext_noop("The rank of that adapter, and its alpha."),
    gettext_noop(
        "Of a language model: answers that make longer texts, in characters, are left out of what it "
        "learns from, as the published code does; 0 for none."
    ),
    gettext_noop(
        "Without it, as published for a language model, or what suits the built-in encoder: 0.00005."
    ),
    gettext_noop("Without it, as published for a language model, or what suits the built-in encoder: 0."),
    gettext_noop(
        "The most steps of optimisation. Without it, as published for a language model, or what suits "
        "the built-in encoder: 4000."
    ),
    gettext_noop(
        "Answers per step. Without it, as published for a language model, or what suits the built-in "
        "encoder: 8."
    ),
    gettext_noop(
        "Steps in which the learning rate rises; it then falls to 1 %. Without it, as published for a "
        "language model, or what suits the built-in encoder: 100."
    ),
    gettext_noop(
        "Steps between two looks at the development part. Without it, as published for a language "
        "model, or what suits the built-in encoder: 200."
    ),
    gettext_noop(
        "So many looks without a better Spearman end the training. Without it, as published for a "
        "language model, or what suits the built-in encoder: 5."
    ),
    gettext_noop(
        "How the threshold of clamping is chosen on the development part: by rho + tau - MAE as in "
        "the paper, by rho + tau as in the code, or not at all."
    ),
    gettext_noop(
        "A trained judge's folder or hub name whose weights are the start, as when judges' ratings "
        "are learned first and people's then."
    ),
    gettext_noop("CMI-RM"),
    gettext_noop(
        "Hears a clip beside its prompt, lyrics and reference, and foretells which of two people prefer."
    ),
    gettext_noop("built-in, or clap:… or muq-mulan:… with a name on the hub or a folder."),
    gettext_noop(
        "Of the transformers, a multiple of 12. Without it, as published for MuQ-MuLan, or what suits "
        "the built-in encoder: 768."
    ),
    gettext_noop(
        "Layers that read the prompt. Without it, as published for MuQ-MuLan, or what suits the "
        "built-in encoder: 4."
    ),
    gettext_noop(
        "Layers that hear the sound beside the prompt. Without it, as published for MuQ-MuLan, or "
        "what suits the built-in encoder: 1."
    ),
    gettext_noop("Pairs and rated clips per step."),
    gettext_noop(
        "The highest of the second stage. Without it, as published for MuQ-MuLan, or what suits the "
        "built-in encoder: 0.0001."
    ),
    gettext_noop("Without it, as published for MuQ-MuLan, or what suits the built-in encoder: 0.01."),
    gettext_noop(
        "The share of numbers in tokens that are left out in training, drawn anew each time. Without "
        "it, as published for MuQ-MuLan, or what suits the built-in encoder: 0."
    ),
    gettext_noop(
        "The most steps on people's votes and ratings. Without it, as published for MuQ-MuLan, or "
        "what suits the built-in encoder: 1000."
    ),
    gettext_noop(
        "Steps on pairs that a model judged, where there are any. Without it, as published for "
        "MuQ-MuLan, or what suits the built-in encoder: 2000."
    ),
    gettext_noop(
        "How far the labels of pairs that a model judged are softened: 0.2 makes 0.9 and 0.1 of 1 and 0."
    ),
    gettext_noop(
        "Steps between two looks at the development part. Without it, as published for MuQ-MuLan, or "
        "what suits the built-in encoder: 50."
    ),
    gettext_noop("So many looks without a lower loss end the second stage."),
    gettext_noop(
        "Whether a vote weighs by the confidence that was given with it, 3 of 5 as much as one without."
    ),
    gettext_noop("A trained model's folder whose weights are the start."),
)
FIGURES = (
    gettext_noop("SRCC"),
    gettext_noop("Kendall"),
    gettext_noop("MAE of the mean"),
    gettext_noop("MAE of the variance"),
    gettext_noop("SRCC, words of the reference"),
    gettext_noop("MAE of the mean, the average rating"),
    gettext_noop("MAE of the variance, the average variance"),
    gettext_noop("SRCC, one rater against the others"),
    gettext_noop("SRCC, the model against the same"),
    gettext_noop("alignment accuracy"),
    gettext_noop("alignment accuracy, held-out raters"),
    gettext_noop("alignment cross-entropy"),
    gettext_noop("alignment Brier score"),
    gettext_noop("alignment ECE"),
    gettext_noop("alignment LCC"),
    gettext_noop("alignment SRCC"),
    gettext_noop("alignment Kendall"),
    gettext_noop("alignment accuracy, one side always"),
    gettext_noop("alignment accuracy, one rater against the others"),
    gettext_noop("alignment accuracy, the model against the same"),
    gettext_noop("musicality accuracy"),
    gettext_noop("musicality accuracy, held-out raters"),
    gettext_noop("musicality cross-entropy"),
    gettext_noop("musicality Brier score"),
    gettext_noop("musicality ECE"),
    gettext_noop("musicality LCC"),
    gettext_noop("musicality SRCC"),
    gettext_noop("musicality Kendall"),
    gettext_noop("musicality accuracy, one side always"),
    gettext_noop("musicality accuracy, one rater against the others"),
    gettext_noop("musicality accuracy, the model against the same"),
)
CURVES = (
    gettext_noop("train loss"),
    gettext_noop("dev loss"),
    gettext_noop("dev spearman"),
    gettext_noop("dev accuracy"),
    gettext_noop("loss"),
    gettext_noop("spearman"),
    gettext_noop("accuracy"),
)
STAGES = (
    gettext_noop("training"),
    gettext_noop("listening"),
    gettext_noop("pairs judged by a model"),
    gettext_noop("Held-out votes"),
)
