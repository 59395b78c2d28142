"""Onboarding as plain decisions: what a study asks before the rating, what a rater owes, and when training passes.

Training follows the crowdsourcing recommendation ITU-T P.808 (§7.3.2): about five clips that span the range of quality,
with feedback; its toolkit repeats it after an hour without work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from annotation.errors import FieldProblem
from annotation.studies.settings import from_stored, setting
from annotation.studies.settings import gettext_noop as _

StepKey = Literal["consent", "demographics", "guidelines", "checks", "training"]
STEPS: tuple[StepKey, ...] = ("consent", "demographics", "guidelines", "checks", "training")
# The day on which what holds for ever ends: PostgreSQL's infinity is none that Python knows.
FOR_EVER = datetime.fromisoformat("9999-01-01T00:00:00+00:00")
MAX_ATTEMPTS = 20


@dataclass(frozen=True)
class TrainingRules:
    """Whether raters practise first, and what counts as passed. The training tasks are tasks of the study."""

    required: bool = setting(
        False,
        label=_("Raters practise on training tasks first"),
        help_text=_("After each answer they see whether it is right, what was expected, and why."),
    )
    pass_mark: int = setting(
        0,
        label=_("Right answers needed to pass"),
        help_text=_("Enter 0 to let everybody continue who has seen the training."),
        least=0,
        most=100,
    )
    attempts: int = setting(
        2,
        label=_("Attempts"),
        help_text=_(
            "Whoever has used them all cannot rate, until you allow another one. Enter 0 for no limit."
        ),
        least=0,
        most=MAX_ATTEMPTS,
    )
    again_minutes: int = setting(
        0,
        label=_("Minutes without work after which training is due again"),
        help_text=_("ITU-T P.808 uses 60. Enter 0 for never."),
        least=0,
        most=60 * 24 * 31,
    )
    again_with_consent: bool = setting(
        False, label=_("Training is due again when a rater consents to a new version")
    )


@dataclass(frozen=True)
class OnboardingRules:
    """What a study asks before the rating. Empty, as in every study that has not set it, it asks nothing."""

    consent: bool = False
    guidelines: bool = False
    questions: tuple[DemographicQuestion, ...] = ()
    training: TrainingRules = field(default_factory=TrainingRules)
    # Ids of the training tasks in the order in which raters meet them.
    tasks: tuple[int, ...] = ()

    @classmethod
    def of(cls, rules: Mapping[str, Any]) -> OnboardingRules:
        """From a study's `rules`, in which only what differs from the defaults need stand."""
        stored = rules.get("onboarding", {})
        return cls(
            consent=bool(stored.get("consent")),
            guidelines=bool(stored.get("guidelines")),
            questions=tuple(DemographicQuestion.of(row) for row in stored.get("questions", ())),
            training=from_stored(TrainingRules, stored.get("training", {})),
            tasks=tuple(stored.get("tasks", ())),
        )

    @property
    def is_on(self) -> bool:
        return self.consent or self.guidelines or bool(self.questions) or self.training.required

    @property
    def stored(self) -> dict[str, Any]:
        """As `of` reads it; `on` and `gap` are what the statement that finds the rater at work looks at."""
        return {
            "on": self.is_on,
            "gap": self.training.again_minutes if self.training.required else 0,
            "consent": self.consent,
            "guidelines": self.guidelines,
            "questions": [question.stored for question in self.questions],
            "training": vars(self.training).copy(),
            "tasks": list(self.tasks),
        }

    def cleared_until(self, now: datetime) -> datetime:
        """Until when a rater is cleared who has nothing left to do; work after `now` moves a gap's end."""
        gap = self.stored["gap"]
        return now + timedelta(minutes=gap) if gap else FOR_EVER


# ── Demographics ───────────────────────────────────────────────────────────────

# Nobody is shown in figures of fewer raters than this.
SMALLEST_CELL = 5
PREFER_NOT_TO_SAY = "prefer_not_to_say"
MAX_QUESTIONS = 20
MAX_OPTIONS = 30
MAX_TEXT = 200


@dataclass(frozen=True)
class DemographicQuestion:
    """A question about the rater: one of options, or a short text where there are none. `texts`: its wording by
    language; `options`: (key, wording by language)."""

    key: str
    texts: Mapping[str, str]
    options: tuple[tuple[str, Mapping[str, str]], ...] = ()
    required: bool = False

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> DemographicQuestion:
        options = tuple((str(key), dict(texts)) for key, texts in row.get("options", ()))
        return cls(str(row["key"]), dict(row["texts"]), options, bool(row.get("required")))

    @property
    def stored(self) -> dict[str, Any]:
        return {
            "key": self.key,
            "texts": dict(self.texts),
            "options": [[key, dict(texts)] for key, texts in self.options],
            "required": self.required,
        }

    def problem_of(self, answer: str) -> str:
        """What is wrong with an answer; empty where it can be stored."""
        if not answer:
            return "Answer this question, or choose “Prefer not to say”." if self.required else ""
        if answer == PREFER_NOT_TO_SAY:
            return ""
        if self.options:
            keys = [key for key, _texts in self.options]
            return "" if answer in keys else f"{answer!r} is not one of {', '.join(keys)}."
        return "" if len(answer) <= MAX_TEXT else f"Give a text of at most {MAX_TEXT} characters."


def in_language(texts: Mapping[str, str], language: str) -> str:
    """A text in a language; in English, or whatever there is, where it lacks that."""
    return texts.get(language) or texts.get("en") or next(iter(texts.values()), "")


def _texts(english: str, chinese: str) -> dict[str, str]:
    return {"en": english, "zh-hans": chinese}


def _options(*rows: tuple[str, str, str]) -> tuple[tuple[str, Mapping[str, str]], ...]:
    return tuple((key, _texts(english, chinese)) for key, english, chinese in rows)


# The questions that studies ask most. Gender and language are described in the rater's own words.
STANDARD_QUESTIONS: Mapping[str, DemographicQuestion] = {
    question.key: question
    for question in (
        DemographicQuestion(
            "age",
            _texts("How old are you?", "您的年龄段是？"),
            _options(
                ("18-24", "18 to 24", "18–24 岁"),
                ("25-34", "25 to 34", "25–34 岁"),
                ("35-44", "35 to 44", "35–44 岁"),
                ("45-54", "45 to 54", "45–54 岁"),
                ("55-64", "55 to 64", "55–64 岁"),
                ("65+", "65 or older", "65 岁及以上"),
            ),
        ),
        DemographicQuestion("gender", _texts("How do you describe your gender?", "您如何描述自己的性别？")),
        DemographicQuestion("language", _texts("What is your native language?", "您的母语是什么？")),
        DemographicQuestion(
            "music",
            _texts("How much musical training do you have?", "您受过多少音乐训练？"),
            _options(
                ("none", "None", "没有"),
                ("up_to_2", "Up to 2 years", "2 年以内"),
                ("3_to_5", "3 to 5 years", "3–5 年"),
                ("6_to_10", "6 to 10 years", "6–10 年"),
                ("more_than_10", "More than 10 years", "10 年以上"),
                ("professional", "I work as a musician or audio professional", "我是音乐或音频从业者"),
            ),
        ),
        DemographicQuestion(
            "device",
            _texts("What do you listen with?", "您使用什么设备收听？"),
            _options(
                ("over_ear", "Over-ear headphones", "头戴式耳机"),
                ("in_ear", "Earphones", "入耳式耳机"),
                ("loudspeakers", "Loudspeakers", "音箱"),
                ("built_in", "The device’s own speaker", "设备自带扬声器"),
            ),
        ),
        DemographicQuestion(
            "hearing",
            _texts("How is your hearing?", "您的听力如何？"),
            _options(
                ("no_difficulty", "No difficulty that I know of", "没有已知问题"),
                ("some_difficulty", "Some difficulty", "有些困难"),
                ("aid", "I use a hearing aid or implant", "我使用助听器或人工耳蜗"),
            ),
        ),
    )
}


def check_demographics(
    questions: Sequence[DemographicQuestion], answers: Mapping[str, str]
) -> list[FieldProblem]:
    known = {question.key: question for question in questions}
    problems = [
        FieldProblem(key, f"There is no such question; there are {', '.join(known)}.")
        for key in answers
        if key not in known
    ]
    for key, question in known.items():
        if problem := question.problem_of(answers.get(key, "")):
            problems.append(FieldProblem(key, problem))
    return problems


def suppress_small_cells(
    counts: Mapping[str, int], *, smallest: int = SMALLEST_CELL
) -> dict[str, int | None]:
    """The same cells, None for each that is too small to show. Where only one would be hidden the next larger is
    hidden too: its size would follow from the total."""
    cells = {key: n for key, n in counts.items() if n}
    hidden = {key for key, n in cells.items() if n < smallest}
    shown = sorted((n, key) for key, n in cells.items() if key not in hidden)
    while hidden and shown and (len(hidden) == 1 or sum(cells[key] for key in hidden) < smallest):
        hidden.add(shown.pop(0)[1])
    return {key: None if key in hidden else n for key, n in cells.items()}


# ── Where a rater stands ───────────────────────────────────────────────────────


@dataclass(frozen=True)
class Version:
    """A version of the consent text, as far as it decides who consents anew."""

    number: int
    everybody_reconsents: bool


def consent_holds(versions: Sequence[Version], *, accepted: int | None) -> bool:
    """Whether the acceptance of version number `accepted` (None: there is none) still holds. `versions` in order."""
    if not versions:
        return True
    if accepted is None:
        return False
    return not any(version.everybody_reconsents for version in versions if version.number > accepted)


@dataclass(frozen=True)
class Run:
    """A training run that was not revoked, in the order of its number."""

    number: int
    state: str
    finished_at: datetime | None


@dataclass(frozen=True)
class TrainingStanding:
    """`state`: done, due, begun (a run is open) or failed (no attempt is left). `attempts_left` None: no limit."""

    state: Literal["done", "due", "begun", "failed"]
    attempts_left: int | None = None
    failed_before: bool = False


def training_standing(
    rules: TrainingRules, runs: Sequence[Run], *, last_work: datetime | None, now: datetime
) -> TrainingStanding:
    """`last_work`: the rater's latest judgment. A run that passed holds until the gap after it, or after work, is over;
    then all attempts are there again."""
    gap = timedelta(minutes=rules.again_minutes)
    passed = [number for number, run in enumerate(runs) if run.state == "passed"]
    if passed:
        finished = runs[passed[-1]].finished_at
        latest = max(moment for moment in (finished, last_work) if moment is not None)
        if not gap or latest + gap > now:
            return TrainingStanding("done")
    since = runs[passed[-1] + 1 :] if passed else runs
    n_failed = sum(run.state == "failed" for run in since)
    left = max(0, rules.attempts - n_failed) if rules.attempts else None
    if any(run.state == "open" for run in since):
        return TrainingStanding("begun", left, n_failed > 0)
    if left == 0:
        return TrainingStanding("failed", 0, True)
    return TrainingStanding("due", left, n_failed > 0)


def needed_to_pass(rules: TrainingRules, n_tasks: int) -> int:
    """The pass mark, of as many tasks as there are."""
    return min(rules.pass_mark, n_tasks)


def training_problems(rules: TrainingRules, *, n_tasks: int) -> list[FieldProblem]:
    """What several settings, and the training tasks, do not allow together."""
    problems = []
    if rules.required and not n_tasks:
        problems.append(
            FieldProblem("required", "There are no training tasks yet.", "Add training tasks first.")
        )
    elif rules.pass_mark > n_tasks:
        problems.append(
            FieldProblem(
                "pass_mark",
                f"The pass mark is {rules.pass_mark}, and the number of training tasks is {n_tasks}.",
                f"Give at most {n_tasks}, or add training tasks.",
            )
        )
    return problems
