"""Rules of panels: what a link says of who comes, where they go back to, and what is advised to pay."""

from __future__ import annotations

import pytest

from annotation.panels import rules
from annotation.panels.rules import LinkRules, Quota

PROLIFIC = LinkRules("prolific", "PROLIFIC_PID", ("STUDY_ID", "SESSION_ID"))
PID = "5f1a0c2b3d4e5f6a7b8c9d0e"


def test_only_named_parameters_are_read_and_cleaned():
    arrived = rules.read_arrival(PROLIFIC, {"PROLIFIC_PID": f" {PID} ", "STUDY_ID": "a\x00b", "email": "x"})
    assert (arrived.participant_id, arrived.parameters, arrived.problem) == (PID, {"STUDY_ID": "ab"}, "")


@pytest.mark.parametrize("brought", ["", "0" * 64, "ü"])
def test_a_signed_link_lets_nobody_in_under_a_guessed_id(brought):
    link = LinkRules("other", "id", (), "sig", "secret")
    assert rules.read_arrival(link, {"id": "7", "sig": brought}).problem == "bad_signature"
    assert rules.read_arrival(link, {"id": "7", "sig": rules.signature("secret", "7")}).problem == ""


def test_the_link_to_paste_has_the_panels_own_placeholders():
    link = rules.link_to_paste("https://x.example/take-part/t/", PROLIFIC)
    assert link == (
        "https://x.example/take-part/t/?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}"
        "&SESSION_ID={{%SESSION_ID%}}"
    )
    assert (
        rules.link_to_paste("https://x.example/", LinkRules("other", "pid")) == "https://x.example/?pid=[pid]"
    )


@pytest.mark.parametrize(
    ("panel", "code", "expected"),
    [
        ("prolific", "C 1", ("C 1", "https://app.prolific.com/submissions/complete?cc=C%201")),
        ("prolific", "https://app.prolific.com/submissions/complete?cc=C1",
         ("C1", "https://app.prolific.com/submissions/complete?cc=C1")),
        ("other", "https://p.example/?who={participant}&s={s}&x={x}",
         ("", "https://p.example/?who=a%26b&s=1&x={x}")),
        ("other", "CODE", ("CODE", "")),
        ("prolific", "", ("", "")),
    ],
)  # fmt: skip
def test_the_way_back_is_a_code_or_an_address(panel, code, expected):
    assert rules.way_back(panel, code, {"participant": "a&b", "s": "1"}) == expected


@pytest.mark.parametrize(
    "address",
    ["", "https://evil.example", "http://www.mturk.com", "https://www.mturk.com.evil.example",
     "https://user@www.mturk.com", "javascript:alert(1)", "https://www.mturk.com:444"],
)  # fmt: skip
def test_nothing_is_handed_in_at_any_host_but_mechanical_turks(address):
    assert rules.mturk_form_address(address) == ""
    assert rules.mturk_form_address("https://www.mturk.com/x") == "https://www.mturk.com/mturk/externalSubmit"


def test_a_value_without_a_quota_of_its_own_falls_under_the_star():
    quotas = [Quota("sex", "male", 1), Quota("sex", "*", 2), Quota("age", "18-25", 3)]
    assert rules.applicable_quotas(quotas, {"sex": "MALE"}) == quotas[:1]
    assert rules.applicable_quotas(quotas, {"sex": "other", "age": "40"}) == quotas[1:2]
    assert rules.applicable_quotas(quotas, {}) == []


@pytest.mark.parametrize(
    ("state", "minutes", "failed", "advice"),
    [
        ("completed", 20, 3, "pay"),
        ("failed_quality", 20, 1, "ask_to_return"),
        ("failed_quality", 20, 2, "may_reject"),
        ("failed_quality", 4, 1, "may_reject"),
        ("failed_quality", 4, 0, "ask_to_return"),
        ("timed_out", 20, 0, "pay_in_part"),
        ("no_consent", 1, 0, "pay_in_part"),
        ("screened_out", 9, 2, "pay_in_part"),
        ("working", 9, 0, "nothing"),
    ],
)
def test_rejection_is_never_advised_on_one_failed_check_of_a_study_over_five_minutes(
    state, minutes, failed, advice
):
    found = rules.advice("prolific", state, minutes=minutes, failed_attention_checks=failed, judgments=3)
    assert found == advice
