"""Take the pictures in README and docs from a running demo, started by `./run`.

.venv/bin/python docs/screenshots.py [--address http://127.0.0.1:8000]
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

IMAGES = Path(__file__).resolve().parent / "images"
EXAMPLE = Path(__file__).resolve().parent / "examples" / "music-arena.csv"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--address", default="http://127.0.0.1:8000")
    address = parser.parse_args().address.rstrip("/")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("CONCORD_CHROMIUM", "/usr/bin/chromium"), args=FLAGS
        )
        for width, suffix in ((1440, ""), (390, "-phone")):
            page = browser.new_page(viewport={"width": width, "height": 900})
            sign_in(page, address, "annotator@demo.example")
            work(page, address, "demo-music", IMAGES / f"work-comparison{suffix}.png")
            work(page, address, "demo-audio-qa", IMAGES / f"work-rating{suffix}.png")
            page.context.clear_cookies()
            sign_in(page, address, "researcher@demo.example")
            page.goto(f"{address}/studies/demo-audio-qa/")
            page.screenshot(path=IMAGES / f"study{suffix}.png", full_page=True)
            files(page, address, IMAGES / f"files{suffix}.png")
            page.context.clear_cookies()
            sign_in(page, address, "expert@demo.example")
            desk(page, address, IMAGES / f"desk{suffix}.png")
            page.close()
        browser.close()


def sign_in(page: Page, address: str, email: str) -> None:
    page.goto(f"{address}/sign-in/")
    page.get_by_label("E-mail").fill(email)
    page.get_by_label("Password").fill("concord-demo")
    page.locator("main button").click()
    page.wait_for_url(f"{address}/")


def work(page: Page, address: str, slug: str, target: Path) -> None:
    page.goto(f"{address}/studies/{slug}/work/")
    start = page.get_by_role("link", name="Start rating").or_(page.get_by_role("button", name="Start rating"))
    page.wait_for_load_state("networkidle")
    if start.count():
        start.first.click()
    page.get_by_role("button", name="Submit").wait_for()
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(4000)  # the instruction comes first
    page.keyboard.press("Space")
    page.wait_for_timeout(2500)
    page.keyboard.press("s")
    page.wait_for_timeout(1000)
    page.screenshot(path=target)


def files(page: Page, address: str, target: Path) -> None:
    """A table that was brought, and what its columns hold."""
    page.goto(f"{address}/studies/from-files/")
    page.locator("main input[type=file]").first.set_input_files(EXAMPLE)
    page.get_by_role("button", name="Upload and preview").click()
    page.wait_for_url("**/uploads/**")
    page.wait_for_load_state("networkidle")
    page.screenshot(path=target)


def desk(page: Page, address: str, target: Path) -> None:
    """The case that the expert has, or the next one, judged and then half corrected."""
    page.goto(f"{address}/studies/demo-audio-qa/review/")
    page.locator("#review-next").click()
    page.wait_for_url("**/review-cases/**")
    page.wait_for_selector("[data-module=blind][data-state=working], [data-do=correct]")
    if page.locator("[data-module=blind]").count():
        page.keyboard.press("2")
        page.keyboard.press("Control+Enter")
    page.wait_for_selector("[data-do=correct]")
    page.wait_for_load_state("networkidle")
    page.keyboard.press("2")
    page.keyboard.press("e")
    page.keyboard.press("Control+a")
    page.keyboard.type("Five")
    page.screenshot(path=target)


if __name__ == "__main__":
    main()
