"""AQEval: answers of four systems to questions about sounds, and whether people call them correct.

Dixit, Deshmukh and Raj, "AURA Score". Layout as in the authors' repository (satvik-dixit/AURA: `AQEval/test.csv` with
8,006 answers and `AQEval/val.csv` with 1,968): the columns source, filename, type, question, reference, model, response
and final_annotation. Five people each called an answer correct or not; 1 is where four or five of them called it
correct, 0.5 where two or three did, 0 otherwise (section 2.1). Single votes are not released.

The sounds are those of Clotho and AudioCaps and not in that repository. Binary and single-word questions are
ClothoAQA's, those with short, medium and long answers OpenAQA's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from analytics.benchmarks.contract import Composition, Folder, Rating, Units

PUBLISHED = (
    "AQEval is published as satvik-dixit/AURA on GitHub (AQEval/test.csv and val.csv); put the sounds of Clotho and "
    "AudioCaps into the same folder."
)

# What the release calls the systems, and what they are called.
SYSTEMS = {
    "audio_flamingo": "Audio Flamingo",
    "gama": "GAMA",
    "qwen_ac": "Qwen-Audio-Chat",
    "qwen_2": "Qwen2-Audio",
}
SOURCE_OF_TYPE = {
    **dict.fromkeys(("binary", "word"), "ClothoAQA"),
    **dict.fromkeys(("short", "medium", "long"), "OpenAQA"),
}
TYPES = tuple(SOURCE_OF_TYPE)
SOURCES = ("ClothoAQA", "OpenAQA")
OVERALL = "Overall"
# By the name of a split, what its parts begin with, and its file.
SPLITS = {"test": "AQEval", "validation": "AQEval validation"}
FILES = {"test": ("test.csv",), "validation": ("val.csv", "validation.csv")}
VALUES = (0.0, 0.5, 1.0)
COLUMNS = ("source", "filename", "type", "question", "reference", "model", "response", "final_annotation")


@dataclass(frozen=True)
class Answer:
    """One row of the release. `source` and `type` as it names them, `system` as the system is called."""

    source: str
    filename: str
    type: str
    question: str
    reference: str
    system: str
    response: str
    human: float

    @property
    def parts(self) -> tuple[str, ...]:
        """From the smallest to all; without the split's name."""
        source = SOURCE_OF_TYPE[self.type]
        return f"{self.system}/{self.type}", f"{self.system}/{source}", self.type, source, OVERALL


def aqeval_ratings(folder: Folder, units: Units, split: str = "test") -> Iterator[Rating]:
    """Answers about one sound are not independent of each other, whatever the question and the system."""
    answers = aqeval_answers(folder, split)
    sounds: Mapping[str, Path | None] = {}
    if folder.needs_sounds:
        names = dict.fromkeys(answer.filename for answer in answers)
        sounds = {name: folder.recording_or_video(name) for name in names}
        folder.check(part=SPLITS[split])
    for answer in answers:
        sound = sounds.get(answer.filename)
        if sound is None and folder.needs_sounds:
            continue
        unit = units.number(sound, answer.response, question=answer.question, reference=answer.reference)
        parts = tuple(f"{SPLITS[split]}/{part}" for part in answer.parts)
        yield Rating(unit, answer.human, parts, cluster=answer.filename)


def aqeval_answers(folder: Folder, split: str) -> list[Answer]:
    """The rows of a split, checked. Raises BenchmarkError with the row and what is wrong."""
    table = folder.file(_places(split))
    answers = []
    # As a spreadsheet counts them: the heading is row 1.
    for number, row in enumerate(folder.rows(table, columns=COLUMNS), start=2):
        if wrong := _fault(row):
            raise folder.invalid_row(table, f"row {number}", wrong)
        answers.append(
            Answer(
                source=row["source"].strip(),
                filename=row["filename"].strip(),
                type=row["type"].strip().lower(),
                question=row["question"].strip(),
                reference=row["reference"].strip(),
                system=SYSTEMS.get(row["model"].strip(), row["model"].strip()),
                response=row["response"],
                human=float(row["final_annotation"]),
            )
        )
    return answers


def _places(split: str) -> list[str]:
    return [f"{place}{name}" for place in ("", "AQEval/") for name in FILES[split]]


def _fault(row: Mapping[str, str]) -> str:
    """What is wrong with a row; an answer alone may be empty."""
    for column in COLUMNS:
        if column != "response" and not row[column].strip():
            return f"{column} is empty"
    if row["type"].strip().lower() not in TYPES:
        return f"type is {row['type']!r}, not one of {', '.join(TYPES)}"
    try:
        known = float(row["final_annotation"]) in VALUES
    except ValueError:
        known = False
    return "" if known else f"final_annotation is {row['final_annotation']!r}, not 1, 0.5 or 0"


# Composition (AURA, table 1).

_WORD = re.compile(r"\w+(?:['’]\w+)*")


def aqeval_composition(folder: Folder) -> Iterator[Composition]:
    """Of all splits in the folder together, as in the paper, by source: answers, distinct words of their questions and
    of their references in lower case (the paper does not say how it counts them), and answers by type."""
    by_source: dict[str, list[Answer]] = {}
    for split in SPLITS:
        if folder.file_if_there(_places(split)):
            for answer in aqeval_answers(folder, split):
                by_source.setdefault(answer.source, []).append(answer)
    for source, answers in sorted(by_source.items()):
        of_type = Counter(answer.type for answer in answers)
        words = {
            "question words": _distinct_words(answer.question for answer in answers),
            "reference words": _distinct_words(answer.reference for answer in answers),
        }
        yield Composition(
            source, {"answers": len(answers), **words, **{t: of_type[t] for t in TYPES if t in of_type}}
        )


def _distinct_words(texts: Iterable[str]) -> int:
    return len({word for text in texts for word in _WORD.findall(text.lower())})
