from __future__ import annotations

from typing import Any

import pytest
from django.utils import translation

from analytics.overview.figures import SystemMean, SystemWins
from analytics.overview.study import Progress, QuestionOverview, RaterPage, StudyOverview
from annotation.protocols import preset
from labeling_ui.study import page_data

UNDEFINED = {
    "level": "ordinal", "alpha": None, "ci95": None, "reason": "no_ratings", "units": 0, "pairable_units": 0,
    "ratings": 0, "percent_agreement": None, "raters": 0, "unnamed_raters": False, "protocol_versions_left_out": [],
}  # fmt: skip
DEFINED = {
    **UNDEFINED,
    "alpha": 0.82,
    "ci95": [0.8, 0.84],
    "reason": None,
    "units": 5,
    "ratings": 10,
    "raters": 2,
}


def found(question: QuestionOverview | None = None, **fields) -> StudyOverview:
    progress = Progress(1, 1, 0, 0, 1, 0, 0, 0)
    questions = (question,) if question else ()
    return StudyOverview(progress, RaterPage((), None), questions, fields.get("codes", ()), None)


def correctness(result=DEFINED, **fields) -> QuestionOverview:
    given = {"histogram": (), "means": (), "wins": (), **fields}
    return QuestionOverview("correctness", "How correct?", "rating", "ordinal", result, **given)


def card(question: QuestionOverview, key: str = "orca") -> dict[str, Any]:
    return page_data.question_cards(found(question), preset(key))[0]


def test_an_undefined_alpha_says_why_and_draws_nothing():
    question = card(correctness(UNDEFINED))
    assert question["reason"] == "There are no ratings yet."
    assert question["interval"] is None


def test_a_preference_leads_with_the_alpha_that_no_choice_of_sides_changes():
    symmetric = {**DEFINED, "level": "nominal-symmetric", "alpha": 0.57, "ci95": [0.55, 0.59]}
    asked = QuestionOverview(
        "alignment",
        "?",
        "preference",
        "nominal",
        {**DEFINED, "level": "nominal", "symmetric": symmetric},
        (),
        (),
        (),
    )
    question = card(asked, "cmi-pref")
    assert (question["alpha"], question["ci"], question["as_stored"]) == (0.57, (0.55, 0.59), 0.82)


def test_the_line_runs_from_chance_to_perfect_agreement():
    line = card(correctness())["interval"]
    assert (line.start, line.at, line.low, line.high) == (0.0, 82.0, 80.0, 84.0)
    assert [tick[:2] for tick in line.ticks] == [(0.0, "0"), (66.7, "0.667"), (80.0, "0.8"), (100.0, "1")]


def test_the_line_begins_lower_where_agreement_is_worse_than_chance():
    line = card(correctness({**DEFINED, "alpha": -0.2, "ci95": [-0.45, 0.05]}))["interval"]
    assert line.start == -0.5
    assert line.at == pytest.approx(20.0)
    assert 0 <= line.low < line.at < line.high <= 100


def test_unnamed_raters_are_not_counted_as_none():
    assert card(correctness({**DEFINED, "raters": None, "unnamed_raters": True}))["raters"] == "not named"
    assert (
        card(correctness({**DEFINED, "raters": 3, "unnamed_raters": True}))["raters"]
        == "3, and others not named"
    )


def test_a_histogram_names_the_points_of_the_scale_in_the_readers_language():
    question = correctness(histogram=(("1", 3), ("2", 1)))
    with translation.override("zh-hans"):
        assert card(question)["histogram"][0].label == "1 · 不正确"
    bars = card(question)["histogram"]
    assert [(bar.label, bar.n, bar.share, bar.length) for bar in bars] == [
        ("1 · Not correct", 3, 0.75, 100.0),
        ("2 · Slightly correct", 1, 0.25, 33.33),
    ]


def test_a_mean_is_drawn_from_the_scales_lowest_point_to_its_highest():
    means = (SystemMean("a", 4, 5.0, 0.0), SystemMean("b", 4, 3.0, 1.0), SystemMean("c", 1, 1.0, None))
    assert [row.length for row in card(correctness(means=means))["systems"]] == [100.0, 50.0, 0.0]


def test_a_preference_shows_win_rates_and_no_histogram_of_arbitrary_sides():
    wins = (SystemWins("a", 4, 3, 1, 0, 0, 0.75), SystemWins("b", 1, 0, 0, 0, 1, None))
    sides = (("first", 3), ("second", 1))
    question = QuestionOverview("alignment", "Which?", "preference", "nominal", DEFINED, sides, (), wins)
    shown = card(question, "cmi-pref")
    assert shown["histogram"] == ()
    assert [(row.system, row.value, row.length) for row in shown["systems"]] == [
        ("a", 0.75, 75.0),
        ("b", None, 0.0),
    ]


def test_codes_have_counts_and_no_shares_because_a_judgment_may_give_several():
    bars = page_data.code_bars(found(codes=(("Q", 4), ("gone", 1))), preset("orca"))
    assert [(bar.label, bar.n, bar.share) for bar in bars] == [
        ("Q · Incomplete question", 4, None),
        ("gone", 1, None),
    ]
