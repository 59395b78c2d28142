"""`manage.py evaluate` from a folder as it was downloaded to the paper's table, with scorers reckoned by hand."""

from __future__ import annotations

import csv
import io
import json
import threading
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from scipy import stats

from analytics.benchmarks import open_benchmark
from analytics.evaluation import evaluate
from analytics.evaluation.results import BenchmarkResult
from analytics.evaluation.score_file import ScoreFile
from scoring.metrics.contract import Fault, Outcome
from tests.analytics.benchmarks import doubles, miniature


@pytest.fixture(autouse=True)
def _doubles(monkeypatch):
    doubles.register(monkeypatch)


def run(name: str, folder: Path, output: Path, scorer: str, *more: str) -> str:
    out = io.StringIO()
    common = ("--scorer", scorer, "--output", str(output), "--replicates", "20")
    call_command("evaluate", name, str(folder), *common, *more, stdout=out)
    return out.getvalue()


def lines(path: Path) -> dict[tuple[str, str, str], dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return {(row["output"], row["part"], row["statistic"]): row for row in csv.DictReader(file)}


def value(path: Path, part: str, statistic: str, output: str = "default") -> float:
    return float(lines(path)[output, part, statistic]["value"])


def test_relate_becomes_table_two(tmp_path):
    said = run(
        "relate",
        miniature.relate(tmp_path / "relate"),
        tmp_path / "out",
        "length",
        "--backbone",
        "a/Model-7B",
    )
    humans, lengths = [9.5, 5, 7, 1.5, 8.5, 3.5], [30, 20, 25, 10, 12, 15]
    found = tmp_path / "out" / "relevance.csv"
    assert value(found, "RELATE", "lcc") == pytest.approx(stats.pearsonr(lengths, humans).statistic)
    assert value(found, "RELATE", "srcc") == pytest.approx(stats.spearmanr(lengths, humans).statistic)
    assert value(found, "RELATE", "ktau") == pytest.approx(stats.kendalltau(lengths, humans).statistic)
    row = lines(found)["default", "RELATE", "srcc"]
    assert (row["n"], row["clusters"], row["model"]) == ("6", "2", "Model-7B")
    table = (tmp_path / "out" / "relevance.md").read_text(encoding="utf-8")
    assert "| Length | Model-7B | 0.639 [" in table
    assert "| — | — | — |" in table  # PAM was not evaluated
    assert f"scorer `{row['digest']}`" in table
    assert "6 of 6 examples have a score." in said
    assert str(tmp_path / "out" / "relevance.svg") in said


def test_what_is_asked_may_follow_the_benchmark_within_one_row(tmp_path):
    output = tmp_path / "out"
    run("relate", miniature.relate(tmp_path / "relate"), output, "length")
    run("pam", miniature.pam(tmp_path / "pam"), output, "length", "--option", "task=pam")
    table = (output / "relevance.md").read_text(encoding="utf-8")
    (row,) = [line for line in table.splitlines() if line.startswith("| Length")]
    assert "—" not in row
    digests = {one["digest"] for one in lines(output / "relevance.csv").values()}
    assert len(digests) == 2
    assert all(f"scorer `{digest}`" in table for digest in digests)


def test_two_versions_of_a_scorer_have_a_row_each(tmp_path):
    output, folder = tmp_path / "out", miniature.relate(tmp_path / "relate")
    run("relate", folder, output, "length")
    run("relate", folder, output, "length", "--option", "task=pam")
    table = (output / "relevance.md").read_text(encoding="utf-8")
    assert sum(line.startswith("| Length |") for line in table.splitlines()) == 2


def test_two_models_of_one_name_have_a_row_each(tmp_path):
    output = tmp_path / "out"
    run("relate", miniature.relate(tmp_path / "relate"), output, "length", "--backbone", "one/Model-7B")
    run("pam", miniature.pam(tmp_path / "pam"), output, "length", "--backbone", "two/Model-7B")
    table = (output / "relevance.md").read_text(encoding="utf-8")
    assert [line.count("—") for line in table.splitlines() if line.startswith("| Length |")] == [3, 3]
    assert "| Length | one/Model-7B | 0.639 [" in table
    assert "| Length | two/Model-7B | — |" in table


def test_a_second_scorer_and_a_second_benchmark_join_the_table(tmp_path):
    output = tmp_path / "out"
    relate, pam = miniature.relate(tmp_path / "relate"), miniature.pam(tmp_path / "pam")
    run("relate", relate, output, "length")
    run("relate", relate, output, "fit")
    run("pam", pam, output, "length")
    table = (output / "relevance.md").read_text(encoding="utf-8")
    rows = [line for line in table.splitlines() if line.startswith(("| Fit", "| Length"))]
    assert [row.count("—") for row in rows] == [3, 0]
    assert "<u>" in rows[0]
    assert "**" in rows[1]
    picture = ET.fromstring((output / "relevance.svg").read_text(encoding="utf-8"))
    texts = [element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert (texts.count("Fit"), texts.count("Length")) == (3, 6)


def test_pairs_of_sounds_share_the_scores_of_their_sounds(tmp_path):
    output = tmp_path / "out"
    folder = miniature.relate(tmp_path / "relate")
    run("relate-pair", folder, output, "length")
    # Of "a dog" both pairs as by length; of "rain" 10 < 12 right, 12 > 15 wrong.
    assert value(output / "pairwise.csv", "RELATE-Pair", "accuracy") == pytest.approx(3 / 4)
    assert len(doubles.ASKED) == 6
    said = run("relate", folder, output, "length")
    assert "Everything is scored already." in said
    assert len(doubles.ASKED) == 6


def test_baton_has_an_area_and_an_accuracy_for_two_and_three_events(tmp_path):
    folder = miniature.baton(tmp_path / "baton")
    for name in ("baton", "baton-pair"):
        run(name, folder, tmp_path / "out", "length")
    found = tmp_path / "out" / "pairwise.csv"
    assert value(found, "Baton (2)", "auc") == pytest.approx(1 / 2)
    assert value(found, "Baton (3)", "auc") == 1.0
    assert value(found, "Baton-Pair (2)", "accuracy") == pytest.approx(1 / 2)
    assert value(found, "Baton-Pair (3)", "accuracy") == 1.0


def test_compa_passes_what_fits_both_ways(tmp_path):
    run("compa", miniature.compa(tmp_path / "compa"), tmp_path / "out", "fit")
    found = tmp_path / "out" / "compositional.csv"
    # The first item of Order and that of Attribute fit; the second has the lengths the other way round.
    for statistic in ("text", "audio", "group"):
        assert value(found, "CompA-Order", statistic) == pytest.approx(1 / 2)
        assert value(found, "CompA-Attribute", statistic) == 1.0
    assert "| 50.00 [" in (tmp_path / "out" / "compositional.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("scorer", ["words", "more-words", "words-ahead"])
def test_fense_by_a_scorer_of_texts_and_by_one_of_pairs(scorer, tmp_path):
    run("fense", miniature.fense(tmp_path / "fense"), tmp_path / "out", scorer)
    found = tmp_path / "out" / "fense.csv"
    assert value(found, "AudioCaps-Eval/HC", "accuracy") == 1.0
    assert value(found, "AudioCaps-Eval/HI", "accuracy") == 0.0
    assert lines(found)["default", "AudioCaps-Eval/HM", "accuracy"]["reason"] == "no_decided_pairs"
    # Right, and one word on either side: a tie, worth a half.
    assert value(found, "AudioCaps-Eval/MM", "accuracy") == pytest.approx(1.5 / 2)
    assert value(found, "AudioCaps-Eval/All", "accuracy") == pytest.approx(2.5 / 4)
    everything = lines(found)["default", "AudioCaps-Eval/All", "accuracy"]
    assert (everything["human_ties"], everything["metric_ties"], everything["n"]) == ("1", "1", "4")
    assert value(found, "Clotho-Eval/HC", "accuracy") == 1.0
    expected = {
        "words": 6,
        "more-words": 4,
        "words-ahead": 4,
    }  # texts beside their sounds; pairs, of which two occur twice
    assert len(doubles.ASKED) == expected[scorer]


def test_brace_has_its_three_kinds_and_the_hallucinations(tmp_path):
    run("brace", miniature.brace(tmp_path / "brace"), tmp_path / "out", "words")
    found = tmp_path / "out" / "brace.csv"
    assert [value(found, f"AudioCaps-Main/{kind}", "accuracy") for kind in ("HH", "HM", "MM")] == [1, 0, 1]
    assert value(found, "Clotho-Main/All", "accuracy") == pytest.approx(2 / 3)
    assert value(found, "Hallucination/Clotho", "accuracy") == 1.0


def test_templates_have_rows_of_their_own_and_a_spread(tmp_path):
    output = tmp_path / "out"
    run("relate", miniature.relate(tmp_path / "relate"), output, "length", "--template", "default,reversed")
    table = (output / "relevance-templates.md").read_text(encoding="utf-8")
    srcc = stats.spearmanr([9.5, 5, 7, 1.5, 8.5, 3.5], [30, 20, 25, 10, 12, 15]).statistic
    assert value(output / "relevance.csv", "RELATE", "srcc", "reversed") == pytest.approx(-srcc)
    assert "| Length | mean ± sd | 0.000 ± " in table
    assert f"0.000 ± {(2 * srcc**2) ** 0.5:.3f}" in table
    # The scorer's own mean is a row and no template; how far its scores spread is no score.
    assert "| Length | mean of the scores | undefined |" in table
    assert "spread" not in {output for output, _, _ in lines(output / "relevance.csv")}
    assert "shown by template 'default' of default, reversed" in (output / "relevance.md").read_text("utf-8")
    ET.fromstring((output / "relevance-templates.svg").read_text(encoding="utf-8"))


def test_a_stopped_evaluation_goes_on_where_it_was(tmp_path):
    output, folder = tmp_path / "out", miniature.relate(tmp_path / "relate")
    run("relate", folder, output, "length", "--limit", "4")
    (scores,) = (output / "scores").iterdir()
    # As if the process had been killed while it wrote the fourth line.
    scores.write_bytes(scores.read_bytes()[:-10])
    doubles.ASKED.clear()
    run("relate", folder, output, "length")
    assert len(doubles.ASKED) == 3
    assert len(scores.read_text(encoding="utf-8").splitlines()) == 6


def test_what_a_limit_left_is_shown_apart(tmp_path):
    output, folder = tmp_path / "out", miniature.relate(tmp_path / "relate")
    run("relate", folder, output, "length", "--limit", "4")
    run("relate", folder, output, "length")
    table = (output / "relevance.md").read_text(encoding="utf-8")
    assert "| Length | first 4 of each part | " in table
    assert "| Length |  | 0.639 " in table
    assert len(list((output / "results").iterdir())) == 2


def test_faults_are_counted_and_left_out(tmp_path):
    folder = miniature.relate(tmp_path / "relate")
    table = folder / "scores" / "REL.csv"
    table.write_text(table.read_text().replace("rain", "undecodable rain"))
    said = run("relate", folder, tmp_path / "out", "length")
    assert "3 of 6 examples have a score." in said
    assert "undecodable: 3 (50.0 %), left out of the figures" in said
    row = lines(tmp_path / "out" / "relevance.csv")["default", "RELATE", "lcc"]
    assert (row["n"], row["missing"]) == ("3", "3")
    told = (tmp_path / "out" / "relevance.md").read_text(encoding="utf-8")
    assert "6 examples, 3 without a score (undecodable 3 (50.0 %)), which do not count" in told
    doubles.ASKED.clear()
    run("relate", folder, tmp_path / "out", "length")
    assert doubles.ASKED == []  # it would only fail again


def test_a_damaged_sound_is_left_to_the_scorer(tmp_path):
    folder = miniature.relate(tmp_path / "relate")
    sounds = folder / "RELATE_wave"
    (sounds / "tango" / "test" / "1.wav").write_bytes(b"no sound at all")
    (sounds / "tango" / "test" / "2.wav").write_bytes(b"")
    run("relate", folder, tmp_path / "out", "words")
    assert len(doubles.ASKED) == 6
    assert {example.sounds[0].seconds for example in doubles.ASKED[-2:]} == {0.0}


def test_where_everything_fails_the_figures_say_so(tmp_path):
    folder = miniature.pam(tmp_path / "pam")
    table = folder / "human_eval" / "audio" / "scores.csv"
    table.write_text(table.read_text().replace("prompt", "undecodable"))
    assert "0 of 4 examples have a score." in run("pam", folder, tmp_path / "out", "length")
    told = (tmp_path / "out" / "relevance.md").read_text(encoding="utf-8")
    assert "| Length |  | — | — | — | undefined | undefined | undefined |" in told
    assert "Fewer than three items have both a score and a human answer." in told


@pytest.mark.parametrize("fault", ["server_unreachable", "missing"])
def test_what_may_pass_is_tried_again(fault, tmp_path):
    output, folder = tmp_path / "out", miniature.relate(tmp_path / "relate")
    run("relate", folder, output, "length")
    (scores,) = (output / "scores").iterdir()
    first, *others = scores.read_text(encoding="utf-8").splitlines()
    lost = {
        "example": json.loads(first)["example"],
        "values": {},
        "fault": fault,
        "message": "x",
    }
    scores.write_text("\n".join([json.dumps(lost), *others]) + "\n", encoding="utf-8")
    doubles.ASKED.clear()
    assert "6 of 6 examples have a score." in run("relate", folder, output, "length")
    assert len(doubles.ASKED) == 1


def test_another_version_of_a_scorer_scores_everything_anew(tmp_path):
    output, folder = tmp_path / "out", miniature.relate(tmp_path / "relate")
    for backbone in ("one", "two"):
        run("relate", folder, output, "length", "--backbone", backbone)
    assert len(doubles.ASKED) == 12
    assert len(list((output / "scores").iterdir())) == 2


def refusal(*arguments: str) -> str:
    with pytest.raises(CommandError) as error:
        run(*arguments)
    return str(error.value)


def test_what_cannot_be_done_is_said_before_anything_is_scored(tmp_path):
    relate, out = miniature.relate(tmp_path / "relate"), tmp_path / "out"
    assert "more-words compares two candidates, but RELATE asks about each" in refusal(
        "relate", relate, out, "more-words"
    )
    assert "is not a folder. RELATE is published as" in refusal("relate", tmp_path / "nowhere", out, "length")
    assert "there is no scorer 'lenght'" in refusal("relate", relate, out, "lenght")
    assert "length has no such option" in refusal("relate", relate, out, "length", "--option", "tempo=3")
    assert "write NAME=VALUE" in refusal("relate", relate, out, "length", "--option", "tempo")
    assert "give a number of 1 or more" in refusal("relate", relate, out, "length", "--limit", "0")
    assert "--prompts " in refusal("relate", relate, out, "length", "--prompts", str(relate / "none.toml"))
    assert not out.exists()


def test_damaged_scores_are_named_with_their_line(tmp_path):
    output, folder = tmp_path / "out", miniature.relate(tmp_path / "relate")
    run("relate", folder, output, "length")
    (scores,) = (output / "scores").iterdir()
    scores.write_text("what\n" + scores.read_text(encoding="utf-8"), encoding="utf-8")
    assert f"Line 1 of {scores} is damaged." in refusal("relate", folder, output, "length")


def test_scores_that_are_bounds_are_counted_by_question(tmp_path):
    output, folder = tmp_path / "out", miniature.relate(tmp_path / "relate")
    table = folder / "scores" / "REL.csv"
    table.write_text(table.read_text().replace("rain", "bounded rain"))
    for _ in range(2):  # as scored, and as kept
        run("relate", folder, output, "length", "--template", "default,reversed")
        found = lines(output / "relevance.csv")
        counts = [found[name, "RELATE", "srcc"]["bounded"] for name in ("default", "reversed", "mean")]
        assert counts == ["3", "0", "3"]
        told = (output / "relevance.md").read_text(encoding="utf-8")
        assert "did not list the probability of both answers: default 3 (50.0 %), mean 3 (50.0 %)" in told


def test_a_second_evaluation_with_the_same_scorer_waits_its_turn(tmp_path):
    output, folder = tmp_path / "out", miniature.relate(tmp_path / "relate")
    run("relate", folder, output, "length")
    (scores,) = (output / "scores").iterdir()
    before = scores.read_bytes()
    with ScoreFile(scores):
        assert f"Another evaluation with this scorer writes to {scores}." in refusal(
            "relate-pair", folder, output, "length"
        )
        assert "6 of 6 examples have a score." in run("relate", folder, output, "fit")
    assert scores.read_bytes() == before
    run("relate-pair", folder, output, "length")


def test_tables_are_written_by_one_evaluation_at_a_time(tmp_path, monkeypatch):
    output, folder = tmp_path / "out", miniature.relate(tmp_path / "relate")
    run("relate", folder, output, "length")
    benchmark = open_benchmark("relate", folder)
    steps = []
    genuine = evaluate.results_in
    other = threading.Thread(target=evaluate.write_tables, args=(output, benchmark))

    def results_in(folder: Path) -> list[BenchmarkResult]:
        steps.append("begins")
        if len(steps) == 1:
            other.start()
            other.join(timeout=0.3)
        steps.append("has read")
        return genuine(folder)

    monkeypatch.setattr(evaluate, "results_in", results_in)
    evaluate.write_tables(output, benchmark)
    other.join()
    assert steps == ["begins", "has read", "begins", "has read"]
    assert not list(output.glob("*.part"))


def test_half_a_character_in_an_answer_ends_nothing(tmp_path):
    scores = tmp_path / "scores" / "x.jsonl"
    with ScoreFile(scores) as kept:
        kept.add([("a", Outcome(1, fault=Fault("unparsable", "The answer is \ud83c.")))])
    with ScoreFile(scores) as kept:
        assert kept.scored["a"].message == "The answer is \ud83c."


def test_a_model_s_name_is_no_formula(tmp_path):
    run("relate", miniature.relate(tmp_path / "relate"), tmp_path / "out", "length", "--backbone", "=1\r2")
    assert lines(tmp_path / "out" / "relevance.csv")["default", "RELATE", "lcc"]["model"] == "'=1\r2"
