"""Measures of shared words against the libraries that publish them, by those libraries' own examples.

The captions and references are those of aac-metrics' README, which prints CIDEr-D 1.3641 and 0.5587;
the digits are what its version 0.6.0 gives, with Stanford's tokenizer.
"""

from __future__ import annotations

import pytest

from scoring.metrics.text_similarity.overlap import Corpus, bleu, cider_d, normalised, rouge_l
from scoring.metrics.text_similarity.words import words_of

CAPTIONS = ["a man is speaking", "rain falls"]
REFERENCES = [
    ["a man speaks.", "someone speaks.", "a man is speaking while a bird is chirping in the background"],
    ["rain is falling hard on a surface"],
]
WORDS = [words_of(caption) for caption in CAPTIONS]
EXPECTED = [[words_of(reference) for reference in references] for references in REFERENCES]

close = pytest.approx


@pytest.mark.parametrize(
    ("order", "values"),
    [
        (1, [0.9999999997500002, 0.041042499270907015]),
        (2, [0.9999999997083335, 1.8354763662658024e-09]),
        (3, [0.9999999996388892, 6.515090651804187e-09]),
        (4, [0.9999999994791672, 1.2274570254139038e-08]),
    ],
)
def test_bleu_is_that_of_the_caption_evaluation(order: int, values: list[float]) -> None:
    ours = [bleu(given, expected, order=order) for given, expected in zip(WORDS, EXPECTED, strict=True)]
    assert ours == close(values, abs=1e-12)


@pytest.mark.parametrize(
    ("answer", "references", "order", "value"),
    [
        # sacrebleu 2.6.0, sentence_score with effective_order, tokenize="none", divided by 100.
        ("rain falls", ["rain is falling hard on a surface"], 4, 0.04104249931194939),
        (
            "The dog bit the man .",
            ["The dog bit the guy .", "The dog had bit the man ."],
            4,
            0.9036020036098453,
        ),
        (
            "It was n't a surprise .",
            ["It was not unexpected .", "No one was surprised ."],
            4,
            0.17965205598154213,
        ),
        ("dog", ["dog"], 4, 1.0),
        ("cat", ["dog"], 4, 0.0),
    ],
)
def test_bleu_with_exponential_smoothing_is_that_of_sacrebleu(answer, references, order, value) -> None:
    words = [reference.split() for reference in references]
    assert bleu(answer.split(), words, order=order, smoothing="exp") == close(value, abs=1e-9)


def test_rouge_l_is_that_of_the_caption_evaluation_and_of_rouge_score() -> None:
    ours = [rouge_l(given, expected, beta=1.2) for given, expected in zip(WORDS, EXPECTED, strict=True)]
    assert ours == close([0.7721518987341772, 0.20198675496688742], abs=1e-12)
    # rouge-score's README: precision 0.625, recall 0.5556.
    answer, reference = "The quick brown dog jumps on the log.", "The quick brown fox jumps over the lazy dog"
    assert rouge_l(words_of(answer), [words_of(reference)], beta=1.0) == close(0.5882352941176471, abs=1e-12)


def test_cider_d_is_that_of_the_caption_evaluation() -> None:
    corpus = Corpus.of(EXPECTED)
    ours = [cider_d(given, expected, corpus) for given, expected in zip(WORDS, EXPECTED, strict=True)]
    assert ours == close([1.3640549170323026, 0.5586545156664786], abs=1e-12)


def test_what_is_in_every_reference_weighs_nothing_in_cider() -> None:
    corpus = Corpus.of([[["a", "dog"]], [["a", "cat"]]])
    assert cider_d(["a"], [["a", "dog"]], corpus) == 0
    assert cider_d(["dog"], [["a", "dog"]], corpus) > 0


@pytest.mark.parametrize(
    ("answer", "reference", "equal"),
    [
        # SQuAD's own normalisation: case, punctuation, articles, blanks.
        ("The Dog.", "dog", True),
        ("a  dog,\nbarking", "dog barking", True),
        ("dogs", "dog", False),
        ("theatre", "the atre", False),
        ("狗。", "狗", True),
        ("ＣＡＴ！", "cat", True),
        ("C♯", "C", False),
    ],
)
def test_answers_match_but_for_case_punctuation_and_articles(answer, reference, equal) -> None:
    assert (normalised(answer) == normalised(reference)) is equal
