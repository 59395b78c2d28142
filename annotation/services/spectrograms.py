"""Pictures of clips for their raters: made when first asked for, kept beside the clip, all of one size."""

from __future__ import annotations

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from annotation.audio.spectrogram import N_BYTES, spectrogram
from annotation.errors import NotFound
from annotation.models import Assignment, Clip
from annotation.protocols import Protocol
from annotation.rules.listening import ListeningRules
from annotation.services.protocols import loaded
from annotation.services.sounds import PLAYABLE, Shown, clips_by_name


def are_shown(protocol: Protocol, rules: ListeningRules) -> bool:
    """Never where two clips of a task are one sound: their pictures would tell at a glance."""
    return rules.spectrogram and not protocol.repeats_a_sound


def picture(assignment: Assignment, name: str) -> bytes:
    """The grey levels of one clip of an assignment, as `audio.spectrogram` lays them out."""
    if assignment.state not in PLAYABLE:
        raise NotFound
    return picture_of(assignment, name, rules=ListeningRules.of(assignment.task.study.rules))


def picture_of(shown: Shown, name: str, *, rules: ListeningRules) -> bytes:
    """As `picture`, of whatever is shown."""
    if not are_shown(loaded(shown.protocol_version_id).spec, rules):
        raise NotFound
    clip = clips_by_name(shown).get(name)
    if clip is None:
        raise NotFound
    file_name = f"clips/spectrograms/{clip.sha256[:2]}/{clip.sha256}"
    return _kept(file_name) or _drawn(clip, file_name)


def _kept(name: str) -> bytes | None:
    """None, too, where there is only a part of it: somebody is writing it, or was killed while they were."""
    try:
        with default_storage.open(name) as file:
            grey = bytes(file.read())
    except FileNotFoundError:
        return None
    return grey if len(grey) == N_BYTES else None


def _drawn(clip: Clip, name: str) -> bytes:
    with default_storage.open(str(clip.canonical.name)) as file:
        grey = spectrogram(file, n_samples=clip.n_samples)
    if _kept(name) is None:
        default_storage.delete(name)
    stored = default_storage.save(name, ContentFile(grey))
    if stored != name:  # somebody else was quicker, with the same picture
        default_storage.delete(stored)
    return grey
