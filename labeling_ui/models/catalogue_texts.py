"""What trainings say of themselves: the catalogue of them, their figures, curves and stages. Listed here so that it is
translated where a page shows it; what trains works without Django."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext as look_up
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from scoring.metrics import registry


def scorer_title(metric: str) -> str:
    """A scorer's title in the reader's language; its key where it is not registered any more."""
    entry = registry.METRICS.get(metric)
    return metric if entry is None else look_up(entry.title)


# Scorers and their settings in words. An option that is not listed goes by its own name.


OPTION_LABELS: dict[str, Promise] = {
    "backbone": _("Model"),
    "checkpoint": _("Checkpoint"),
    "template": _("Question templates"),
    "answers": _("Spellings of the answers"),
    "task": _("Task"),
    "judge": _("Judge"),
    "dtype": _("Precision"),
    "prompts": _("Prompts"),
    "long_sounds": _("Long sounds"),
    "strategy": _("What is heard"),
    "absent": _("What a prompt lacks"),
    "encoder": _("Encoder"),
    "method": _("Method"),
    "max_new_tokens": _("Longest text, in tokens"),
    "listens": _("Play the clip to the model"),
    "language": _("Language"),
    "head": _("Distribution"),
    "edges": _("Ratings at the ends"),
    "input": _("Wording of the input"),
    "question": _("Question"),
    "rationale": _("Rationale"),
    "transcript": _("Transcript"),
    "tuning": _("What is trained"),
    "rank": _("Rank of the adapter"),
    "longest": _("Longest text"),
    "learning_rate": _("Learning rate"),
    "weight_decay": _("Weight decay"),
    "steps": _("Steps"),
    "batch": _("Batch"),
    "warmup": _("Warm-up"),
    "validate_every": _("Steps between looks"),
    "patience": _("Patience"),
    "clamp": _("Clamping"),
    "start_from": _("Start from"),
    "by_confidence": _("Weigh votes by confidence"),
    "dropout": _("Dropout"),
    "first_steps": _("Steps of the first stage"),
    "joint_depth": _("Joint layers"),
    "prompt_depth": _("Prompt layers"),
    "smoothing": _("Label smoothing"),
    "width": _("Width"),
}

# What the catalogue of scorers says, listed here so that it is translated where a page shows it: the catalogue itself
# works without Django.
SCORER_TEXTS = (
    gettext_noop("AQAScore"),
    gettext_noop(
        "How likely an audio language model says yes when asked whether a sound holds what a text says."
    ),
    gettext_noop(
        "The audio language model: its name on the hub, a folder, or a server's address with the "
        "model's name, as http://host:8000/v1#Qwen/Qwen2.5-Omni-7B."
    ),
    gettext_noop(
        "Which questions to ask: their names in the prompt file, as default,heard; all for every "
        "one of their set; compa.heard or compa.all for those of another set. Several give their "
        "mean and spread too."
    ),
    gettext_noop(
        "Which spellings count: exact is Yes and No, any-case adds those of yes, YES, no and NO "
        "that are one token."
    ),
    gettext_noop(
        "How numbers are held: auto is bfloat16 on a GPU and float32 on a CPU. Servers decide for themselves."
    ),
    gettext_noop("A study's own prompt file, in place of the one that comes along."),
    gettext_noop("AQAScore, pairs"),
    gettext_noop("Which of two sounds fits a text better, or which of two texts a sound, by AQAScore."),
    gettext_noop(
        "compare takes the difference of two scores, above 0 where the first is preferred; ask asks"
        " outright whether the first of two texts is better, above 0.5 where it is."
    ),
    gettext_noop("CLAPScore"),
    gettext_noop("How near a text lies to a sound for a contrastive model: the cosine of their embeddings."),
    gettext_noop(
        "LAION's music-as, 630k-as, music-speech-as, music-speech or 630k-best, the path of such a "
        ".pt file, a name on the hub such as laion/clap-htsat-unfused, or a folder."
    ),
    gettext_noop(
        "CLAP hears ten seconds. Of longer sounds, windows takes the mean over the whole, and crop "
        "one place, which published code draws at random and this one from the sound itself."
    ),
    gettext_noop("ORCA"),
    gettext_noop(
        "How people would rate an answer, foretold from its text beside question, reference and rationale."
    ),
    gettext_noop(
        "A trained judge: its folder, or a name on the hub such as BUT-FIT/orca-olmo-2-1b-multinomial."
    ),
    gettext_noop(
        "Up to which variance a mean within 0.125 of an end becomes that end; 0 for never. Without it, as "
        "the judge's training found."
    ),
    gettext_noop("CMI-RM"),
    gettext_noop("How well music fits its text, lyrics and reference together, and how musical it is."),
    gettext_noop("The folder of a model trained here or of the published one, or its name on the hub."),
    gettext_noop(
        "What is heard of a clip: its first 10 or 120 seconds, or those 120 in pieces of 10 whose scores are averaged."
    ),
    gettext_noop(
        "A text or lyrics that a prompt lacks: left out as in the paper, or encoded though empty as in the released "
        "code. A model expects what it was trained with."
    ),
    gettext_noop(
        "Where the encoder lies that the model was trained with, if it has moved: clap:… or muq-mulan:… with a folder."
    ),
    gettext_noop("Direct prompting"),
    gettext_noop("The model hears a sound and writes how well it fits a text."),
    gettext_noop(
        "What is asked: relate for 0 to 10, pam for 1 to 5, baton for preferred (1) or rejected (0)."
    ),
    gettext_noop("Direct prompting, pairs"),
    gettext_noop(
        "The model hears and writes which of two sounds fits a text better, or which of two texts a sound."
    ),
    gettext_noop("Cascade"),
    gettext_noop(
        "A model writes a caption of the sound; the caption is judged against the text, by text alone."
    ),
    gettext_noop("The model that judges captions, where it is not the one that writes them."),
    gettext_noop("Cascade, pairs"),
    gettext_noop(
        "Captions of the sounds and the texts are compared, by text alone, and one of two is named."
    ),
)
# The same of the catalogue of writers.
WRITER_TEXTS = (
    gettext_noop("Transcript"),
    gettext_noop("What is said in the clip: by Whisper, or by an audio language model that is asked for it."),
    gettext_noop("Rationale"),
    gettext_noop("Why the reference answer is right, for those who judge without listening."),
    gettext_noop("Question"),
    gettext_noop("The question written anew so that it can be understood on its own."),
    gettext_noop("Reference answer"),
    gettext_noop("The right answer, short and complete."),
    gettext_noop("Candidate answer"),
    gettext_noop("A system's answer to the question, to be judged."),
    gettext_noop("How long a text may become, in the model's tokens."),
    gettext_noop(
        "Play the item's clip to the model. Without it the model goes by the texts alone, for models that have no ears."
    ),
    gettext_noop("Which language is spoken, as en or english; empty for the one that Whisper hears."),
    gettext_noop(
        "How numbers are held: auto is bfloat16 on a GPU and float32 on a CPU. Servers decide for themselves."
    ),
)


def option_label(option: str) -> Promise | str:
    return OPTION_LABELS.get(option, option.replace("_", " ").capitalize())


TRAINING_TEXTS = (
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
METRIC_TEXTS = (
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
CURVE_TEXTS = (
    gettext_noop("train loss"),
    gettext_noop("dev loss"),
    gettext_noop("dev spearman"),
    gettext_noop("dev accuracy"),
    gettext_noop("loss"),
    gettext_noop("spearman"),
    gettext_noop("accuracy"),
)
STAGE_TEXTS = (
    gettext_noop("training"),
    gettext_noop("listening"),
    gettext_noop("pairs judged by a model"),
    gettext_noop("Held-out votes"),
)
