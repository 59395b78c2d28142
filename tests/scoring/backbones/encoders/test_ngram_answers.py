"""The built-in encoder of answers, trained or not."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
import torch

from scoring.backbones.encoders.contract import TextFields
from scoring.backbones.encoders.encoder_registry import make_answer_encoder, new_answer_encoder
from scoring.backbones.encoders.ngram_answers import FEATURE_NAMES, NgramAnswers
from scoring.backbones.encoders.ngram_features import Fields, Text, coverage, overlap_features, word_form
from scoring.training.contract import RatedAnswer

ANSWER = RatedAnswer(
    key="1", group="1", system="s",
    candidate="The singer is a man, not a woman.", question="Is the singer a man or a woman?",
    reference="A woman", rationale="The voice is high and clear.", transcript="La la la",
)  # fmt: skip
CHINESE = replace(
    ANSWER, candidate="歌手是一位女性。", question="歌手是男是女?", reference="女性", rationale="声音很高。"
)
EMPTY = RatedAnswer(key="2", group="2", system="s", candidate="")
ANSWERS = [ANSWER, CHINESE, EMPTY, replace(ANSWER, candidate="🎵 !!", reference="", rationale="A4 ½ ²")]


def fitted(**read: bool) -> NgramAnswers:
    torch.manual_seed(0)
    encoder = NgramAnswers(**read)
    encoder.fit(ANSWERS)
    return encoder.eval()


@torch.no_grad()
def vectors(encoder: NgramAnswers, answers: list[RatedAnswer]) -> torch.Tensor:
    return encoder(encoder.collate(encoder.prepare(answers)))


def shared(**texts: str) -> dict[str, float]:
    names = ("candidate", "reference", "question", "rationale", "transcript")
    return overlap_features(Fields(*(Text(texts.get(name, "")) for name in names)), lambda word: 1.0)


def test_any_text_gives_a_finite_vector_of_the_width_and_another_text_another():
    found = vectors(fitted(), ANSWERS)
    assert found.shape == (4, fitted().width)
    assert found.dtype == torch.float32
    assert torch.isfinite(found).all()
    assert len({tuple(row.tolist()) for row in found}) == 4


def test_a_vector_does_not_depend_on_what_else_is_in_the_batch():
    encoder = fitted()
    alone = torch.cat([vectors(encoder, [answer]) for answer in ANSWERS])
    assert vectors(encoder, ANSWERS) == pytest.approx(alone, abs=1e-6)
    assert vectors(encoder, ANSWERS[::-1]).flip(0) == pytest.approx(alone, abs=1e-6)


def test_the_same_seed_makes_the_same_encoder_and_its_weights_can_be_put_back():
    encoder = fitted()
    assert torch.equal(vectors(encoder, ANSWERS), vectors(fitted(), ANSWERS))
    file = io.BytesIO()
    torch.save(encoder.state_dict(), file)
    again = make_answer_encoder("built-in", encoder.settings)
    again.load_state_dict(torch.load(io.BytesIO(file.getvalue()), weights_only=True))
    assert torch.equal(vectors(again.eval(), ANSWERS), vectors(encoder, ANSWERS))
    assert again.identity == encoder.identity


def test_a_field_that_is_not_read_has_no_say():
    encoder = fitted(question=False, rationale=False)
    other = replace(ANSWER, question="Who?", rationale="Nobody sings.", transcript="Do re mi")
    assert torch.equal(vectors(encoder, [ANSWER]), vectors(encoder, [other]))
    for name in ("question", "rationale", "transcript"):
        encoder = fitted(**{"transcript": True})
        assert not torch.equal(
            vectors(encoder, [ANSWER]), vectors(encoder, [replace(ANSWER, **{name: "A woman"})])
        )
    assert new_answer_encoder("built-in", TextFields(transcript=True)).settings["transcript"] is True


def test_rare_words_weigh_more_once_it_is_fitted():
    common = [replace(ANSWER, key=f"{at}", rationale=f"music and {at}") for at in range(50)]
    encoder = NgramAnswers()
    encoder.fit(common)
    rarity = encoder._rarities()
    assert rarity("music") < rarity("17") < rarity("zither")


def test_members_learn_from_different_answers():
    encoder = fitted().train()
    made_ = encoder(encoder.collate(encoder.prepare([ANSWER] * 64))).reshape(64, 16, -1)
    learning = (made_ != 0).any(dim=2)
    assert 0 < learning.float().mean() < 0.5
    assert (learning.float().mean(dim=0) > 0).all()


def test_coverage_counts_repeated_words():
    assert coverage({"a": 2, "b": 1}, {"a": 1, "c": 5}) == pytest.approx(1 / 3)
    assert coverage({"a": 2, "b": 1}, {"a": 1}, {"a": 1.0, "b": 3.0}.__getitem__) == pytest.approx(1 / 5)
    assert coverage({}, {"a": 1}) == 0


def test_the_reference_is_found_whatever_its_form():
    assert shared(candidate="It is hip-hop.", reference="hiphop")["squeezed_in"] == 1
    assert shared(candidate="They appear four times", reference="4")["number_met"] == 1
    assert shared(candidate="They appear three times", reference="4")["number_missed"] == 1
    assert shared(candidate="3", reference="4")["number_off"] == pytest.approx(0.6931, abs=1e-4)
    assert shared(candidate="the 2nd section", reference="Section two")["number_met"] == 1
    assert word_form("runs") == word_form("run")


def test_order_and_verdicts_are_told_apart():
    near = shared(candidate="from far to near", reference="from far to near")
    far = shared(candidate="from near to far", reference="from far to near")
    assert near["plain_f"] == far["plain_f"] == 1
    assert (near["equal"], far["equal"]) == (1, 0)
    assert near["concordant"] > far["concordant"]
    asked = {"question": "Does she understand?", "reference": "No"}
    assert shared(candidate="She does not understand.", **asked)["stances"] == 1
    assert shared(candidate="Yes, she does.", **asked)["stances"] == -1


def test_of_two_things_that_the_question_offers_the_wrong_one_is_a_rival():
    offered = {"question": "Is it the front or the rear segment?", "reference": "Rear segment"}
    assert shared(candidate="The front.", **offered)["rivals_met"] > 0
    assert shared(candidate="The rear.", **offered)["rivals_met"] == 0
    assert shared(candidate="The rear.", **offered)["told_met"] > 0


def test_every_text_has_the_same_overlaps():
    assert tuple(shared(candidate="so", reference="so")) == FEATURE_NAMES
    assert all(value == value for value in shared().values())


def test_a_long_answer_is_read_where_it_concludes_too():
    asked = {"question": "What is heard?", "reference": "A dog"}
    late = shared(candidate="There are birds. It could be a cat. So it is a dog.", **asked)
    assert (late["first_rc"], late["last_rc"]) == (0, 1)
    assert shared(candidate="A dog. There are birds.", **asked)["first_to_last"] == 1


def test_the_contrary_of_the_reference_is_known():
    asked = {"question": "How does the tempo change?", "reference": "It increases"}
    assert shared(candidate="It decreases.", **asked)["contrary_said"] == 1
    assert shared(candidate="It increased.", **asked)["contrary_said"] == 0
    assert shared(candidate="It increased.", **asked)["one_of_two_met"] == 1
    assert shared(candidate="sarcastic", reference="sarcasm")["begun5_rc"] == 1
