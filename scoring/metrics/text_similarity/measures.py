"""Scorers of shared words: `bleu`, `meteor`, `rouge-l`, `cider` and `exact-match`, one output `score` each.

An answer without words scores 0: it shares nothing. A value depends on the answer, its reference and, for CIDEr, on the
references of everything scored together, which are part of the identity; never on the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from scoring.metrics.answers import answer_and_reference
from scoring.metrics.contract import BatchLimits, Example, ExampleError, Metric, Outcome, Reading, SetupError
from scoring.metrics.registry import Runtime
from scoring.metrics.text_similarity import overlap, words
from scoring.metrics.text_similarity.overlap import Corpus, Words
from scoring.metrics.text_similarity.words import words_of

OUTPUT = "score"
# Of each measure: a change of its code that changes a score takes a new number.
CODE = 1

Measure = Callable[[str, str], float]
"""Of an answer and its reference."""
WordMeasure = Callable[[Words, Words], float]
"""Of an answer's words and its reference's; neither is empty."""


class TextMeasure:
    """See Metric. One output, `score`."""

    # Rows that hear nothing are as long as their text, in characters.
    limits = BatchLimits(examples=256, seconds=1e6)

    def __init__(self, measure: Measure, identity: Mapping[str, Any]) -> None:
        self._measure = measure
        self.identity = identity

    def prepare(self, examples: Sequence[Example]) -> None:
        """Nothing: texts are at hand."""

    def score(self, examples: Sequence[Example]) -> list[Outcome]:
        return [self._outcome(example) for example in examples]

    def _outcome(self, example: Example) -> Outcome:
        try:
            return Outcome(example.key, {OUTPUT: Reading(self._measure(*answer_and_reference(example)))})
        except ExampleError as error:
            return Outcome(example.key, fault=error.fault)


def of_words(measure: WordMeasure) -> Measure:
    """A measure of texts by their words. Raises ExampleError `no_words` for a reference without any."""

    def of_texts(answer: str, reference: str) -> float:
        expected = words_of(reference)
        if not expected:
            raise ExampleError(
                "no_words",
                f"The reference answer {reference[:50]!r} holds no words. Correct it, or use another scorer.",
            )
        given = words_of(answer)
        return measure(given, expected) if given else 0.0

    return of_texts


def _identity(name: str, **settings: Any) -> dict[str, Any]:
    return {"metric": name, "code": CODE, "words": words.VERSION, **settings}


# ── scorers without statistics of a corpus ──


def open_bleu(options: Mapping[str, Any], runtime: Runtime) -> Metric:
    order, smoothing = options["order"], options["smoothing"]
    return TextMeasure(
        of_words(lambda given, expected: overlap.bleu(given, [expected], order=order, smoothing=smoothing)),
        _identity("bleu", order=order, smoothing=smoothing),
    )


def open_rouge_l(options: Mapping[str, Any], runtime: Runtime) -> Metric:
    beta = options["beta"]
    return TextMeasure(
        of_words(lambda given, expected: overlap.rouge_l(given, [expected], beta=beta)),
        _identity("rouge-l", beta=beta),
    )


def open_exact_match(options: Mapping[str, Any], runtime: Runtime) -> Metric:
    def equal(answer: str, reference: str) -> float:
        return float(overlap.normalised(answer) == overlap.normalised(reference))

    return TextMeasure(equal, {"metric": "exact-match", "code": CODE})


# ── METEOR (Banerjee and Lavie, 2005), by NLTK ──


class _NoSynonyms:
    """In WordNet's place: words match exactly or by their stems."""

    def synsets(self, word: str) -> list[Any]:
        return []


def open_meteor(options: Mapping[str, Any], runtime: Runtime) -> Metric:
    """Raises SetupError where the folder of WordNet is not one."""
    # Imported here: NLTK takes half a second, and whoever scores otherwise need not have it.
    import nltk
    from nltk.translate.meteor_score import single_meteor_score

    wordnet, digest = _wordnet(options["wordnet"]) if options["wordnet"] else (_NoSynonyms(), None)
    weights = {name: options[name] for name in ("alpha", "beta", "gamma")}

    def meteor(given: Words, expected: Words) -> float:
        return float(single_meteor_score(expected, given, wordnet=wordnet, **weights))

    identity = _identity("meteor", nltk=nltk.__version__, wordnet=digest, **weights)
    return TextMeasure(of_words(meteor), identity)


def _wordnet(folder: str) -> tuple[Any, str]:
    """WordNet's own files, and a digest of them. Raises SetupError."""
    from nltk.corpus import WordNetCorpusReader

    from scoring.backbones.loading.checkpoints import file_digest

    path = Path(folder).expanduser()
    files = [path / f"{kind}.{part}" for kind in ("data", "index") for part in ("noun", "verb", "adj", "adv")]
    if missing := [file.name for file in (*files, path / "lexnames") if not file.is_file()]:
        raise SetupError(
            f"{path} is no folder of WordNet: it has no {missing[0]}. Give the folder dict of WordNet 3.0, or leave "
            "the option empty: words then match exactly or by their stems."
        )
    try:
        reader = WordNetCorpusReader(str(path), None)
        reader.synsets("sound")
    except Exception as error:  # whatever a damaged file makes of its lines
        raise SetupError(f"The WordNet in {path} cannot be read: {error}. Copy it again.") from error
    return reader, overlap.references_digest(f"{file.name} {file_digest(file)}" for file in files)


# ── CIDEr-D: words weighed by how rare they are among the references ──

LEAST_DOCUMENTS = 2
_NO_CORPUS = (
    "CIDEr weighs words by how rare they are among the reference answers scored together, and there are {n} of these. "
    f"Score at least {LEAST_DOCUMENTS} items with a reference answer, or use another scorer."
)


class CiderMetric(TextMeasure):
    """See CorpusMetric. Each reference of the corpus is a document; what is scored may repeat one of them."""

    def __init__(self, references: Sequence[str] = ()) -> None:
        self._digest = overlap.references_digest(references)
        self._corpus = Corpus.of([words_of(reference)] for reference in references)
        corpus = {"references": len(references), "sha256": self._digest}
        super().__init__(
            of_words(lambda given, expected: overlap.cider_d(given, [expected], self._corpus)),
            _identity("cider", corpus=corpus),
        )
        self._over: CiderMetric | None = None

    def over(self, references: Sequence[str]) -> CiderMetric:
        """Of the same references as last time it is the same metric: a worker asks again with every slice of a run."""
        if self._over is None or self._over._digest != overlap.references_digest(references):
            self._over = CiderMetric(references)
        return self._over

    def score(self, examples: Sequence[Example]) -> list[Outcome]:
        """Raises SetupError where the corpus is too small to say what is rare."""
        if self._corpus.n_documents < LEAST_DOCUMENTS:
            raise SetupError(_NO_CORPUS.format(n=self._corpus.n_documents))
        return super().score(examples)


def open_cider(options: Mapping[str, Any], runtime: Runtime) -> Metric:
    return CiderMetric()
