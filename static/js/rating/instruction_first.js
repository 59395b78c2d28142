/** The instruction comes first: the players stay locked until it has been on screen for the study's seconds. */
import { h } from "../page/dom.js";
import { createReading } from "./listening_needs.js";

const TICK_MS = 200;

/** `given` holds the instruction and then the players. Returns the sentence that says why they wait, empty if not. */
export function holdUntilRead({ seconds, player, given, t, announce, page = globalThis.document }) {
  const players = given.querySelector(".players");
  if (!seconds || !players) return { sentence: "", dispose() {} };
  const reading = createReading(seconds);
  const countdown = h("p", { class: "hold small", "aria-hidden": "true" });
  const sentence = t("hold.wait", { seconds: Math.ceil(seconds) });
  let onScreen = true;
  let before = performance.now();

  const observer = new IntersectionObserver((entries) => (onScreen = entries.at(-1).isIntersecting));
  observer.observe(given.querySelector(".given-text") ?? given);
  player.locked = true;
  players.classList.add("held");
  players.append(countdown);
  const timer = setInterval(pass, TICK_MS);
  show();

  function pass() {
    const now = performance.now();
    // A timer that came late says nothing about what was on screen meanwhile.
    const elapsed = Math.min(now - before, 2 * TICK_MS) / 1000;
    before = now;
    if (reading.pass(elapsed, onScreen && page.visibilityState === "visible") > 0) return show();
    dispose();
    player.locked = false;
    announce(t("hold.over"));
  }

  function show() {
    const text = t("hold.wait", { seconds: Math.ceil(reading.left) });
    if (countdown.textContent !== text) countdown.textContent = text;
  }

  function dispose() {
    clearInterval(timer);
    observer.disconnect();
    countdown.remove();
    players.classList.remove("held");
  }

  return { sentence, dispose };
}
