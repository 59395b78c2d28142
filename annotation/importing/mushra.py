"""MUSHRA and ABX trials: checks of their audio, hidden references and low-pass anchors.

A MUSHRA trial gets its reference once more, hidden, and two low-pass anchors made of it. They are made for new tasks
only: what was imported before has them, and importing it again makes nothing.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from annotation.audio.anchors import CUTOFFS_HZ, write_anchor
from annotation.audio.errors import AudioError
from annotation.importing import clips
from annotation.importing.records import Audio, CandidateRecord, RowProblem, TaskRecord
from annotation.protocols import Protocol

# What the added candidates' systems are called; the names are kept from other systems of such a study.
ADDED_SYSTEM_NAMES = {
    "hidden_reference": "hidden reference",
    "anchor_3500": "anchor 3.5 kHz",
    "anchor_7000": "anchor 7 kHz",
}
# Practised listeners hear less; matched clips are within 0.2 LU.
MAX_LOUDNESS_DIFFERENCE_LU = 0.5


def trial_problems(record: TaskRecord, protocol: Protocol) -> Iterator[RowProblem]:
    """What keeps a record from becoming a trial, as far as its texts and names show."""
    if not protocol.added:
        return
    if record.item.reference_audio is None:
        remedy = "Name the clip that the candidates are compared with; the anchors are made from it."
        yield RowProblem(record.row, "reference_audio", "is missing", remedy)
    n, most = len(record.candidates) + len(protocol.added), protocol.candidates[1]
    if n > most:
        problem = (
            f"{len(record.candidates)} candidates and {len(protocol.added)} added ones are {n}, over {most}"
        )
        yield RowProblem(record.row, "system", problem, "Split the item into two, or leave candidates out.")
    for candidate in record.candidates:
        if candidate.system in ADDED_SYSTEM_NAMES.values():
            problem = f"{candidate.system!r} is what this import adds by itself"
            yield RowProblem(record.row, "system", problem, "Leave it out, or give the system another name.")


def trial_audio_problems(
    record: TaskRecord, protocol: Protocol, audio: clips.IngestedAudio
) -> Iterator[RowProblem]:
    """What would tell a listener which clip is which, or which is there twice."""
    if not protocol.repeats_a_sound:
        return
    named = record.audio()
    if (difference := _first_difference(named, audio.n_samples)) is not None:
        (first, n), (other, m) = difference
        problem = f"the clips differ in length: at 48 kHz {first} has {n:,} samples and {other} {m:,}"
        remedy = "Cut or pad them all to one length, to the sample: it alone would tell which is which."
        yield RowProblem(record.row, first, problem, remedy)
    if (difference := _first_difference(named, audio.channels)) is not None:
        (first, n), (other, m) = difference
        problem = f"the clips differ in channels: {first} has {n} and {other} {m}"
        remedy = "Make all of them mono or all of them stereo: it alone would tell which is which."
        yield RowProblem(record.row, first, problem, remedy)
    hashes: dict[str, str] = {}
    for name, sound in named:
        if (earlier := hashes.setdefault(audio.hashes[sound], name)) != name:
            problem = f"is the same sound as {earlier}"
            yield RowProblem(
                record.row, name, problem, "Leave it out: what is hidden here is added by itself."
            )


def _first_difference(
    named: Sequence[tuple[str, Audio]], measured: Mapping[Audio, int]
) -> tuple[tuple[str, int], tuple[str, int]] | None:
    """The first clip and the first one unlike it; even the smallest difference can be read off what a page is sent."""
    facts = [(name, measured[sound]) for name, sound in named]
    return next(((facts[0], fact) for fact in facts if fact[1] != facts[0][1]), None)


def loudness_notes(
    records: Sequence[TaskRecord], protocol: Protocol, audio: clips.IngestedAudio
) -> Iterator[str]:
    """Pairs of an ABX test that can be told apart by loudness alone."""
    if protocol.layout != "abx":
        return
    for record in records:
        loudness = [audio.loudness[sound] for _, sound in record.audio()]
        levels = [lufs for lufs in loudness if lufs is not None]
        difference = max(levels) - min(levels) if levels else 0.0
        if difference > MAX_LOUDNESS_DIFFERENCE_LU:
            yield f"{record.external_id}: A and B differ by {difference:.1f} LU; that alone may tell them."


def add_hidden_candidates(
    records: Sequence[TaskRecord],
    protocol: Protocol,
    audio: clips.IngestedAudio,
    *,
    on_progress: clips.OnProgress,
) -> tuple[list[TaskRecord], list[RowProblem]]:
    """The records with their added candidates, whose clips are then in `taken`; and what is wrong with the others."""
    if not protocol.added:
        return list(records), []
    anchors = [role for role in protocol.added if role in CUTOFFS_HZ]
    with TemporaryDirectory(prefix="concord-anchors-") as folder:
        anchor_paths: dict[tuple[Audio, str], Path] = {
            (reference, role): Path(folder) / f"{audio.hashes[reference]}.{role}.flac"
            for reference in dict.fromkeys(_reference_audio(record) for record in records)
            for role in anchors
        }
        _write_anchors(anchor_paths, audio, Path(folder))
        clips.ingest_clips(
            (path for path in anchor_paths.values() if path.exists()), into=audio, on_progress=on_progress
        )
    complete, problems = [], []
    for record in records:
        sounds: dict[str, Audio] = {
            role: anchor_paths.get((_reference_audio(record), role), _reference_audio(record))
            for role in protocol.added
        }
        broken = [audio.errors[sound] for sound in sounds.values() if sound in audio.errors]
        if broken:
            problem = f"no anchor can be made of it: {broken[0].message}"
            problems.append(RowProblem(record.row, "reference_audio", problem, broken[0].remedy))
            continue
        added = (
            CandidateRecord(ADDED_SYSTEM_NAMES[role], audio=sound, role=role)
            for role, sound in sounds.items()
        )
        complete.append(replace(record, candidates=(*record.candidates, *added)))
    return complete, problems


def _write_anchors(
    anchor_paths: Mapping[tuple[Audio, str], Path], audio: clips.IngestedAudio, folder: Path
) -> None:
    """Each anchor once, whatever the number of references that are the same sound."""
    for (reference, role), path in anchor_paths.items():
        if path.exists():
            continue
        try:
            write_anchor(_reference_file(reference, audio, folder), path, role=role)
        except AudioError as error:
            audio.errors[path] = error
            path.unlink(missing_ok=True)


def _reference_file(reference: Audio, audio: clips.IngestedAudio, folder: Path) -> Path:
    """A file with the reference; what was fetched to be taken in is read from where it was kept."""
    if isinstance(reference, Path):
        return reference
    file = folder / audio.hashes[reference]
    if not file.exists():
        with audio.clips[reference].original.open("rb") as original, file.open("wb") as copy:
            shutil.copyfileobj(original, copy)
    return file


def _reference_audio(record: TaskRecord) -> Audio:
    assert record.item.reference_audio is not None  # `faults` lets none pass
    return record.item.reference_audio
