from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotation.models import Item
from scoring.metrics.registry import MetricEntry, Option, Reads
from scoring.models import ScoringRun
from scoring.policies import study_prompts
from scoring.prompts import shipped
from tests.factories import rating_task
from tests.scoring import doubles

pytestmark = pytest.mark.django_db

EVERY_KIND = MetricEntry(
    name="every-kind",
    title="Every kind of option",
    summary="Has one setting of each kind.",
    reads=Reads.SINGLE,
    opens="nowhere:nothing",
    options=(
        Option("backbone", "text", "A hub name.", required=True),
        Option("template", "texts", "Which questions.", default=["default"], choices=("default", "all")),
        Option("casings", "texts", "Any texts.", default=["Yes"]),
        Option("beams", "number", "How many.", default=4),
        Option("dtype", "choice", "How exact.", default="auto", choices=("auto", "float32")),
        Option("careful", "flag", "Look twice.", default=True),
        Option("prompts", "table", "Your own."),
    ),
)
GIVEN = {
    "option-backbone": "hub/model",
    "option-template": ["default", "all"],
    "option-casings": "Yes, YES",
    "option-beams": "2",
    "option-dtype": "float32",
}
PROMPTS = b'[questions.default]\nplain = "Does it match {caption}?"\n'
OWN_FILE = b'source = "me"\n[questions.text]\nmine = "Is {text} to be heard?"\n'


@pytest.fixture(autouse=True)
def entry(monkeypatch):
    return doubles.register(monkeypatch, EVERY_KIND)


def address(metric: str = "every-kind") -> str:
    return reverse("new_run", args=["s"], query={"metric": metric})


def toml(content: bytes) -> SimpleUploadedFile:
    return SimpleUploadedFile("mine.toml", content)


def ask(client, **changes):
    return client.post(address(), {**GIVEN, **changes})


def test_first_a_scorer_is_chosen(signed_in, study):
    shown = signed_in.get(reverse("new_run", args=["s"])).text
    assert "Every kind of option" in shown
    assert 'href="?metric=every-kind"' in shown


@pytest.mark.parametrize("metric", ["", "no-such"])
def test_an_unknown_scorer_leads_to_the_choice(signed_in, study, metric):
    assert signed_in.get(address(metric)).context["entry"] is None


def test_settings_begin_with_their_defaults_and_are_explained(signed_in, study):
    answer = signed_in.get(address())
    for option in EVERY_KIND.options:
        assert option.help in answer.text
    assert {option.name: field.value() for option, field, _ in answer.context["options"].rows} == {
        "backbone": None, "template": ["default"], "casings": "Yes", "beams": 4,
        "dtype": "auto", "careful": True, "prompts": None,
    }  # fmt: skip


def test_the_questions_that_can_be_asked_by_name_are_listed(signed_in, study):
    shown = signed_in.get(address("aqascore")).text
    for text in shipped("aqascore").questions["text"].values():
        assert text in shown


def test_what_was_given_is_asked_for_as_the_registry_takes_it(signed_in, study, researcher):
    answer = ask(signed_in, **{"option-prompts": toml(PROMPTS)})
    run = ScoringRun.objects.get()
    assert answer.url == reverse("scoring_run", args=[run.pk])
    assert (run.metric, run.created_by, run.again, run.filter) == ("every-kind", researcher, False, {})
    assert run.options == {
        "backbone": "hub/model",
        "template": ["default", "all"],
        "casings": ["Yes", "YES"],
        "beams": 2,
        "dtype": "float32",
        "careful": False,
        "prompts": {"questions": {"default": {"plain": "Does it match {caption}?"}}},
    }


OWN = {"source": "me", "questions": {"text": {"mine": "Is {text} to be heard?"}}}


def test_a_studys_own_questions_can_be_asked_by_name(signed_in, study):
    study_prompts.set_prompts(study, "aqascore", OWN, actor=None)
    given = {"option-backbone": "hub/m", "option-template": "mine"}
    given |= {"option-dtype": "auto", "option-answers": "exact"}
    signed_in.post(address("aqascore"), given)
    assert ScoringRun.objects.get().options["template"] == ["mine"]


def test_what_the_service_refuses_stands_beside_its_field_and_nothing_is_lost(signed_in, study):
    given = {"option-backbone": "hub/m", "option-template": "nosuch", "scope-again": "on"}
    given |= {"option-dtype": "auto", "option-answers": "exact", "option-prompts": toml(OWN_FILE)}
    answer = signed_in.post(address("aqascore"), given)
    assert "nosuch" in str(answer.context["options"].errors["template"])
    assert list(answer.context["options"].errors) == ["template"]
    shown = answer.text
    for kept in ('value="hub/m"', 'value="nosuch"', "The file you chose before is kept."):
        assert kept in shown
    assert answer.context["scope"]["again"].value()
    assert not ScoringRun.objects.exists()


def test_a_kept_file_that_was_tampered_with_is_refused_beside_its_field(signed_in, study):
    answer = ask(signed_in, **{"option-prompts_kept": "[questions"})
    assert "This is no TOML" in str(answer.context["options"].errors["prompts"])


def test_systems_strata_and_scoring_again_are_passed_on(signed_in, study):
    rating_task(study, "one", system="model-x")
    Item.objects.update(strata={"genre": "jazz", "length": "short"})
    chosen = {"scope-systems": ["model-x"], "scope-strata": ["genre=jazz"], "scope-again": "on"}
    ask(signed_in, **chosen)
    run = ScoringRun.objects.get()
    assert (run.filter, run.again) == ({"systems": ["model-x"], "strata": {"genre": ["jazz"]}}, True)


def test_new_items_can_be_scored_the_same_way_from_then_on(signed_in, study):
    ask(signed_in, **{"scope-prescore": "on"})
    study.refresh_from_db()
    (kept,) = study.rules["prescore"]
    assert (kept["metric"], kept["options"]["backbone"]) == ("every-kind", "hub/model")


def test_a_run_that_is_refused_leaves_new_items_as_they_were(signed_in, study):
    given = {"option-backbone": "hub/m", "option-template": "nosuch", "scope-prescore": "on"}
    signed_in.post(address("aqascore"), given | {"option-dtype": "auto", "option-answers": "exact"})
    study.refresh_from_db()
    assert "prescore" not in study.rules


def test_what_is_wanted_of_new_items_is_kept_when_the_same_run_is_under_way(signed_in, study):
    ask(signed_in)
    answer = ask(signed_in, **{"scope-prescore": "on"})
    assert answer.url == reverse("models", args=["s"])
    shown = signed_in.get(answer.url).text
    assert "does the same and has not finished" in shown
    assert "New items are scored with these settings from now on." in shown
    study.refresh_from_db()
    assert [each["metric"] for each in study.rules["prescore"]] == ["every-kind"]
    assert ScoringRun.objects.count() == 1


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("backbone", "", "required"),
        ("beams", "many", "whole number"),
        ("dtype", "int4", "int4"),
        ("template", ["nosuch"], "nosuch"),
    ],
)
def test_a_bad_setting_is_named_where_it_stands_and_starts_nothing(signed_in, study, field, value, says):
    answer = ask(signed_in, **{f"option-{field}": value})
    assert says in str(answer.context["options"].errors[field])
    assert not ScoringRun.objects.exists()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"[questions", "This is no TOML"),
        (b'source = "me"', "questions: missing"),
        (b'[questions.default]\nplain = ""', "questions.default.plain: is empty"),
        (b"\xff\xfe\x00", "UTF-8"),
        (b"#" * 200_001, "200 kB"),
    ],
)
def test_a_bad_prompt_file_is_refused_with_the_place(signed_in, study, content, says):
    answer = ask(signed_in, **{"option-prompts": toml(content)})
    assert says in str(answer.context["options"].errors["prompts"])
    assert not ScoringRun.objects.exists()


def test_nothing_is_lost_on_an_error_not_even_the_chosen_file(signed_in, study):
    answer = ask(signed_in, **{"option-beams": "many", "option-prompts": toml(PROMPTS)})
    shown = answer.text
    assert 'value="hub/model"' in shown
    assert "The file you chose before is kept." in shown
    assert 'name="option-prompts_kept"' in shown
    kept = answer.context["options"]["prompts_kept"].value()
    ask(signed_in, **{"option-prompts_kept": kept})
    assert ScoringRun.objects.get().options["prompts"]["questions"]


def test_a_bad_file_is_not_kept(signed_in, study):
    answer = ask(signed_in, **{"option-prompts": toml(b"[questions")})
    assert "is kept" not in answer.text


def test_the_same_run_twice_is_refused_above_the_form(signed_in, study):
    ask(signed_in)
    answer = ask(signed_in)
    assert "does the same and has not finished" in answer.text
    assert ScoringRun.objects.count() == 1


def test_that_the_same_run_is_under_way_is_said_in_chinese_too(signed_in, study):
    ask(signed_in)
    run = ScoringRun.objects.get()
    signed_in.post(reverse("set_language"), {"language": "zh-hans"})
    assert f"本研究的第 {run.pk} 次运行" in ask(signed_in).text
