from __future__ import annotations

import hashlib
import json
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest

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


def test_it_writes_another_study_for_another_seed(demo: Demo, tmp_path: Path) -> None:
    write_demo(tmp_path, seed=2, prompts=1, questions=1)
    name = "music/audio/concord-01-aria-1.wav"
    assert digests(tmp_path)[name] != digests(demo[0])[name]


def test_it_writes_a_smaller_study_with_the_same_clips(demo: Demo, tmp_path: Path) -> None:
    write_demo(tmp_path, seed=1, prompts=1, questions=1)
    small, whole = digests(tmp_path), digests(demo[0])
    clips = [name for name in small if "/audio/" in name]
    assert len(clips) == 4
    assert all(small[name] == whole[name] for name in clips)


def test_it_keeps_the_truth_out_of_the_imported_folders(demo: Demo) -> None:
    folder, _ = demo
    assert {path.name for path in folder.iterdir()} == {"music", "audio_qa", "truth.json"}
    assert {path.name for path in (folder / "music").iterdir()} == {"audio", "cmi.jsonl"}
    assert {path.name for path in (folder / "audio_qa").iterdir()} == {"audio", "orca.json"}


def test_it_writes_the_truth_it_returns(demo: Demo) -> None:
    folder, truth = demo
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
        assert (
            sum(
                other["audio-path"] == row["audio-path"] and other["audio2"] == row["audio2"]
                for other in rows
            )
            == 1
        )


def test_nobody_votes_twice_on_a_comparison(demo: Demo) -> None:
    cast = [(row["audio-path"], row["audio2"], row["user id"]) for row in votes(demo[0]) if row["user id"]]
    assert len(set(cast)) == len(cast)


def test_half_of_the_comparisons_have_all_three_votes(demo: Demo) -> None:
    cast = [(row["audio-path"], row["audio2"]) for row in votes(demo[0]) if row["user id"]]
    assert sorted(cast.count(pair) for pair in set(cast)) == [1, 2, 3, 3, 3, 3]


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


def test_clips_are_short_audible_and_never_at_full_scale(demo: Demo) -> None:
    for path in demo[0].rglob("*.wav"):
        data, rate = samples(path)
        level = np.sqrt(np.mean((data / 32768) ** 2.0))
        assert rate in {32000, 48000}
        assert 3.9 <= len(data) / rate <= 9.0, path.name
        assert np.abs(data.astype(int)).max() <= 32768 * 10 ** (-1 / 20) + 1, path.name
        assert 20 * np.log10(level) > -36, path.name


def test_systems_deliver_at_different_levels(demo: Demo) -> None:
    def level(name: str) -> float:
        data, _ = samples(demo[0] / "music" / "audio" / name)
        return float(20 * np.log10(np.sqrt(np.mean((data / 32768) ** 2.0))))

    assert level("concord-03-drone-0.wav") == pytest.approx(-15, abs=0.1)
    assert level("concord-02-aria-1.wav") == pytest.approx(-19, abs=0.1)
    assert level("concord-04-etude-xl.wav") == pytest.approx(-23, abs=0.1)
