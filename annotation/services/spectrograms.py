"""Pictures of clips for their raters: made when first asked for, kept beside the clip, all of one size."""

from __future__ import annotations

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from annotation.audio.spectrogram import spectrogram
from annotation.errors import NotFound
from annotation.models import Assignment, Clip
from annotation.protocols import Protocol
from annotation.rules.listening import ListeningRules
from annotation.services.protocols import loaded
from annotation.services.sounds import PLAYABLE, clips_by_name


def are_shown(protocol: Protocol, rules: ListeningRules) -> bool:
    """Never where two clips of a task are one sound: their pictures would tell at a glance."""
    return rules.spectrogram and not protocol.repeats_a_sound


def picture(assignment: Assignment, name: str) -> bytes:
    """The grey levels of one clip of an assignment, as `audio.spectrogram` lays them out."""
    protocol = loaded(assignment.protocol_version_id).spec
    rules = ListeningRules.of(assignment.task.study.rules)
    if assignment.state not in PLAYABLE or not are_shown(protocol, rules):
        raise NotFound
    clip = clips_by_name(assignment).get(name)
    if clip is None:
        raise NotFound
    kept = f"clips/spectrograms/{clip.sha256[:2]}/{clip.sha256}"
    if not default_storage.exists(kept):
        return _drawn(clip, kept)
    with default_storage.open(kept) as file:
        return bytes(file.read())


def _drawn(clip: Clip, name: str) -> bytes:
    with default_storage.open(str(clip.canonical.name)) as file:
        grey = spectrogram(file, n_samples=clip.n_samples)
    stored = default_storage.save(name, ContentFile(grey))
    if stored != name:  # somebody else was quicker, with the same picture
        default_storage.delete(stored)
    return grey
