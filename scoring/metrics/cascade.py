"""The cascade: a caption is written of each sound, then judged against the text, by text alone (AQAScore paper, §4.3
and appendix A.3)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from scoring.backbones.contract import Backbone, GeneratedText, Hearing
from scoring.backbones.opening import open_backbone
from scoring.metrics.contract import Example, ExampleError, Outcome, Sound
from scoring.metrics.llm_judge import (
    BETTER_CAPTION_FORMAT,
    DECISION_VALUES,
    LIMITS,
    MAX_NEW_TOKENS,
    PAM_FORMAT,
    RELATE_FORMAT,
    AnswerFormat,
    Instruction,
    Judgment,
    check_single,
    choice_format,
    chosen_prompts,
    fault_outcome,
    generate_judgments,
    instruction_of,
    is_sound_pair,
)
from scoring.metrics.registry import Runtime

CODE = 2
# A caption is a few hundred characters: some tens of megabytes at most.
CACHED_CAPTIONS = 50_000
ANSWER_FORMATS: Mapping[str, AnswerFormat] = {
    "relate": RELATE_FORMAT,
    "pam": PAM_FORMAT,
    "baton": choice_format("Decision", DECISION_VALUES),
}
_TRUTH, _CAPTION = "ground_truth_description", "audio_caption"
_PAIR = (_TRUTH, "audio_caption1", "audio_caption2")


@dataclass(frozen=True)
class Plan:
    """The judgment of an example from the captions of its sounds, and the name of its output. `check`
    raises ExampleError where an example has the wrong parts."""

    check: Callable[[Example], object]
    judge: Callable[[Example, Sequence[GeneratedText]], Judgment]
    output: str
    told: Mapping[str, Instruction]


def open_cascade(options: Mapping[str, Any], runtime: Runtime) -> Cascade:
    """`task` relate: 0 to 10 (tables 19, 20). pam: 1 to 5 (19, 21). baton: preferred 1, rejected 0 (26, 27).

    The text is the ground-truth description, what was written of the sound (17, 18) the caption. Raises OptionError,
    SetupError.
    """
    task = options["task"]
    line = ANSWER_FORMATS[task]
    told = instruction_of(chosen_prompts(options, "cascade"), "cascade", task)

    def judge(example: Example, captions: Sequence[GeneratedText]) -> Judgment:
        return _judgment(
            example, captions, told, line, {_TRUTH: example.texts[0], _CAPTION: captions[0].text}
        )

    return _open(options, runtime, Plan(check_single, judge, "score", {task: told}))


def open_pairs(options: Mapping[str, Any], runtime: Runtime) -> Cascade:
    """1 where the first is preferred, 0 where the second is.

    Two sounds, one text (RELATE-Pair, Baton-Pair; tables 24, 25): the text is the ground-truth description, the
    captions written of both sounds are caption 1 and 2, as the tables say.

    One sound, two texts (FENSE, BRACE; tables 22, 23): the caption written of the sound is the ground-truth description
    and the texts are caption 1 and 2. The note under table 23 has it the other way round, with two written captions;
    but there is one sound here, and appendix A.3 says that its caption stands for what is heard.

    Raises OptionError, SetupError.
    """
    prompts = chosen_prompts(options, "cascade")
    two_sounds = instruction_of(prompts, "cascade", "two-sounds")
    two_texts = instruction_of(prompts, "cascade", "two-texts")

    def judge(example: Example, captions: Sequence[GeneratedText]) -> Judgment:
        told = two_sounds if is_sound_pair(example) else two_texts
        heard = [caption.text for caption in captions]
        # Whichever there is one of is the truth, whichever there are two of are compared.
        compared = (*example.texts, *heard) if is_sound_pair(example) else (*heard, *example.texts)
        return _judgment(
            example, captions, told, BETTER_CAPTION_FORMAT, dict(zip(_PAIR, compared, strict=True))
        )

    told_of = {"two-sounds": two_sounds, "two-texts": two_texts}
    return _open(options, runtime, Plan(is_sound_pair, judge, "preference", told_of))


class Captions:
    """Captions written by a backbone. A sound's is written once, however many rows it stands in."""

    def __init__(self, backbone: Backbone, told: Instruction) -> None:
        self._backbone = backbone
        self._told = told
        self._written: OrderedDict[str, GeneratedText] = OrderedDict()

    def prepare(self, sounds: Sequence[Sound]) -> None:
        self._backbone.prepare([sound for sound in sounds if sound.sha256 not in self._written])

    def of(self, sounds: Iterable[Sound]) -> dict[str, GeneratedText | Exception]:
        """By the sounds' hashes; an ExampleError where no caption could be written."""
        wanted = {sound.sha256: sound for sound in sounds}
        found: dict[str, GeneratedText | Exception] = {
            sha256: self._written[sha256] for sha256 in wanted if sha256 in self._written
        }
        new = [sound for sha256, sound in wanted.items() if sha256 not in found]
        hearings = [Hearing((sound,), (self._told.ask,)) for sound in new]
        answers = self._backbone.generate(hearings, system=self._told.system, max_new_tokens=MAX_NEW_TOKENS)
        for sound, answer in zip(new, answers, strict=True):
            found[sound.sha256] = caption = _caption_of(answer)
            if isinstance(caption, GeneratedText):
                self._remember(sound.sha256, caption)
        return found

    def _remember(self, sha256: str, caption: GeneratedText) -> None:
        self._written[sha256] = caption
        if len(self._written) > CACHED_CAPTIONS:
            self._written.popitem(last=False)


class Cascade:
    """See Metric. `captions` and their `judges` may be of two backbones, or of one."""

    limits = LIMITS

    def __init__(
        self, plan: Plan, captions: Captions, *, judges: Backbone, identity: Mapping[str, Any]
    ) -> None:
        self._plan = plan
        self._captions = captions
        self._judges = judges
        self.identity = identity

    def prepare(self, examples: Sequence[Example]) -> None:
        self._captions.prepare([sound for example in examples for sound in example.sounds])

    def score(self, examples: Sequence[Example]) -> list[Outcome]:
        outcomes, whole = [], []
        for example in examples:
            try:
                self._plan.check(example)
                whole.append(example)
            except ExampleError as error:
                outcomes.append(fault_outcome(example.key, error))
        captions = self._captions.of(sound for example in whole for sound in example.sounds)
        judgments = []
        for example in whole:
            written = [captions[sound.sha256] for sound in example.sounds]
            faults = [caption for caption in written if isinstance(caption, Exception)]
            heard = [caption for caption in written if isinstance(caption, GeneratedText)]
            if faults:
                outcomes.append(fault_outcome(example.key, faults[0]))
            else:
                judgments.append(self._plan.judge(example, heard))
        return outcomes + generate_judgments(self._judges, judgments, output=self._plan.output)


def _open(options: Mapping[str, Any], runtime: Runtime, plan: Plan) -> Cascade:
    caption = instruction_of(chosen_prompts(options, "cascade"), "cascade", "caption")
    listens = open_backbone(options["backbone"], dtype=options["dtype"], runtime=runtime)
    judges = listens
    if options["judge"] not in (None, options["backbone"]):
        judges = open_backbone(options["judge"], dtype=options["dtype"], runtime=runtime)
    identity = {
        "metric": "cascade",
        "code": CODE,
        "prompts": {name: asdict(told) for name, told in {"caption": caption, **plan.told}.items()},
        "decoding": f"greedy, {MAX_NEW_TOKENS} new tokens at most",
        "backbone": dict(listens.identity),
        "judge": dict(judges.identity),
    }
    return Cascade(plan, Captions(listens, caption), judges=judges, identity=identity)


def _judgment(
    example: Example,
    captions: Sequence[GeneratedText],
    told: Instruction,
    line: AnswerFormat,
    values: Mapping[str, str],
) -> Judgment:
    provenance: dict[str, Any] = {"captions": [caption.text for caption in captions]}
    # A caption that was stopped can be judged as far as it goes, but whoever reads the score should know.
    if any(caption.cut for caption in captions):
        provenance["cut"] = True
    return Judgment(example.key, told, line, values, provenance=provenance)


def _caption_of(answers: Sequence[GeneratedText] | Exception) -> GeneratedText | Exception:
    if isinstance(answers, Exception):
        return answers
    caption = replace(answers[0], text=answers[0].text.strip())
    if not caption.text:
        return ExampleError("unparsable", "The model wrote no caption of this sound, only blanks.")
    return caption
