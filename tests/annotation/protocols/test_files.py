"""Protocols as files: TOML and JSON there and back, and the audio templates of Label Studio."""

from __future__ import annotations

import pytest

from annotation.protocols import definition_of_preset, files, parse, preset_keys
from annotation.protocols.schema import ProtocolError

PAIR = """<View>
  <Header value="Listen to both"/>
  <Text name="prompt" value="$prompt"/>
  <Header value="Sample A"/><Audio name="audio_a" value="$audio_a"/>
  <Header value="Sample B"/><Audio name="audio_b" value="$audio_b"/>
  <Header value="Which is better?"/>
  <Pairwise name="better" toName="audio_a,audio_b"/>
  <Header value="How natural is sample A?"/><Rating name="nat_a" toName="audio_a" maxRating="7" required="true"/>
  <Header value="How natural is sample B?"/><Rating name="nat_b" toName="audio_b" maxRating="7" required="true"/>
  <Choices name="flaws" toName="audio_a" choice="multiple"><Choice value="Noise"/><Choice value="Clicks"/></Choices>
  <View visibleWhen="choice-selected" whenTagName="flaws" whenChoiceValue="Noise">
    <TextArea name="why" toName="audio_a" placeholder="What noise?"/></View>
  <Taxonomy name="kind" toName="audio_a"/><Style>.x{}</Style>
</View>"""
EVENTS = """<View><Labels name="label" toName="audio"><Label value="Speech"/><Label value="Music"/></Labels>
<AudioPlus name="audio" value="$audio"/><Number name="age" toName="audio" min="0" max="100" step="5"/>
<TextArea name="transcription" toName="audio" perRegion="true"/></View>"""


@pytest.mark.parametrize("format", ["toml", "json"])
@pytest.mark.parametrize("key", preset_keys())
def test_a_protocol_written_and_read_is_the_same(key, format):
    definition = definition_of_preset(key)
    assert parse(files.read(files.write(definition, format)).definition) == parse(definition)


def test_a_comparison_of_label_studio_becomes_questions_and_says_what_is_lost():
    brought = files.read(PAIR)
    protocol = parse(brought.definition)
    kinds = [(question.key, question.kind, question.per_candidate) for question in protocol.questions]
    assert (protocol.layout, protocol.content) == ("comparison", ("prompt",))
    assert kinds == [
        ("better", "preference", False), ("nat_a", "rating", True), ("flaws", "choices", False), ("why", "text", False),
    ]  # fmt: skip
    better, natural, _flaws, why = protocol.questions
    assert (str(better.title), natural.values) == ("Which is better?", tuple(range(1, 8)))
    assert str(natural.title) == "How natural is this sample?"
    assert why.ask_if is not None
    assert (why.ask_if.question, why.ask_if.any_of) == ("flaws", ("noise",))
    assert any("Taxonomy" in note for note in brought.notes)
    assert any("Style" in note for note in brought.notes)


def test_labels_on_a_sound_become_moments_and_a_number_with_ends_a_slider():
    brought = files.read(EVENTS)
    label, age = parse(brought.definition).questions
    assert (label.kind, label.extent, label.option_keys) == ("events", "interval", ("speech", "music"))
    assert (age.kind, age.minimum, age.maximum, age.step) == ("rating", 0, 100, 5)
    assert any("transcription" in note for note in brought.notes)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('<!DOCTYPE x [<!ENTITY a "b">]><View/>', "document type"),
        ("<View>", "no XML"),
        ("<Other/>", "first element is not <View>"),
        ("<View/>", "no control"),
        ("[title", "no TOML"),
        ("{", "no JSON"),
        ("", "is empty"),
        ("x = " + "[" * 500 + "]" * 500, "no TOML|too deeply"),
        ("<View>" * 500 + "</View>" * 500, "too deeply"),
        ('{"title": "a\\u0000b"}', "no text"),
        ('{"title": "\\ud800"}', "no text"),
        ('{"questions": [{"minimum": NaN}]}', "number"),
        ("minimum = inf", "number"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_reason(text, problem):
    with pytest.raises(ProtocolError, match=problem):
        files.read(text)


def test_options_of_label_studio_with_one_title_have_keys_of_their_own():
    choices = "<Choice value='Yes'/>" * 3
    brought = files.read(
        f"<View><Audio name='a' value='$a'/><Choices name='c' toName='a'>{choices}</Choices></View>"
    )
    (question,) = parse(brought.definition).questions
    assert question.option_keys == ("yes", "yes_2", "yes_3")


def test_what_toml_has_no_word_for_is_left_out():
    assert files.read(files.write({"x": [None, 1], "y": None}, "toml")).definition == {"x": [1]}
