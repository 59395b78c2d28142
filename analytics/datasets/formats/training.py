"""The formats of training sets, in the order in which they are offered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analytics.datasets.formats import aqeval, arena, cmi_pref, mos, orca, soft_preferences, trl
from analytics.datasets.formats.contract import Question, TrainingFormat, TrainingSetError, TrainingSetOptions

_WORDS = {"prompt": ("prompt", "lyrics"), "question": ("asked",)}
_ITEM_CLIPS = ("item_file_name", "reference_file_name")

_ALL = (
    TrainingFormat(
        "trl-preference",
        "Preference pairs for TRL (RewardTrainer, DPO)",
        "preference",
        ("parquet", "jsonl"),
        trl.paired_rows,
        trl.PAIRED,
        {
            "item": ("item",),
            "prompt": ("item_prompt", "lyrics"),
            "question": ("item_question",),
            "clip": ("chosen_file_name", "rejected_file_name", *_ITEM_CLIPS),
            "system": ("chosen_system", "rejected_system"),
        },
        "TRL holds no ties: pairs that are undecided under the tie policy are left out and counted. RewardTrainer "
        "uses the column `margin` as it finds it (its loss is -log sigmoid(r_chosen - r_rejected - margin)); drop "
        "the column for the plain Bradley-Terry loss. TRL's collators take no audio: for sounds, `chosen` and "
        "`rejected` are names of files.",
        ties=trl.TIES,
        weighs=True,
        margins=True,
    ),
    TrainingFormat(
        "trl-unpaired",
        "Single answers with a label for TRL (KTO)",
        "preference",
        ("parquet", "jsonl"),
        trl.unpaired_rows,
        trl.UNPAIRED,
        {
            "item": ("item",),
            "prompt": ("item_prompt", "lyrics"),
            "question": ("item_question",),
            "clip": ("completion_file_name", *_ITEM_CLIPS),
            "system": ("system", "other_system"),
        },
        "Each decided pair gives two rows: the preferred answer with the label true, the other with false. Undecided "
        "pairs are left out and counted.",
        ties=trl.UNPAIRED_TIES,
        weighs=True,
    ),
    TrainingFormat(
        "soft-preferences",
        "Soft labels: P(A > B) with every vote behind it",
        "preference",
        ("parquet", "jsonl"),
        soft_preferences.rows,
        soft_preferences.COLUMNS,
        {
            "item": ("item",),
            **_WORDS,
            "clip": ("a_file_name", "b_file_name", *_ITEM_CLIPS),
            "system": ("a_system", "b_system"),
        },
        "A is the side that the task lists first, whichever a rater met first (`shown_first`). Scores are what "
        "models stored; one that was trained on votes of this study may have learned from the test split.",
        ties=soft_preferences.TIES,
        weighs=True,
        margins=True,
    ),
    TrainingFormat(
        "cmi-pref",
        "Reward-model rows in CMI-Pref's columns",
        "preference",
        ("jsonl",),
        cmi_pref.rows,
        cmi_pref.COLUMNS,
        {
            "item": ("prompt id",),
            "prompt": ("prompt", "lyrics"),
            "clip": ("audio-path", "audio2", "ref-audio-path"),
            "system": ("model_a", "model_b"),
        },
        "Concord's own importer `cmi-pref` takes these files back, where the sounds go with them.",
        ties=cmi_pref.TIES,
        per_question=False,
        weighs=True,
        aggregates=("votes", "aggregate"),
        checked_by=lambda question: (
            ""
            if question.key in cmi_pref.QUESTIONS
            else f"CMI-Pref has columns for {' and '.join(cmi_pref.QUESTIONS)}, not for {question.key!r}. "
            "Use soft-preferences or arena."
        ),
    ),
    TrainingFormat(
        "orca",
        "Individual ratings in ORCA's layout",
        "rating",
        ("json", "jsonl"),
        orca.rows,
        orca.COLUMNS,
        {"item": ("item",), "question": ("question",), "clip": ("audio",), "system": ("system",)},
        "`json` is the layout of ORCA's first release, `jsonl` that of the second.",
        per_question=False,
        checked_by=orca.fault,
    ),
    TrainingFormat(
        "aqeval",
        "Correct, half, incorrect: AQEval's aggregation",
        "rating",
        ("csv", "parquet"),
        aqeval.rows,
        aqeval.COLUMNS,
        {"item": ("item",), "question": ("question",), "clip": ("filename",), "system": ("model",)},
        "Of five votes 4 or 5 for correct make 1, 2 or 3 make 0.5, fewer make 0 (AURA Score, section 2); of another "
        "number the same shares decide. Texts that a spreadsheet would run as a formula begin with an apostrophe in "
        "CSV.",
        checked_by=aqeval.fault,
    ),
    TrainingFormat(
        "arena",
        "Arena votes: model_a, model_b, winner",
        "preference",
        ("parquet", "jsonl", "csv"),
        arena.rows,
        arena.COLUMNS,
        {
            "item": ("item",),
            **_WORDS,
            "clip": ("output_a_file_name", "output_b_file_name", *_ITEM_CLIPS),
            "system": ("model_a", "model_b"),
        },
        "A row per vote, with A as the rater met it.",
        ties=arena.TIES,
        weighs=True,
    ),
    TrainingFormat(
        "mos",
        "Mean opinions with every rating",
        "rating",
        ("parquet", "jsonl"),
        mos.rows,
        mos.COLUMNS,
        {"item": ("item",), **_WORDS, "clip": ("file_name", *_ITEM_CLIPS), "system": ("system",)},
        "Means are plain: every rating weighs the same.",
    ),
)
TRAINING_FORMATS: Mapping[str, TrainingFormat] = {one.key: one for one in _ALL}


def check_options(
    options: TrainingSetOptions, questions: Sequence[Question]
) -> tuple[TrainingFormat, tuple[Question, ...]]:
    """The format, and the questions it is made of. Raises TrainingSetError for what does not go together."""
    if options.format not in TRAINING_FORMATS:
        raise TrainingSetError(
            "bad_format",
            f"{options.format!r} is not a format of training sets; use {', '.join(TRAINING_FORMATS)}.",
        )
    chosen = TRAINING_FORMATS[options.format]
    _check_choice(chosen, "file", options.file, chosen.files)
    _check_choice(chosen, "ties", options.ties, chosen.ties)
    _check_choice(chosen, "rows", options.rows, chosen.aggregates)
    if not chosen.weighs and (options.weights, options.confidence) != ("equal", "column"):
        raise TrainingSetError(
            "bad_weights", f"{chosen.key} has no weights: leave weights and confidence as they are."
        )
    return chosen, _questions(chosen, options, questions)


def _check_choice(chosen: TrainingFormat, name: str, said: str, known: tuple[str, ...]) -> None:
    if said and said not in known:
        use = f"use {' or '.join(known)}" if known else "leave it out"
        raise TrainingSetError(f"bad_{name}", f"{said!r} is not what {chosen.key} can do for {name}; {use}.")


def _questions(
    chosen: TrainingFormat, options: TrainingSetOptions, asked: Sequence[Question]
) -> tuple[Question, ...]:
    fitting = {one.key: one for one in asked if one.is_preference == (chosen.learns == "preference")}
    for key in options.questions:
        if key not in fitting:
            told = f"use {', '.join(fitting)}" if fitting else "it asks none"
            raise TrainingSetError(
                "bad_questions", f"{key!r} is not a {chosen.learns} question of this study; {told}."
            )
    wanted = [fitting[key] for key in options.questions] or [*fitting.values()]
    faults = {one.key: chosen.checked_by(one) for one in wanted}
    # Without questions by name, those that have no place in the format are passed over.
    kept = [one for one in wanted if not faults[one.key]] if not options.questions else wanted
    if not wanted or not kept or any(faults[one.key] for one in kept):
        because = next((fault for fault in faults.values() if fault), "")
        raise TrainingSetError(
            "no_questions",
            because
            or f"This study asks no {chosen.learns} question, and {chosen.key} is made of such. "
            f"Use {', '.join(one.key for one in _ALL if one.learns != chosen.learns)}.",
        )
    if chosen.key == "orca":
        kept = kept[:1]
    return tuple(kept)
