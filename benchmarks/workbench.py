"""A rater's browser against the production server: how soon the next task and its sound are there, how much memory.

    python -m benchmarks.workbench [--chromium /usr/bin/chromium] [--tasks 200] [--port 8198]

Real Chromium, driven by keys only; server, PostgreSQL and browser share the machine. "Sound" is what leaves the page's
audio graph, polled every 2 ms.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psutil

from benchmarks import harness

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
TEN_MBIT = 10_000_000 / 8
# Listens to what goes to the loudspeakers, and notes when keys are pressed and when the next task stands there.
PROBE = """
const connect = AudioNode.prototype.connect;
AudioNode.prototype.connect = function (target, ...rest) {
  if (target instanceof AudioDestinationNode && this.context instanceof AudioContext && !window.probe) {
    const tap = (window.probe = new AnalyserNode(this.context, { fftSize: 256 }));
    connect.call(this, tap);
    const samples = new Float32Array(256);
    setInterval(() => {
      tap.getFloatTimeDomainData(samples);
      const loud = samples.some((value) => Math.abs(value) > 1e-3);
      if (loud && !window.sounding) window.soundAt = performance.now();
      window.sounding = loud;
    }, 2);
  }
  return connect.call(this, target, ...rest);
};
addEventListener("keydown", (event) => (window.keyAt = performance.now()), true);
addEventListener("DOMContentLoaded", () => {
  new MutationObserver(() => {
    const prompt = document.querySelector(".given .headline")?.textContent;
    if (prompt && prompt !== window.prompt) {
      window.prompt = prompt;
      window.shownAt = performance.now();
    }
  }).observe(document.body, { childList: true, subtree: true });
});
"""


def main() -> None:
    chromium = os.environ.get("CONCORD_CHROMIUM", "/usr/bin/chromium")
    arguments = harness.options(__doc__, chromium=chromium, tasks=200, port=8198)
    home = harness.scratch_installation(static=True)
    from benchmarks.inputs import listening_study

    clips = listening_study.make_clips(home / "wav", n=8, seconds=30)
    songs = listening_study.make_clips(home / "songs", n=4, seconds=300)
    listening_study.make_study("clips", clips, n_tasks=arguments.tasks + 60)
    listening_study.make_study("songs", songs, n_tasks=12)
    with harness.web_server(arguments.port, log=home / "web.log"):
        measured = measure(arguments)
    figures, targets = report(measured)
    harness.finish("the next task and its sound are there at once, and the tab stays small", figures, targets)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    with work(arguments, "clips") as page:
        at_once = [go_on(page, dwell=1.0) for _ in range(20)]
    with work(arguments, "clips", bytes_per_second=TEN_MBIT) as page:
        cold = first_sound(page)
        throttled = [go_on(page, dwell=10.0) for _ in range(6)]
    with work(arguments, "clips") as page:
        first = memory_mb()
        for _ in range(arguments.tasks):
            go_on(page, dwell=0.0)
        clips_mb = memory_mb()
    with work(arguments, "songs") as page:
        for _ in range(8):
            walk_through_song(page)
            go_on(page, dwell=0.5)
        songs_mb = memory_mb()
    return {
        "at_once": at_once,
        "cold": cold,
        "throttled": throttled,
        "memory": {"start": first, "clips": clips_mb, "songs": songs_mb},
    }


@contextmanager
def work(arguments: argparse.Namespace, slug: str, *, bytes_per_second: float | None = None) -> Iterator[Any]:
    """The workbench of a study, open at the first task, as a new rater."""
    from playwright.sync_api import sync_playwright

    from annotation.models import Study
    from benchmarks import study_rows

    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    study = Study.objects.get(slug=slug)
    cookies = study_rows.make_raters(study, 1, prefix=f"{slug}-{time.monotonic_ns()}")[0]
    name, _, value = cookies.partition(";")[0].partition("=")
    address = f"http://127.0.0.1:{arguments.port}"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=arguments.chromium, args=FLAGS)
        context = browser.new_context(base_url=address, viewport={"width": 1280, "height": 900})
        context.add_cookies([{"name": name, "value": value, "url": address}])
        page = context.new_page()
        page.add_init_script(PROBE)
        page.goto(f"/studies/{slug}/guidelines/")
        if bytes_per_second:
            network = {"offline": False, "latency": 20, "uploadThroughput": -1}
            session = context.new_cdp_session(page)
            session.send("Network.enable")
            session.send(
                "Network.emulateNetworkConditions", {**network, "downloadThroughput": bytes_per_second}
            )
        page.get_by_role("button", name="Start rating").click()
        page.wait_for_selector("[data-state=working]")
        yield page
        browser.close()


def first_sound(page: Any) -> float:
    """Milliseconds from the key to sound."""
    page.evaluate("() => { window.soundAt = 0; window.sounding = false; }")
    page.keyboard.press("Space")
    page.wait_for_function("() => window.soundAt > 0", polling=5)
    return float(page.evaluate("window.soundAt - window.keyAt"))


def go_on(page: Any, *, dwell: float) -> dict[str, float]:
    """Answer, submit, and play the next task as soon as it is there. Milliseconds."""
    page.wait_for_timeout(dwell * 1000)
    page.keyboard.press("a")
    before = page.evaluate("window.prompt")
    page.keyboard.press("Control+Enter")
    sent = page.evaluate("window.keyAt")
    page.wait_for_function("before => window.prompt !== before", arg=before, polling=5)
    shown = page.evaluate("window.shownAt") - sent
    return {"shown": shown, "sound": first_sound(page)}


def walk_through_song(page: Any) -> None:
    for share in ("Home", "PageUp", "PageUp", "PageUp", "End", "PageDown", "PageDown"):
        page.locator("[data-clip=a] [role=slider]").press(share)
        page.wait_for_timeout(250)
        page.keyboard.press("s")


def memory_mb() -> float:
    """Of the largest renderer process: what only it uses."""
    sizes = []
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # gone meanwhile
            if "--type=renderer" in " ".join(child.cmdline()):
                sizes.append(child.memory_full_info().uss)
    return round(max(sizes) / 1e6, 1)


def report(measured: dict[str, Any]) -> tuple[dict[str, Any], harness.Targets]:
    def median(runs: list[dict[str, float]], what: str) -> float:
        return round(statistics.median(run[what] for run in runs), 1)

    at_once, throttled, memory = measured["at_once"], measured["throttled"], measured["memory"]
    figures = {
        "submit_to_next_task_ms": median(at_once, "shown"),
        "key_to_sound_of_next_task_ms": median(at_once, "sound"),
        "ten_mbit_first_task_ms": round(measured["cold"], 1),
        "ten_mbit_key_to_sound_ms": [round(run["sound"], 1) for run in throttled],
        "memory_mb": memory,
    }
    worst = max(run["sound"] for run in throttled)
    return figures, {
        "submit to next task, median ms": (figures["submit_to_next_task_ms"], 100, "<="),
        "key to sound at 10 Mbit/s, worst ms": (round(worst, 1), 300, "<="),
        "tab after clips, MB": (memory["clips"], 400, "<="),
        "tab after 5-minute songs, MB": (memory["songs"], 400, "<="),
    }


if __name__ == "__main__":
    main()
