"""Words as Stanford's tokenizer has them in the caption evaluation: each list is what it gave for that text by itself
(CoreNLP 3.4.1, -lowerCase, less the caption evaluation's punctuation)."""

from __future__ import annotations

import pytest

from scoring.metrics.text_similarity.words import words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A man speaks, then a dog barks.", "a man speaks then a dog barks"),
        (
            "don't can't won't I'm he'll they've we'd cats' dogs'",
            "do n't ca n't wo n't i 'm he 'll they 've we 'd cats dogs",
        ),
        ('"quoted" “curly” ‘single’ it’s', "quoted curly single it 's"),
        ("1,000 3.5 10:30 2nd 1980s '80s", "1,000 3.5 10:30 2nd 1980s '80s"),
        (
            "e.g. this, i.e. that, etc. U.S. a.m. Mr. Smith vs. Dr. No",
            "e.g. this i.e. that etc. u.s. a.m. mr. smith vs. dr. no",
        ),
        (
            "it's 50% of $5.00 (approx) [x] {y}",
            "it 's 50 % of $ 5.00 -lrb- approx -rrb- -lsb- x -rsb- -lcb- y -rcb-",
        ),
        ("rock & roll, AT&T, drum&bass, R&B", "rock & roll at&t drum & bass r&b"),
        ("5 o'clock rock 'n' roll", "5 o'clock rock 'n' roll"),
        ("and/or 3/4 time", "and/or 3/4 time"),
        ("<think>yes</think> **bold** _under_", "<think> yes </think> ** bold ** _ under _"),
        ("a—b word–word dash - x -- y", "a b word word dash x y"),
        ("high-pitched sci-fi/fantasy well-known-thing", "high-pitched sci-fi/fantasy well-known-thing"),
        ("-5 degrees +3 a+b x=y ~30", "-5 degrees +3 a + b x = y ~ 30"),
        ("...wait…what?! hm..", "wait what ?! hm"),
        ("no. 5 No.", "no. 5 no"),
        ("Option B. is right", "option b. is right"),
        ("I cannot, I'm gonna", "i can not i 'm gon na"),
        ("http://x.com/a foo@bar.com m2_0 #hashtag", "http://x.com/a foo@bar.com m2_0 #hashtag"),
    ],
)
def test_english_is_split_as_in_the_caption_evaluation(text: str, words: str) -> None:
    assert words_of(text) == words.split()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("狗在叫。", ["狗", "在", "叫"]),
        ("ram 1500看起来", ["ram", "1500", "看", "起", "来"]),
        ("犬がほえる", ["犬", "が", "ほ", "え", "る"]),
        ("собака лает!", ["собака", "лает"]),
        ("தமிழ் மொழி", ["தமிழ்", "மொழி"]),
        ("?!… 。", ["?!"]),
        ("", []),
    ],
)
def test_other_scripts_have_words_too(text: str, words: list[str]) -> None:
    assert words_of(text) == words
