"""Small studies with sound that plays, and what a rater does on their pages."""

from __future__ import annotations

import functools
import tempfile
import wave
from pathlib import Path

import numpy as np
from django.conf import settings

from annotation.audio.ingest import ClipFacts, measure_and_canonicalise
from annotation.models import Clip, Return, Study, User
from annotation.models.people import Role
from annotation.review import returns
from tests import factories
from tests.annotation.importing.answers import rating
from tests.annotation.importing.desk import give, judged


def comparison_study(tasks: int = 3) -> Study:
    """A `cmi-pref` study; the clips of a pair are tones of different pitch, three seconds long."""
    study = factories.StudyFactory(slug="music", title="Music", preset="cmi-pref", overlap=1)
    for number in range(tasks):
        for side, hertz in ((1, 300), (2, 400)):
            tone(f"pair-{number}-{side}", hertz=hertz)
        reference = tone(f"reference-{number}", hertz=200)
        instruction = {
            "prompt": f"Tune number {number}",
            "lyrics": "la la\n" * 100,
            "reference_clip": reference,
        }
        factories.comparison_task(study, f"pair-{number}", **instruction)
    return study


def rating_study(tasks: int = 3) -> Study:
    """An `orca` study."""
    study = factories.StudyFactory(slug="answers", title="Answers", preset="orca", overlap=1)
    for number in range(tasks):
        recording = tone(f"recording-{number}", hertz=500)
        factories.rating_task(study, f"answer-{number}", rationale="It rings.", clip=recording)
    return study


def returned_answer(study: Study, user: User) -> Return:
    """This account's answer to the study's first task, which an expert asks them to look at again."""
    task = study.tasks.order_by("pk").first()
    said = give(user, task, rating(2, comment="Too quiet to tell."))
    expert = factories.member(study, Role.EXPERT)
    [found] = returns.return_to_rater(
        expert, judged(expert, task).pk, [said.client_id], "Is it really a bell?"
    )
    return found


def tone(name: str, *, hertz: float, seconds: float = 3.0) -> Clip:
    """A clip row with a file behind it and its true waveform."""
    clip = factories.clip(name, seconds=seconds)
    sound, facts = _sound(hertz, seconds)
    target = Path(settings.MEDIA_ROOT) / clip.canonical.name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(sound)
    Clip.objects.filter(pk=clip.pk).update(
        peaks=facts.peaks, part_offsets=facts.part_offsets, channels=facts.channels
    )
    return clip


@functools.cache
def _sound(hertz: float, seconds: float) -> tuple[bytes, ClipFacts]:
    """A tone as it is kept, and what is known of it; made once, for making it is half the time of a short test."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "tone.wav"), Path(folder, "tone")
        with wave.open(str(source), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(48_000)
            time = np.arange(int(48_000 * seconds)) / 48_000
            file.writeframes((8000 * np.sin(2 * np.pi * hertz * time)).astype("<i2").tobytes())
        facts = measure_and_canonicalise(source, target)
        return target.read_bytes(), facts


def open_work(page, study: Study) -> None:
    """Through the guidelines to the first task."""
    page.goto(f"/studies/{study.slug}/work/")
    if "/guidelines/" in page.url:
        page.get_by_role("button", name="Start rating").click()
    page.wait_for_selector("[data-state=working]")


def prompt_shown(page) -> str:
    return str(page.locator(".given .headline").first.inner_text())


def answer_comparison(page, *, evidence: str = "B drifts at @0:01.") -> None:
    page.get_by_role("radiogroup", name="Which follows the instruction better?").get_by_label(
        "A", exact=True
    ).check(force=True)
    page.get_by_role("radiogroup", name="How sure are you?").get_by_label("Quite").check(force=True)
    page.get_by_role("radiogroup", name="Which is better music?").get_by_label("B", exact=True).check(
        force=True
    )
    page.get_by_role("radiogroup", name="How large is the difference?").get_by_label("Moderate").check(
        force=True
    )
    page.get_by_label("What did you hear?").fill(evidence)


def submit(page) -> None:
    page.get_by_role("button", name="Submit").click()


def finish(page) -> None:
    """Submit the last task there is."""
    submit(page)
    page.get_by_role("heading", name="Thank you").wait_for()
