from __future__ import annotations

import hashlib
import json
import wave
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annotation.demo import write
from annotation.demo.clips import SYSTEMS, load_prompts, make_clip
from annotation.demo.scenes import load_questions
from annotation.demo.write import Truth, write_demo

Demo = tuple[Path, Truth]

# The columns of the published preference data that the demo fills.
CMI_COLUMNS = {
    "prompt id", "prompt", "lyrics", "ref-audio-path", "audio-path", "audio2", "model_a", "model_b",
    "preference-alignment", "confidence_preference-alignment",
    "preference-musicality", "confidence_preference-musicality",
    "feedback", "user id", "source", "split",
}  # fmt: skip
ORCA_FIELDS = {"ratings", "feedback", "question", "reference", "rationale", "transcription", "candidate"}


def digests(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def votes(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "music" / "cmi.jsonl").read_text("utf-8").splitlines()]


def items(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder / "audio_qa" / "orca.json").read_text("utf-8"))
    return loaded


def samples(path: Path) -> tuple[np.ndarray[Any, Any], int]:
    with wave.open(str(path)) as file:
        assert file.getsampwidth() == 2
        data = np.frombuffer(file.readframes(file.getnframes()), "<i2").reshape(-1, file.getnchannels())
        return data, file.getframerate()


def test_it_writes_the_same_bytes_for_the_same_seed(demo: Demo, tmp_path: Path) -> None:
    folder, truth = demo
    again = write_demo(tmp_path, seed=1, prompts=4, questions=6)
    assert digests(tmp_path) == digests(folder)
    assert again == truth


def test_the_installed_demo_keeps_its_votes_and_its_truth(demo: Demo) -> None:
    """Installed demos draw the truth of their items anew: the streams behind it must never shift."""
    found = digests(demo[0])
    assert {name: digest[:16] for name, digest in found.items() if "audio/" not in name} == {
        "audio_qa/orca.json": "91908525b10a4a2f",
        "music/cmi.jsonl": "b94f3d27999831f3",
        "truth.json": "3c95da84e77deff4",
    }


def test_a_smaller_study_has_the_same_clips_and_another_seed_others(demo: Demo, tmp_path: Path) -> None:
    for seed in (1, 2):
        write_demo(tmp_path / str(seed), seed=seed, prompts=1, questions=1)
    same, other, whole = digests(tmp_path / "1"), digests(tmp_path / "2"), digests(demo[0])
    clips = [name for name in same if "/audio/" in name]
    assert len(clips) == 4
    assert all(same[name] == whole[name] for name in clips)
    name = "music/audio/concord-01-aria-1.wav"
    assert other[name] != whole[name]


def test_it_writes_the_truth_it_returns_outside_the_imported_folders(demo: Demo) -> None:
    folder, truth = demo
    assert {path.name for path in folder.iterdir()} == {"music", "audio_qa", "truth.json"}
    assert {path.name for path in (folder / "music").iterdir()} == {"audio", "cmi.jsonl"}
    assert {path.name for path in (folder / "audio_qa").iterdir()} == {"audio", "orca.json"}
    written = json.loads((folder / "truth.json").read_text("utf-8"))
    assert written == truth
    assert written["systems"]["Aria-1"] == {"quality": -0.2, "adherence": -0.3}
    assert [rater["name"] for rater in written["raters"]] == [f"demo-rater-{n}" for n in range(1, 7)]


def test_it_writes_votes_in_the_published_columns(demo: Demo) -> None:
    rows = votes(demo[0])
    assert all(row.keys() == CMI_COLUMNS for row in rows)
    for row in (row for row in rows if row["user id"] is not None):
        for question in ("alignment", "musicality"):
            assert row[f"preference-{question}"] in {"model_a", "model_b"}
            assert row[f"confidence_preference-{question}"] in {1, 2, 3, 4, 5}


def test_a_waiting_comparison_is_one_row_without_any_answer(demo: Demo) -> None:
    rows = votes(demo[0])
    waiting = [row for row in rows if row["user id"] is None]
    assert len(waiting) == 2
    for row in waiting:
        assert row["preference-alignment"] is row["preference-musicality"] is row["feedback"] is None
        shown = (row["audio-path"], row["audio2"])
        assert [(other["audio-path"], other["audio2"]) for other in rows].count(shown) == 1


def test_half_of_the_comparisons_have_all_three_votes_and_nobody_votes_twice_on_one(demo: Demo) -> None:
    cast = [(row["audio-path"], row["audio2"], row["user id"]) for row in votes(demo[0]) if row["user id"]]
    assert len(set(cast)) == len(cast)
    n_votes = Counter((first, second) for first, second, _ in cast)
    assert sorted(n_votes.values()) == [1, 2, 3, 3, 3, 3]


def test_every_comparison_has_its_truth(demo: Demo) -> None:
    folder, truth = demo
    named = {f"{row['prompt id']}/{row['model_a']}/{row['model_b']}" for row in votes(folder)}
    assert named == truth["comparisons"].keys()
    chances = [c[latent] for c in truth["comparisons"].values() for latent in ("alignment", "musicality")]
    assert all(0 < chance < 1 for chance in chances)


def test_it_writes_answers_in_the_published_layout(demo: Demo) -> None:
    folder, truth = demo
    assert items(folder).keys() == truth["answers"].keys()
    for key, item in items(folder).items():
        question, system, number = key.rsplit("_", 2)
        assert question.startswith("concord-q")
        assert (system, number.isdigit()) == ("M1", True)
        assert item.keys() == ORCA_FIELDS | {"audio", "system"}
        assert len(item["ratings"]) == len(item["feedback"]) <= 3
        assert set(item["ratings"]) <= {1, 2, 3, 4, 5, None}


def test_a_missing_rating_carries_a_feedback_code(tmp_path: Path) -> None:
    write_demo(tmp_path, seed=1, prompts=0, questions=20)
    given = [
        (rating, feedback)
        for item in items(tmp_path).values()
        for rating, feedback in zip(item["ratings"], item["feedback"], strict=True)
    ]
    assert {feedback[0] for _, feedback in given if feedback} == {"q", "r", "a", "u"}
    missing = [feedback for rating, feedback in given if rating is None]
    assert missing
    assert all(feedback[0] == "u" for feedback in missing)


@pytest.mark.parametrize("half", ["music", "audio_qa"])
def test_every_audio_file_is_referenced_and_every_reference_exists(demo: Demo, half: str) -> None:
    folder = demo[0] / half
    if half == "music":
        columns = ("audio-path", "audio2", "ref-audio-path")
        named = {row[column] for row in votes(demo[0]) for column in columns if row[column]}
    else:
        named = {item["audio"] for item in items(demo[0]).values()}
    assert named == {str(path.relative_to(folder)) for path in (folder / "audio").iterdir()}


def level(data: np.ndarray[Any, Any]) -> float:
    """RMS in dBFS."""
    return float(20 * np.log10(np.sqrt(np.mean((data / 32768) ** 2.0))))


def test_clips_are_short_audible_never_at_full_scale_and_as_loud_as_their_system(demo: Demo) -> None:
    for path in demo[0].rglob("*.wav"):
        data, rate = samples(path)
        assert rate in {32000, 48000}
        assert 3.9 <= len(data) / rate <= 9.0, path.name
        assert np.abs(data.astype(int)).max() <= 32768 * 10 ** (-1 / 20) + 1, path.name
        assert level(data) > -36, path.name
    for name, expected in (("03-drone-0", -15), ("02-aria-1", -19), ("04-etude-xl", -23)):
        data, _ = samples(demo[0] / "music" / "audio" / f"concord-{name}.wav")
        assert level(data) == pytest.approx(expected, abs=0.1)


# ── The truth without its sounds is the truth of its sounds ──────────────────────────────────────────────────


PROMPT = load_prompts()[1]


def test_a_clip_that_is_played_has_what_was_drawn() -> None:
    played = make_clip(PROMPT, SYSTEMS[3], seed=write.SEED)
    drawn = write.outcome(PROMPT.id, prompt=PROMPT.text, system=SYSTEMS[3].name)
    assert drawn is not None
    assert drawn.flaws
    assert (drawn.flaws, drawn.failures) == (played.flaws, played.failures)
    assert (drawn.musicality, drawn.alignment) == (played.musicality, played.alignment)


def test_nothing_is_known_of_other_items_systems_or_texts() -> None:
    assert write.outcome("concord-99", prompt=PROMPT.text, system="Brook") is None
    assert write.outcome(PROMPT.id, prompt=PROMPT.text, system="Another") is None
    assert write.outcome(PROMPT.id, prompt=PROMPT.text + " Or so.", system="Brook") is None


def test_an_answer_is_known_by_its_text() -> None:
    question = load_questions()[0]
    assert write.answer(question.id, text=question.answers[2]) == (question, 2)
    assert write.answer(question.id, text="Eleven times.") is None
    assert write.answer("concord-q99", text=question.answers[2]) is None
