"""What the section on preferences prints, against plain counting; and what it says where there is nothing to print."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from analytics.data import known_answer_trials
from analytics.data.votes import EXCLUDED, EXCLUDED_BY_REVIEW, EXCLUDED_BY_RULE, NOBODY, Votes
from analytics.reports.document import Block, Figure, Measured, Section, Table
from analytics.reports.reasons import RANKING, reason_sentence
from analytics.reports.sections import preferences
from analytics.reports.sections.material import ReportData, ReportSettings
from analytics.reports.sections.preference_agreement import agreement_blocks
from analytics.reports.sections.preference_ranking import ranking_blocks, variant_blocks
from analytics.reports.sections.preference_votes import PreferenceVotes
from analytics.reports.sections.preferences import pair_blocks, position_blocks, preferences_section
from analytics.statistics.bootstrap import Resampling
from analytics.statistics.intervals import wilson_interval
from annotation.models import Answer, Question, Rater, Study, Task
from tests import factories
from tests.analytics.reports.reading import material_of, rows_of, tables_of, text_of
from tests.analytics.vote_columns import made_votes, preference_question
from tests.analytics.votes import vote

SETTINGS = ReportSettings(resampling=Resampling(replicates=20))
FIRST, SECOND, TIE, BOTH_BAD = 1, 2, 3, 4
NAMES = ("alto", "bass", "cello")
PARTS = (ranking_blocks, variant_blocks, pair_blocks, position_blocks)


def asked(rows, *, raters: int = 5, **columns) -> Votes:
    """A row is (first system, second system, choice); every row is a pair of its own, shown as listed or swapped."""
    first, second, choice = zip(*rows, strict=True)
    n = len(rows)
    defaults = {"rater": [k % raters for k in range(n)], "shown_first": [k % 2 for k in range(n)]}
    units, items = list(range(n)), [k % 8 for k in range(n)]
    sides = {"first": first, "second": second, "item": items}
    return made_votes(preference_question(title="Which?"), units, choice, **sides, **{**defaults, **columns})


def drawn(n: int = 90, seed: int = 5) -> list[tuple[int, int, int]]:
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        one, other = rng.choice(3, size=2, replace=False)
        better = rng.random() < 1 / (1 + np.exp(0.8 * (one - other)))
        rows.append((int(one), int(other), int(rng.choice([2 - better, TIE, BOTH_BAD], p=[0.7, 0.2, 0.1]))))
    return rows


def blocks(votes: Votes) -> list[Block]:
    pairs = PreferenceVotes(votes.counted())
    found = [block for part in PARTS for block in part(votes, pairs, SETTINGS)]
    return found + list(agreement_blocks([pairs], SETTINGS))


def tables(votes: Votes) -> dict[str, Table]:
    by_key = tables_of(blocks(votes))
    return {key.removeprefix("preferences-").removeprefix("quality-"): one for key, one in by_key.items()}


def warnings(votes: Votes) -> str:
    return text_of(blocks(votes), warnings=True)


def counts(rows) -> dict[str, Counter[str]]:
    found = {name: Counter() for name in NAMES}
    for one, other, choice in rows:
        here, there = found[NAMES[one]], found[NAMES[other]]
        here.update({FIRST: ["wins"], SECOND: ["losses"], TIE: ["ties"], BOTH_BAD: ["both_bad"]}[choice])
        there.update({FIRST: ["losses"], SECOND: ["wins"], TIE: ["ties"], BOTH_BAD: ["both_bad"]}[choice])
    return found


def turned(rows, which) -> list[tuple[int, int, int]]:
    sides = {FIRST: SECOND, SECOND: FIRST}
    return [
        (other, one, sides.get(choice, choice)) if turn else (one, other, choice)
        for (one, other, choice), turn in zip(rows, which, strict=True)
    ]


def test_wins_and_win_rates_are_those_counted_by_hand():
    rows = drawn()
    expected = counts(rows)
    for name, by_rater, by_prompt, *numbers in tables(asked(rows))["wins"].rows:
        here = expected[name]
        assert numbers == [here["wins"], here["losses"], here["ties"], here["both_bad"]]
        rate = (here["wins"] + here["ties"] / 2) / (here["wins"] + here["losses"] + here["ties"])
        assert by_rater.value == by_prompt.value == pytest.approx(rate)
        assert (by_rater.low, by_rater.high) != (by_prompt.low, by_prompt.high)
    drawings = [block.svg for block in blocks(asked(rows)) if isinstance(block, Figure)]
    assert [all(name in drawing for name in NAMES) for drawing in drawings] == [True, True]


def test_every_pair_has_its_votes():
    rows = drawn()
    for one, other, votes, wins, losses, ties, both_bad, rate in tables(asked(rows))["pairs"].rows:
        here = [row for row in rows if {NAMES[row[0]], NAMES[row[1]]} == {one, other}]
        won = sum(NAMES[row[row[2] - 1]] == one for row in here if row[2] < TIE)
        told = [row[2] for row in here]
        assert (votes, ties, both_bad) == (len(here), told.count(TIE), told.count(BOTH_BAD))
        assert (wins, losses) == (won, len(here) - told.count(TIE) - told.count(BOTH_BAD) - won)
        assert rate.value == pytest.approx((wins + ties / 2) / (wins + losses + ties))


def test_neither_the_order_of_votes_nor_of_candidates_changes_more_than_the_tables_of_time_and_of_orders():
    rows = drawn()
    which = np.random.default_rng(2).random(len(rows)) < 0.5
    as_stored = asked(rows)
    shown = np.where(which, 1 - as_stored.shown_first, as_stored.shown_first)
    found, otherwise = tables(as_stored), tables(asked(turned(rows, which), shown_first=shown))
    orders = found.pop("orders")
    assert otherwise.pop("orders") != orders
    assert otherwise == found
    mixed = tables(as_stored.select(np.random.default_rng(3).permutation(len(as_stored))))
    assert {**mixed, "sequential": found["sequential"]} == {**found, "orders": orders}


def test_the_share_preferring_what_is_shown_first_is_counted_over_decided_votes():
    rows, votes = drawn(), asked(drawn())
    shown = zip(rows, votes.shown_first, strict=True)
    decided = [(choice - 1) == first for (*_, choice), first in shown if choice < 3]
    found = {row[0]: row for row in tables(votes)["position"].rows}
    share = found["Share that prefers the side shown first"]
    assert share[1].value == pytest.approx(sum(decided) / len(decided))
    assert share[3] == len(decided)
    assert found["p, exact binomial test of one half"][2] is None


def test_the_shares_of_either_side_are_told_by_order():
    rows, votes = drawn(), asked(drawn())
    for name, n, *shares in tables(votes)["orders"].rows:
        here = [
            row[2] for row, shown in zip(rows, votes.shown_first, strict=True) if shown == (name == "B first")
        ]
        assert n == len(here)
        assert shares == pytest.approx([here.count(choice) / n for choice in (FIRST, SECOND, TIE, BOTH_BAD)])


def test_votes_without_an_order_are_left_out_of_the_tests_of_position_and_time_alone():
    votes = asked(drawn(), shown_first=[NOBODY] * 90)
    assert "Position bias cannot be tested" in warnings(votes)
    assert not {"position", "orders", "sequential"} & tables(votes).keys()
    shown = [k % 2 if k < 60 else NOBODY for k in range(90)]
    decided = sum(choice < TIE for *_, choice in drawn()[:60])
    assert tables(asked(drawn(), shown_first=shown))["position"].rows[0][3] == decided


def test_where_nobody_is_named_intervals_are_by_prompt():
    found = tables(asked(drawn(), rater=[NOBODY] * 90))
    assert [column.key for column in found["ranking"].columns] == [
        "system", "strength_by_prompt", "rank_by_prompt",
    ]  # fmt: skip
    assert any("resamples of 8 prompts" in note for note in found["ranking"].notes)


def test_a_system_that_never_lost_is_ranked_with_a_ridge_and_that_is_said():
    rows = [(0, 1, FIRST)] * 6 + [(1, 2, FIRST)] * 4 + [(1, 2, SECOND)] * 3
    said = warnings(asked(rows))
    assert "alto › bass, cello" in said
    assert "ridge of 0.1" in said
    strengths = {row[0]: row[1].value for row in tables(asked(rows))["ranking"].rows}
    assert strengths["alto"] > strengths["bass"] > strengths["cello"]


def test_systems_that_were_never_compared_are_ranked_apart():
    rows = [(0, 1, FIRST), (0, 1, SECOND), (0, 1, FIRST), (2, 3, FIRST), (2, 3, SECOND)] * 3
    votes = asked(rows, systems=(*NAMES, "drum"))
    assert "alto, bass; cello, drum" in warnings(votes)
    found = tables(votes)
    assert [row[:2] for row in found["ranking"].rows] == [(1, "alto"), (1, "bass"), (2, "cello"), (2, "drum")]
    assert len([row for row in found["position"].rows if "log-odds" in row[0]]) == 2


def test_ties_alone_rank_nobody_and_say_why():
    votes = asked([(0, 1, TIE), (1, 2, TIE)] * 4)
    assert warnings(votes) == reason_sentence("only_ties", RANKING)
    strength = tables(votes)["ranking"].rows[0][1]
    assert strength == Measured(None, reason=reason_sentence("only_ties", RANKING))
    nothing = Measured(None, reason=reason_sentence("no_votes", RANKING))
    assert tables(votes)["agreement"].rows[0][5] == nothing


def test_outputs_of_one_system_rank_nothing():
    assert "No vote compares two different" in warnings(asked([(0, 0, FIRST), (NOBODY, 1, SECOND)]))


def test_excluded_votes_are_put_back_for_comparison_but_not_those_of_the_review():
    rows = [(0, 1, FIRST)] * 5 + [(0, 1, SECOND)] * 2 + [(0, 1, SECOND)] * 8 + [(0, 1, FIRST)] * 9
    status = [0] * 7 + [EXCLUDED] * 8 + [EXCLUDED_BY_REVIEW] * 9
    found = tables(asked(rows, status=status))
    assert [row[:3] for row in found["excluded"].rows] == [("alto", 1, 2), ("bass", 2, 1)]
    assert found["excluded"].rows[0][4] == pytest.approx(np.log(5 / 10) / 2)
    note = "2 of 2 systems change ranks; Kendall's tau-b of the two orders is −1.00"
    assert note in found["excluded"].notes[0]
    assert found["wins"].rows[0][3:5] == (5, 2)
    assert "excluded" not in tables(asked(rows))


def test_votes_that_quality_rules_exclude_are_put_back_apart():
    rows = [(0, 1, FIRST)] * 5 + [(0, 1, SECOND)] * 2 + [(0, 1, SECOND)] * 2 + [(0, 1, SECOND)] * 6
    found = tables(asked(rows, status=[0] * 7 + [EXCLUDED_BY_RULE] * 2 + [EXCLUDED] * 6))
    by_rules, by_all = (rows_of(found[key])[0] for key in ("excluded-by-rules", "excluded"))
    assert [one["win_rate"] for one in (by_rules, by_all)] == [pytest.approx(5 / 7)] * 2
    assert by_rules["win_rate_with_excluded"] == pytest.approx(5 / 9)
    assert by_all["win_rate_with_excluded"] == pytest.approx(5 / 15)
    assert (by_rules["rank_with_excluded"], by_all["rank_with_excluded"]) == (1, 2)
    assert "excluded" not in tables(asked(rows[:9], status=[0] * 7 + [EXCLUDED_BY_RULE] * 2))


def test_a_win_rate_that_no_resample_changes_has_no_interval():
    rows = tables(asked([(0, 1, FIRST)] * 9 + [(1, 2, FIRST)] * 9))["wins"].rows
    assert [row[0] for row in rows] == ["alto", "bass", "cello"]
    assert rows[0][1] == Measured(1.0, reason=reason_sentence("all_alike", RANKING))
    assert rows[2][1] == Measured(0.0, reason=reason_sentence("all_alike", RANKING))


def test_agreement_rests_on_the_first_votes_where_later_ones_were_asked_for_while_these_differed():
    unit, choice = [0, 0, 0, 1, 1], [FIRST, SECOND, SECOND, FIRST, FIRST]
    question = preference_question(title="Which?", first_votes=2)
    table = tables(made_votes(question, unit, choice, first=[0, 0], second=[1, 1]))["agreement"]
    assert table.rows[0][1:5] == (2, 4, 1, 1)
    assert "Which? The first 2 votes of each comparison" in table.notes[-1]


def test_the_effect_of_being_shown_first_is_positive_where_the_first_wins_more():
    """Alto wins three in four when shown first and one in two when second: log 3 apart, half of that for the place."""
    rows = [(0, 1, FIRST)] * 6 + [(0, 1, SECOND)] * 2 + [(0, 1, FIRST)] * 4 + [(0, 1, SECOND)] * 4
    votes = asked(rows, shown_first=[0] * 8 + [1] * 8, rater=[k % 2 for k in range(16)])
    found = {row[0]: row[1] for row in tables(votes)["position"].rows}
    assert found["Effect of being shown first (log-odds)"].value == pytest.approx(np.log(3) / 2)
    assert found["Share that prefers the side shown first"].value == 10 / 16


def test_systems_are_ranked_by_first_votes_where_later_ones_were_asked_for_while_these_differed(
    monkeypatch,
):
    """Alto is preferred by three of four; what was asked for where people differ draws all votes towards even."""
    unit, choice = [], []
    for number, said in enumerate([(1, 1), (1, 1), (1, 2, 2, 2, 1), (2, 1, 2, 1, 2)]):
        unit += [number] * len(said)
        choice += said
    question = preference_question(title="Which?", first_votes=2)
    votes = made_votes(
        question, unit, choice, first=[0] * 4, second=[1] * 4, shown_first=[k % 2 for k in range(14)]
    )
    monkeypatch.setattr(preferences, "trial_blocks", lambda material: ())  # these are of a stored study
    section = preferences.preferences_section(ReportData(Study(), (votes,), SETTINGS))
    found = tables_of(section)
    assert found["preferences-quality-wins"].rows[0][:4:2] == ("alto", 6)
    strength = found["preferences-quality-ranking"].rows[0][1]
    assert strength.value == pytest.approx(np.log(3) / 2)
    assert found["preferences-quality-pairs"].rows[0][2:5] == (8, 6, 2)
    assert found["preferences-quality-sequential"].rows[0][2] == 8
    for key in ("wins", "ranking", "pairs", "sequential"):
        assert "The first 2 votes of each comparison" in found[f"preferences-quality-{key}"].notes[-1]


def test_every_table_of_resamples_says_what_few_raters_cannot_tell():
    few, several = (tables(asked(drawn(), raters=n)) for n in (3, 7))
    for key in ("ranking", "wins", "pairs", "position"):
        assert "3 raters cannot say" in " ".join(few[key].notes)
        assert "With 7 raters such intervals may still be too narrow" in " ".join(several[key].notes)
    assert few["wins"].rows[0][1].reason == reason_sentence("few_clusters", RANKING)
    assert few["ranking"].rows[0][1].low is None
    assert several["ranking"].rows[0][1].low is not None


def test_evidence_beyond_counting_stays_readable():
    rows = [(0, 1, FIRST if k % 4 else SECOND) for k in range(8000)]
    (row,) = tables(asked(rows))["sequential"].rows
    e_value = math.lgamma(6001) + math.lgamma(2001) - math.lgamma(8002) + 8000 * math.log(2)
    assert row[4] == pytest.approx(e_value / math.log(10))
    assert row[4] > 400


# The section of votes in the database: confidence, two questions of one person, ABX.


def stored_section(study: Study) -> Section | None:
    return preferences_section(material_of(study, replicates=10))


def stored_tables(study: Study) -> dict[str, Table]:
    return tables_of(stored_section(study))


def both(task: Task, rater: Rater, alignment: int, musicality: int, *, sure: tuple[float, float]) -> None:
    """One judgment with an answer to either question of the study."""
    judgment = vote(
        task, choice=alignment, confidence=sure[0], question="alignment", rater=rater, presentation=[0, 1]
    )
    Answer.objects.create(
        judgment=judgment,
        task=task,
        question=Question.objects.get(protocol_version=task.study.protocol_version, key="musicality"),
        choice=musicality,
        confidence=sure[1],
        counted=True,
    )


@pytest.fixture
def study(db) -> Study:
    study = factories.StudyFactory(preset="cmi-pref", overlap=9)
    raters = [factories.rater(study) for _ in range(3)]
    one, other = (factories.comparison_task(study, name) for name in ("a", "b"))
    both(one, raters[0], FIRST, FIRST, sure=(5, 4))
    both(one, raters[1], FIRST, SECOND, sure=(4, 2))
    both(one, raters[2], SECOND, SECOND, sure=(1, 3))
    both(other, raters[0], SECOND, SECOND, sure=(2, 4))
    both(other, raters[1], SECOND, FIRST, sure=(4, 1))
    return study


def test_pairs_of_votes_are_counted_for_every_question(study):
    rows = {row[0]: row[1:5] for row in stored_tables(study)["preferences-agreement"].rows}
    # Alignment: one against two, and two alike. Musicality: one against two, and one against one.
    assert rows == {
        "Which follows the instruction better?": (2, 5, 2, 2),
        "Which is better music?": (2, 5, 1, 3),
    }


def test_two_answers_of_one_person_are_compared(study):
    (row,) = stored_tables(study)["preferences-same"].rows
    assert row[2:4] == (3, 2)
    assert row[4].value == 0.6
    # Alike: 5, 1 and 2 with 4, 3 and 4; different: 4 and 4 with 2 and 1.
    assert row[5:] == pytest.approx((8 / 3, 11 / 3, 4, 1.5))


def test_confidence_is_told_against_what_the_others_say(study):
    rows = {row[0]: row[1:] for row in stored_tables(study)["preferences-alignment-confidence"].rows}
    assert {level: n for level, (n, *_) in rows.items()} == {"1": 1, "2": 1, "4": 2, "5": 1}
    # Of the three on one pair, each of those who agree sees one vote either way; the third sees two against.
    assert {level: (compared, by_rater.value) for level, (_, _, compared, by_rater, _) in rows.items()} == {
        "1": (1, 0.0), "2": (1, 1.0), "4": (1, 1.0), "5": (0, None),
    }  # fmt: skip


def test_agreement_is_told_below_at_and_above_the_middle_of_the_scale(study):
    rows = stored_tables(study)["preferences-alignment-confidence-agreement"].rows
    assert [row[0] for row in rows] == ["< 3", "= 3", "> 3"]
    # Above: two of the first pair, alike. Below: one vote of either pair, so nothing to compare.
    assert [row[1:5] for row in rows] == [(0, 0, 0, 0), (0, 0, 0, 0), (1, 2, 1, 0)]


def test_the_ranking_by_confidence_stands_beside_the_plain_one_and_both_questions_share_a_figure(study):
    columns = [column.key for column in stored_tables(study)["preferences-alignment-by-confidence"].columns]
    assert columns[1:4] == ["strength_plain", "strength_margin", "strength_weight"]
    figures = [block.key for block in stored_section(study).blocks if isinstance(block, Figure)]
    assert figures[-1] == "preferences-confidence"
    assert stored_section(study) == stored_section(study)


def test_without_votes_on_preferences_there_is_no_section(study):
    assert stored_section(factories.StudyFactory(preset="cmi-pref")) is None
    assert stored_section(factories.StudyFactory()) is None


@pytest.mark.django_db
def test_an_abx_test_is_a_table_with_its_chance_of_guessing(monkeypatch):
    tested = known_answer_trials.Discrimination("codec / original", 8, 6, 0.75, 37 / 256)
    monkeypatch.setattr(
        known_answer_trials, "abx_report", lambda study: known_answer_trials.AbxReport(tested, (tested,), ())
    )
    share = Measured(0.75, *wilson_interval(6, 8, level=0.95))
    assert stored_tables(factories.StudyFactory())["preferences-abx"].rows == [
        ("codec / original", 8, 6, share, 37 / 256),
        ("All pairs", 8, 6, share, 37 / 256),
    ]
