"""The demo's truth without its sounds is the truth of its sounds."""

from __future__ import annotations

from annotation.demo import write
from annotation.demo.clips import SYSTEMS, load_prompts, make_clip
from annotation.demo.scenes import load_questions

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
