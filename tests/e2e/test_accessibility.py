"""axe-core finds nothing serious on any page a rater meets, light or dark, wide or narrow."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotation.listening import checks, coverage
from annotation.studies import studies as study_service
from tests import presets
from tests.e2e import studies
from tests.factories import member

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

AXE = Path(__file__).resolve().parents[2] / "node_modules" / "axe-core" / "axe.min.js"
# What axe would tell of all that is well is half its work.
EVERYTHING = {"resultTypes": ["violations"]}
# Axe leaves contrast beyond what WCAG's AA asks for aside, unless asked for all rules about colours.
COLOURS = {**EVERYTHING, "runOnly": ["cat.color"], "rules": {"color-contrast-enhanced": {"enabled": False}}}
RUN = """async (options) => (await axe.run(options)).violations
    .filter(({impact}) => ["serious", "critical"].includes(impact))
    .flatMap(({id, nodes}) => nodes.map(({target, failureSummary}) => `${id} ${target}: ${failureSummary}`))"""
SIDEWAYS = "document.documentElement.scrollWidth > document.documentElement.clientWidth"


def check(page, schemes: tuple[str, ...] = ("light", "dark")) -> None:
    """Look at the page light and dark, at rest. Nothing but colours can differ between the two."""
    if page.evaluate("!globalThis.axe"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    for scheme in schemes:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        rules = EVERYTHING if scheme == "light" else COLOURS
        assert (scheme, page.evaluate(RUN, rules)) == (scheme, [])
        assert not page.evaluate(SIDEWAYS), "the page scrolls sideways"


def check_widths(page, *, wide: int = 1280) -> None:
    """Look at the page on a wide screen, then on the narrow one that it is used on. No colour depends on the width
    (tests/labeling_ui/test_static.py), so that the dark ones are looked at once."""
    for width, schemes in ((wide, ("light", "dark")), (390, ("light",))):
        page.set_viewport_size({"width": width, "height": 844})
        check(page, schemes)


def test_sign_in_and_the_page_for_nothing_found(looked_at):
    looked_at.goto("/sign-in/")
    looked_at.get_by_role("main").get_by_role("button", name="Sign in").click()
    check_widths(looked_at)
    looked_at.goto("/nothing/here/")
    check_widths(looked_at)


def test_a_comparison_from_home_to_the_end(looked_at, signed_in):
    study = studies.comparison_study(tasks=1)
    signed_in(member(study))
    looked_at.goto("/")
    check_widths(looked_at)
    looked_at.goto(f"/studies/{study.slug}/guidelines/")
    check_widths(looked_at)
    studies.open_work(looked_at, study)
    check_widths(looked_at)
    studies.submit(looked_at)  # with everything missing marked
    check_widths(looked_at)
    looked_at.get_by_role("button", name="Skip…").click()
    check_widths(looked_at)
    looked_at.keyboard.press("Escape")
    studies.answer_comparison(looked_at)
    check_widths(looked_at)
    studies.finish(looked_at)
    check_widths(looked_at)


def test_a_comparison_that_must_be_heard_first_and_a_break(looked_at, begin):
    study = studies.comparison_study(tasks=1)
    type(study).objects.update(rules={})
    begin(study)
    assert "Read the instruction first" in looked_at.locator("[data-part=listen-line]").inner_text()
    check_widths(looked_at)
    hours_ago = "JSON.stringify({began: Date.now() - 3 * 3600e3, last: Date.now(), prompted: 0})"
    looked_at.evaluate(f"localStorage.setItem('concord.work', {hours_ago})")
    looked_at.reload()
    looked_at.get_by_role("heading", name="That is enough listening for now").wait_for()
    check_widths(looked_at)


def test_a_rating(looked_at, begin):
    begin(studies.rating_study(tasks=1))
    looked_at.get_by_label("Almost correct").check(force=True)
    check_widths(looked_at)


def test_what_came_back_from_an_expert(looked_at, signed_in):
    study = studies.rating_study(tasks=1)
    user = member(study)
    studies.returned_answer(study, user)
    signed_in(user)
    looked_at.goto("/")
    check_widths(looked_at)
    looked_at.goto(f"/studies/{study.slug}/returned/")
    check_widths(looked_at)


@pytest.mark.parametrize("preset", ["aqeval", "relate", "musiceval", "mushra", "abx", "music-arena"])
def test_every_other_way_of_asking(looked_at, signed_in, tmp_path, preset):
    study = presets.running_study(preset, tmp_path)
    signed_in(member(study))
    looked_at.goto(f"/studies/{study.slug}/guidelines/")
    check_widths(looked_at)
    studies.open_work(looked_at, study)
    check_widths(looked_at)
    studies.submit(looked_at)  # with everything missing marked
    check_widths(looked_at)


def test_the_list_of_keys_and_spectrograms(looked_at, begin):
    study = studies.comparison_study(tasks=1)
    coverage.set_listening_rules(study, actor=None, spectrogram=True)
    begin(study)
    looked_at.get_by_role("button", name="Spectrograms").click()
    check_widths(looked_at)
    looked_at.keyboard.press("?")
    check_widths(looked_at)
    looked_at.get_by_role("button", name="Change the key for: Submit").click()
    looked_at.keyboard.press("m")  # taken
    check_widths(looked_at)


def test_a_study_that_pauses_while_somebody_works(looked_at, signed_in):
    study = studies.rating_study(tasks=1)
    signed_in(member(study))
    looked_at.goto(f"/studies/{study.slug}/work/")
    study_service.set_study_state(study, "paused", actor=None)
    looked_at.get_by_role("button", name="Start rating").click()
    looked_at.goto(f"/studies/{study.slug}/work/")
    looked_at.get_by_role("heading", name="No task right now").wait_for()
    check_widths(looked_at)


def test_the_listening_checks(looked_at, signed_in):
    study = studies.rating_study(tasks=1)
    checks.set_check_rules(study, actor=None, require=["level", "antiphase"])
    signed_in(member(study))
    looked_at.goto(f"/studies/{study.slug}/guidelines/")
    looked_at.get_by_role("button", name="Start rating").click()
    looked_at.get_by_role("heading", name="Before you start: your listening").wait_for()
    check_widths(looked_at)
    looked_at.get_by_role("button", name="Begin").click()
    looked_at.get_by_role("button", name="Play the noise").click()
    check_widths(looked_at)
    looked_at.get_by_role("button", name="The volume is comfortable").click()
    looked_at.get_by_role("heading", name="The volume is set").wait_for()
    check_widths(looked_at)
    looked_at.get_by_role("button", name="Next check").click()
    looked_at.get_by_role("button", name="Play the tones").wait_for()
    check_widths(looked_at)
