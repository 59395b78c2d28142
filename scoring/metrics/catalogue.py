"""Which metrics there are: what each reads, which settings it has and where its code is.

Looking at this table loads no model code: pages and the API show it without torch in their process.
"""

from __future__ import annotations

from scoring.metrics.entries import Entry, Option, Reads

_BACKBONE = Option(
    "backbone",
    "text",
    "The audio language model: its name on the hub, a folder, or a server's address with the model's name, as "
    "http://host:8000/v1#Qwen/Qwen2.5-Omni-7B.",
    required=True,
)
_DTYPE = Option(
    "dtype",
    "choice",
    "How numbers are held: auto is bfloat16 on a GPU and float32 on a CPU. Servers decide for themselves.",
    default="auto",
    choices=("auto", "float32", "bfloat16", "float16"),
)
_TEMPLATE = Option(
    "template",
    "texts",
    "Which questions to ask: their names in the prompt file, as default,heard; all for every one of their set; "
    "compa.heard or compa.all for those of another set. Several give their mean and spread too.",
    default=["default"],
)
_ANSWERS = Option(
    "answers",
    "choice",
    "Which spellings count: exact is Yes and No, any-case adds those of yes, YES, no and NO that are one token.",
    default="exact",
    choices=("exact", "any-case"),
)
_PROMPTS = Option("prompts", "table", "A study's own prompt file, in place of the one that comes along.")
_TASK = Option(
    "task",
    "choice",
    "What is asked: relate for 0 to 10, pam for 1 to 5, baton for preferred (1) or rejected (0).",
    default="relate",
    choices=("relate", "pam", "baton"),
)
_JUDGE = Option("judge", "text", "The model that judges captions, where it is not the one that writes them.")

ENTRIES: tuple[Entry, ...] = (
    Entry(
        name="aqascore",
        title="AQAScore",
        summary="How likely an audio language model says yes when asked whether a sound holds what a text says.",
        reads=Reads.SINGLE,
        opens="scoring.metrics.aqascore:open_aqascore",
        checks="scoring.metrics.aqascore_questions:asked",
        options=(_BACKBONE, _TEMPLATE, _ANSWERS, _DTYPE, _PROMPTS),
    ),
    Entry(
        name="aqascore-pairs",
        title="AQAScore, pairs",
        summary="Which of two sounds fits a text better, or which of two texts a sound, by AQAScore.",
        reads=Reads.PAIR,
        opens="scoring.metrics.aqascore_pairs:open_aqascore_pairs",
        checks="scoring.metrics.aqascore_questions:asked_of_pairs",
        options=(
            _BACKBONE,
            Option(
                "method",
                "choice",
                "compare takes the difference of two scores, above 0 where the first is preferred; ask asks outright "
                "whether the first of two texts is better, above 0.5 where it is.",
                default="compare",
                choices=("compare", "ask"),
            ),
            _TEMPLATE,
            _ANSWERS,
            _DTYPE,
            _PROMPTS,
        ),
    ),
    Entry(
        name="clapscore",
        title="CLAPScore",
        summary="How near a text lies to a sound for a contrastive model: the cosine of their embeddings.",
        reads=Reads.SINGLE,
        opens="scoring.metrics.clapscore:open_clapscore",
        options=(
            Option(
                "checkpoint",
                "text",
                "LAION's music-as, 630k-as, music-speech-as, music-speech or 630k-best, the path of such a .pt file, a "
                "name on the hub such as laion/clap-htsat-unfused, or a folder.",
                required=True,
            ),
            Option(
                "long_sounds",
                "choice",
                "CLAP hears ten seconds. Of longer sounds, windows takes the mean over the whole, and crop one place, "
                "which published code draws at random and this one from the sound itself.",
                default="windows",
                choices=("windows", "crop"),
            ),
        ),
    ),
    Entry(
        name="cmi-rm",
        title="CMI-RM",
        summary="How well music fits its text, lyrics and reference together, and how musical it is.",
        reads=Reads.SINGLE,
        reads_text=False,
        opens="scoring.metrics.cmi_rm:open_cmi_rm",
        options=(
            Option(
                "checkpoint",
                "text",
                "The folder of a model trained here or of the published one, or its name on the hub.",
                required=True,
            ),
            Option(
                "strategy",
                "choice",
                "What is heard of a clip: its first 10 or 120 seconds, or those 120 in pieces of 10 whose scores are "
                "averaged.",
                default="first-120",
                choices=("first-120", "first-10", "mean-10"),
            ),
            Option(
                "absent",
                "choice",
                "A text or lyrics that a prompt lacks: left out as in the paper, or encoded though empty as in the "
                "released code. A model expects what it was trained with.",
                default="as-trained",
                choices=("as-trained", "masked", "encoded"),
            ),
            Option(
                "encoder",
                "text",
                "Where the encoder lies that the model was trained with, if it has moved: clap:… or muq-mulan:… with a "
                "folder.",
                default="",
            ),
        ),
    ),
    Entry(
        name="prompting",
        title="Direct prompting",
        summary="The model hears a sound and writes how well it fits a text.",
        reads=Reads.SINGLE,
        opens="scoring.metrics.prompting:open_prompting",
        options=(_BACKBONE, _TASK, _DTYPE, _PROMPTS),
    ),
    Entry(
        name="prompting-pairs",
        title="Direct prompting, pairs",
        summary="The model hears and writes which of two sounds fits a text better, or which of two texts a sound.",
        reads=Reads.PAIR,
        opens="scoring.metrics.prompting:open_pairs",
        options=(_BACKBONE, _DTYPE, _PROMPTS),
    ),
    Entry(
        name="cascade",
        title="Cascade",
        summary="A model writes a caption of the sound; the caption is judged against the text, by text alone.",
        reads=Reads.SINGLE,
        opens="scoring.metrics.cascade:open_cascade",
        options=(_BACKBONE, _TASK, _JUDGE, _DTYPE, _PROMPTS),
    ),
    Entry(
        name="cascade-pairs",
        title="Cascade, pairs",
        summary="Captions of the sounds and the texts are compared, by text alone, and one of two is named.",
        reads=Reads.PAIR,
        opens="scoring.metrics.cascade:open_pairs",
        options=(_BACKBONE, _JUDGE, _DTYPE, _PROMPTS),
    ),
    Entry(
        name="orca",
        title="ORCA",
        summary="How people would rate an answer, foretold from its text beside question, reference and rationale.",
        reads=Reads.SINGLE,
        opens="scoring.metrics.orca:open_orca",
        hears=False,
        reads_text=False,
        options=(
            Option(
                "checkpoint",
                "text",
                "A trained judge: its folder, or a name on the hub such as BUT-FIT/orca-olmo-2-1b-multinomial.",
                required=True,
            ),
            Option(
                "clamp_below",
                "decimal",
                "Up to which variance a mean within 0.125 of an end becomes that end; 0 for never. Without it, as the "
                "judge's training found.",
            ),
            _DTYPE,
        ),
    ),
)
