"""Training ORCA: what it leaves, that a kill changes nothing, and what it refuses."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from scipy import stats

from scoring.metrics.contract import Example
from scoring.metrics.registry import OptionError, open_metric
from scoring.training.contract import RatedAnswer, Split, TrainedModel, TrainingError
from scoring.training.orca.recipe import train
from tests.scoring.checkpoints import tiny_gemma3, tiny_llama
from tests.scoring.training.answers import Points, options, runtime, votes

pytestmark = pytest.mark.usefixtures("_tiny_built_in")
LANGUAGE = {"steps": 4, "warmup": 1, "validate_every": 2, "learning_rate": 0.01, "rank": 2}


def trained(
    folder: Path,
    given: Split[RatedAnswer] | None = None,
    *,
    observer: Points | None = None,
    seed: int = 5,
    **settings: Any,
) -> TrainedModel:
    return train(
        given or votes(),
        options(**settings),
        seed=seed,
        work=folder / "work",
        runtime=runtime(folder),
        observer=observer or Points(),
    )


@pytest.fixture(scope="module")
def whole(_tiny_built_in: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[TrainedModel, Points]:
    """A training that nothing came in the way of."""
    observer = Points()
    return trained(tmp_path_factory.mktemp("whole"), observer=observer), observer


def means(folder: Path, answers: Sequence[RatedAnswer], **settings: Any) -> np.ndarray:
    metric = open_metric("orca", {"checkpoint": str(folder), **settings}, runtime(folder))
    examples = [
        Example(key, (), (answer.candidate,), {"question": answer.question, "reference": answer.reference,
                                               "rationale": answer.rationale})
        for key, answer in enumerate(answers)
    ]  # fmt: skip
    return np.array([outcome.readings["value"].value for outcome in metric.score(examples)])


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize(("head", "edges"), [("beta", "clamp"), ("beta", "cells"), ("multinomial", "clamp")])
def test_a_trained_judge_foretells_the_ratings_of_answers_it_never_saw(
    tmp_path: Path, head: str, edges: str
) -> None:
    given, observer = votes(120), Points()
    done = trained(tmp_path, given, observer=observer, head=head, edges=edges)
    liked = np.array([np.mean(answer.ratings) > 3 for answer in given.test])
    predicted = means(done.folder, given.test, clamp_below=0)
    assert predicted[liked].min() > predicted[~liked].max() + 0.2
    curves: dict[str, list[tuple[int, float]]] = {}
    for curve, step, value in observer.points:
        curves.setdefault(curve, []).append((step, value))
    assert set(curves) == {"train loss", "dev loss", "dev spearman"}
    assert [step for step, _ in curves["train loss"]] == list(range(10, 61, 10))
    assert curves["train loss"][-1][1] < curves["train loss"][0][1]
    assert done.record["dev"]["spearman"] == pytest.approx(max(value for _, value in curves["dev spearman"]))


def test_the_record_tells_dev_figures_of_the_judge_that_was_kept(whole: tuple[TrainedModel, Points]) -> None:
    given = votes()
    done, _ = whole
    people = (np.array([np.mean(answer.ratings) for answer in given.dev]) - 1) / 4
    found = means(done.folder, given.dev, clamp_below=0)
    assert done.record["dev"]["spearman"] == pytest.approx(stats.spearmanr(found, people).statistic)
    assert done.record["dev"]["kendall"] == pytest.approx(stats.kendalltau(found, people).statistic)
    assert done.record["dev"]["mae"] == pytest.approx(np.abs(found - people).mean(), rel=1e-5)
    assert done.record["answers"] == {"train": 60, "dev": 20}
    assert done.record["parameters"]["trained"] == 9 * 8 + 8 + 8 * 2 + 2


def test_the_threshold_sought_on_dev_is_the_judge_s_own(tmp_path: Path) -> None:
    given = votes(120)
    done = trained(tmp_path, given, seed=3)
    at_most = done.record["clamp"]["at_most"]
    assert at_most is not None
    assert means(done.folder, given.dev) == pytest.approx(means(done.folder, given.dev, clamp_below=at_most))
    assert set(means(done.folder, given.dev)) & {0.0, 1.0}
    assert trained(tmp_path / "b", given, clamp="none").record["clamp"]["at_most"] is None


def test_a_seed_gives_the_same_judge_to_the_byte_and_another_seed_another(
    whole: tuple[TrainedModel, Points], tmp_path: Path
) -> None:
    before = torch.get_rng_state()
    again, other = (trained(tmp_path / str(seed), seed=seed) for seed in (5, 6))
    assert contents(again.folder) == contents(whole[0].folder)
    assert contents(other.folder) != contents(whole[0].folder)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("stop_at", [3, 27, 60])
def test_a_killed_training_comes_to_the_same_judge_and_tells_the_same(
    whole: tuple[TrainedModel, Points], tmp_path: Path, stop_at: int
) -> None:
    expected, told = whole
    cut, rest = Points(stop_at=stop_at), Points()
    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path, observer=cut)
    found = trained(tmp_path, observer=rest)
    assert contents(found.folder) == contents(expected.folder)
    assert found.record == expected.record
    assert rest.taken == {3: [], 27: [20], 60: [50]}[stop_at]
    known = [point for point in cut.points if not rest.taken or point[1] <= rest.taken[0]]
    assert known + rest.points == told.points


def test_a_kill_while_the_model_is_written_changes_nothing(
    whole: tuple[TrainedModel, Points], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            trained(tmp_path)
    assert contents(trained(tmp_path).folder) == contents(whole[0].folder)


def test_what_was_kept_of_other_votes_or_settings_is_passed_over(
    whole: tuple[TrainedModel, Points], tmp_path: Path
) -> None:
    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path, observer=Points(stop_at=27), learning_rate=0.04)
    observer = Points()
    found = trained(tmp_path, observer=observer)
    assert observer.taken == []
    assert contents(found.folder) == contents(whole[0].folder)


def test_a_finished_training_is_not_done_again(whole: tuple[TrainedModel, Points]) -> None:
    observer, work = Points(), whole[0].folder.parent
    again = trained(work.parent, observer=observer)
    assert (again, observer.steps) == (whole[0], [])
    assert sorted(file.name for file in work.iterdir()) == ["model", "trained.json"]


def test_it_stops_early_and_keeps_the_best(tmp_path: Path) -> None:
    observer = Points()
    done = trained(tmp_path, observer=observer, steps=2000, patience=3)
    spearmans = [(value, -step) for curve, step, value in observer.points if curve == "dev spearman"]
    assert done.record["stopped"] == "early"
    assert done.record["steps"] == done.record["dev"]["step"] + 30 < 2000
    assert done.record["dev"]["spearman"] == max(spearmans)[0]


def test_judges_ratings_are_learned_first_and_people_s_then(tmp_path: Path) -> None:
    judges = trained(tmp_path / "judges", votes(100, seed=9), steps=20)
    people = votes(20, seed=0)
    found = trained(tmp_path / "people", people, start_from=str(judges.folder), steps=1, learning_rate=1e-6)
    # One step of almost no length: what it is is what it began with.
    assert means(found.folder, people.test, clamp_below=0) == pytest.approx(
        means(judges.folder, people.test, clamp_below=0), abs=1e-3
    )
    for given, message in (
        ({"head": "multinomial"}, "was trained with head=beta, and this training has head=multinomial"),
        ({"question": False}, "was trained with question=True"),
    ):
        with pytest.raises(TrainingError, match=message) as refused:
            trained(tmp_path / "other", people, start_from=str(judges.folder), **given)
        assert refused.value.code == "bad_checkpoint"
    with pytest.raises(TrainingError, match="start_from: There is no folder nowhere"):
        trained(tmp_path / "other", people, start_from="nowhere")


def test_an_adapter_on_a_language_model_is_trained_kept_and_trained_on(tmp_path: Path) -> None:
    base, given = tiny_llama(tmp_path / "llama"), votes(24)
    first = trained(tmp_path / "a", given, encoder=str(base), **LANGUAGE)
    assert sorted(file.name for file in (first.folder / "model" / "lm").glob("adapter*")) == [
        "adapter_config.json",
        "adapter_model.safetensors",
    ]
    assert first.record["parameters"]["trained"] < first.record["parameters"]["all"] / 5
    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path / "b", given, encoder=str(base), observer=Points(stop_at=3), **LANGUAGE)
    assert contents(trained(tmp_path / "b", given, encoder=str(base), **LANGUAGE).folder) == contents(
        first.folder
    )
    further = {**LANGUAGE, "steps": 1, "learning_rate": 1e-7, "start_from": str(first.folder)}
    for tuning in ("lora", "full"):
        second = trained(tmp_path / tuning, given, encoder=str(base), tuning=tuning, **further)
        assert means(second.folder, given.test) == pytest.approx(means(first.folder, given.test), abs=1e-4)
        assert (second.folder / "model" / "lm" / "adapter_config.json").is_file() == (tuning == "lora")


def test_a_judge_that_is_begun_with_goes_on_reading_what_it_read_in_its_own_wording(tmp_path: Path) -> None:
    base, given = tiny_llama(tmp_path / "llama"), votes(24)
    reads = {"input": "code", "transcript": True}
    first = trained(tmp_path / "a", given, encoder=str(base), **reads, **LANGUAGE)
    further = {
        **LANGUAGE,
        "steps": 1,
        "learning_rate": 1e-7,
        "start_from": str(first.folder),
        "encoder": str(base),
    }
    second = trained(tmp_path / "b", given, **further)
    assert (second.record["input"], second.record["fields"]["transcript"]) == ("code", True)
    assert means(second.folder, given.test) == pytest.approx(means(first.folder, given.test), abs=1e-4)
    with pytest.raises(
        TrainingError, match="was trained with rationale=True, and this training has rationale=False"
    ):
        trained(tmp_path / "c", given, rationale=False, **further)
    paper = trained(tmp_path / "d", given, encoder=str(base), **LANGUAGE)
    with pytest.raises(TrainingError, match="was trained with input=paper, and this training has input=code"):
        trained(tmp_path / "e", given, input="code", **{**further, "start_from": str(paper.folder)})


def test_a_language_model_is_trained_whole(tmp_path: Path) -> None:
    base, given = tiny_gemma3(tmp_path / "gemma3"), votes(24)
    done = trained(tmp_path, given, encoder=str(base), tuning="full", input="code", **LANGUAGE)
    before = load_file(base / "model.safetensors")
    after = load_file(done.folder / "model" / "lm" / "model.safetensors")
    assert set(before) == set(after)
    assert not torch.equal(before["model.embed_tokens.weight"], after["model.embed_tokens.weight"])
    assert len(set(means(done.folder, given.test))) > 1
    onwards = trained(tmp_path / "on", given, encoder=str(base), start_from=str(done.folder), **LANGUAGE)
    # A new adapter on a judge's whole model names that as its base.
    assert len(set(means(onwards.folder, given.test))) > 1


def test_a_language_model_goes_without_answers_that_make_long_texts_and_says_so(tmp_path: Path) -> None:
    base, given = tiny_llama(tmp_path / "llama"), votes(24)
    long = dataclasses.replace(given.train[0], rationale="and so on " * 40)
    too_long = dataclasses.replace(given.dev[0], rationale="and so on " * 100)
    wordy = Split([long, *given.train], [too_long, *given.dev], given.test)
    done = trained(tmp_path, wordy, encoder=str(base), longest=300, **LANGUAGE)
    assert done.record["left_out"] == {"train": 1, "dev": 1}
    with pytest.raises(
        TrainingError, match=r"25 of 25 rated answers in train are left out because .* too long"
    ):
        trained(tmp_path / "b", wordy, encoder=str(base), longest=30, **LANGUAGE)


def rated(answers: Sequence[RatedAnswer], **changes: Any) -> list[RatedAnswer]:
    return [dataclasses.replace(answer, **changes) for answer in answers]


@pytest.mark.parametrize(
    ("part", "changes", "number", "code", "message"),
    [
        ("train", {}, 19, "too_few", "There are 19 rated answers in train; an ORCA training needs 20 at least"),
        ("dev", {}, 4, "too_few", "There are 4 rated answers in dev; an ORCA training needs 5"),
        ("test", {}, 0, "too_few", "There are 0 rated answers in test; an ORCA training needs 1"),
        ("dev", {"ratings": ()}, 20, "too_few", "There are 0 rated answers in dev"),
        ("train", {"ratings": (4.0, 4.0)}, 60, "one_class", "All 120 ratings in train are 4: there is nothing"),
        ("dev", {"ratings": (1.0, 5.0)}, 20, "one_class", "All 20 mean ratings in dev are 3: there is nothing"),
        ("train", {"candidate": " "}, 60, "no_text", "All 60 rated answers in train are empty texts"),
        ("test", {"ratings": (0.0, 5.0)}, 20, "off_scale", "20 ratings are not from 1 to 5, the first 0 of"),
    ],
)  # fmt: skip
def test_votes_that_cannot_train_are_refused_with_the_count(
    tmp_path: Path, part: str, changes: dict[str, Any], number: int, code: str, message: str
) -> None:
    given = votes()
    given = dataclasses.replace(given, **{part: rated(getattr(given, part), **changes)[:number]})
    with pytest.raises(TrainingError, match=message) as refused:
        trained(tmp_path, given)
    assert refused.value.code == code
    assert not (tmp_path / "work").exists()


def test_ratings_between_two_levels_train_a_clamped_beta_and_nothing_else(tmp_path: Path) -> None:
    given = votes()
    given = dataclasses.replace(given, train=[*given.train, *rated(given.train[:1], ratings=(3.5,))])
    for settings in ({"head": "multinomial"}, {"edges": "cells"}):
        with pytest.raises(
            TrainingError, match=r"1 ratings lie between two of the five, the first 3.5 of answer train0"
        ):
            trained(tmp_path, given, **settings)
    assert trained(tmp_path, given).record["ratings"]["train"] == sum(len(one.ratings) for one in given.train)


def test_a_training_that_runs_away_is_ended_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(
        TrainingError, match=r"The loss is no number after 10 steps\. Train with a smaller"
    ) as refused:
        trained(tmp_path, learning_rate=1e30)
    assert refused.value.code == "diverged"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"learning_rate": 0}, "learning_rate: must be more than 0"),
        ({"warmup": -1}, "warmup: must not be below 0"),
        ({"input": "papre"}, "input: 'papre' is neither paper nor code"),
        ({"head": "bernoulli"}, "head: 'bernoulli' is not one of beta, multinomial"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(
    tmp_path: Path, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        trained(tmp_path, **given)
