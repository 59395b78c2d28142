/**
 * Listening requirements before a vote: the instruction hold (players locked until the instruction was on screen), and the
 * listening gate (a meter under each clip, what is left by the submit button, and no vote before the coverage suffices).
 * The server checks the coverage by the same rules.
 */
import { h } from "../page/dom.js";
import { lengthSeconds, passedSeconds, sentenceCase, translate } from "../page/texts.js";
import { CONTENT_TITLES, clipName } from "./task_content.js";

/**
 * Listening gate. `container` holds the clips' rows, `line` the text by the submit button. `refusal()` says why a vote
 * cannot be sent, {text, focus}; null when enough was heard. `onFulfilled` follows once a refused vote can be sent.
 */
export function createListenGate({ assignment, player, container, line, language, announce, onFulfilled }) {
  const requirements = requirementsOf(assignment);
  const rowOf = (name) => container.querySelector(`[data-clip="${name}"]`);
  const titleOf = ({ label, field }) => (label ? clipName(label, assignment.candidates) : CONTENT_TITLES[field]);
  const meterOf = (clip) => createMeter({ title: translate("Heard of {clip}", { clip: titleOf(clip) }) });
  const meters = new Map(requirements.clips.map((clip) => [clip.name, meterOf(clip)]));
  const announced = new Set();
  const needsListening = requirements.clips.length > 0 || requirements.switches > 0;
  let wasRefused = false;
  let waiting = ""; // why nothing can be played yet

  for (const [name, { element }] of meters) rowOf(name)?.append(element);
  for (const type of ["heard", "change"]) player.addEventListener(type, show);
  show();

  function currentCoverage() {
    return coverage(requirements, { heardSeconds: player.heardSeconds, switches: player.switches });
  }

  function show() {
    const state = currentCoverage();
    for (const clip of state.clips) {
      meters.get(clip.name).show(clip);
      if (clip.isEnough && !announced.has(clip.name)) {
        announced.add(clip.name);
        announce(sentenceCase(translate("{clip}: heard enough.", { clip: titleOf(clip) })));
      }
    }
    const text = waiting || (state.isEnough ? translate("You have heard enough to decide.") : remainingText(state));
    line.hidden = !waiting && !needsListening;
    if (line.textContent !== text) line.textContent = text;
    line.classList.toggle("done", state.isEnough && !waiting);
    if (state.isEnough && wasRefused) onFulfilled();
    if (state.isEnough) wasRefused = false;
  }

  /** Which clips by how many seconds, and how many switches; empty when a vote may be sent. */
  function remainingText(state = currentCoverage()) {
    const clips = state.clips.filter(({ isEnough }) => !isEnough);
    const seconds = clips.map((clip) => translate("{seconds} s more of {clip}", { seconds: secondsLeft(clip), clip: titleOf(clip) }));
    const parts = [];
    if (seconds.length) parts.push(translate("Listen to {what}.", { what: new Intl.ListFormat(language).format(seconds) }));
    if (state.switchesLeft === 1) parts.push(translate("Switch between the pieces at least once."));
    else if (state.switchesLeft) parts.push(translate("Switch between the pieces {count} more times.", { count: state.switchesLeft }));
    return parts.join(" ");
  }

  /** Focus what is left to hear. The text stands by the button already; a screen reader announces it. */
  function focusMissing() {
    announce(remainingText());
    const missing = currentCoverage().clips.find(({ isEnough }) => !isEnough);
    (missing ? rowOf(missing.name)?.querySelector("button") : container.querySelector(".switch"))?.focus();
  }

  function refusal() {
    wasRefused = !currentCoverage().isEnough;
    if (!wasRefused) return null;
    return { text: translate("Please listen before you decide."), focus: focusMissing };
  }

  /** Say by the submit button why nothing can be played yet; an empty text when it can. */
  function showWaiting(text) {
    waiting = text;
    show();
  }

  return { refusal, showWaiting };
}

/** One line that keeps its height: a bar and words, then a tick. */
function createMeter({ title }) {
  const bar = h("progress", { max: "1", value: "0", "aria-label": title });
  const words = h("span", { class: "number" });
  const element = h("div", { class: "listen-meter small soft" }, bar, words);
  return {
    element,
    show({ heard, required, isEnough }) {
      bar.value = isEnough ? 1 : heard / required;
      element.classList.toggle("done", isEnough);
      const shown = meterSeconds({ heard, required });
      const text = isEnough ? translate("heard enough") : translate("heard {heard} of {wanted} s", { heard: shown.heard, wanted: shown.required });
      if (words.textContent !== text) words.textContent = text;
    },
  };
}

// ── Coverage: plain values in, plain values out ─────────────────────────────

// The end of a clip and the rounding of its log; the server forgives as much and a little more.
const TOLERANCE_S = 0.05;

/**
 * From a briefing: the clips that must be heard, in the order shown, and the number of switches required. `label` is the
 * letter of a candidate, null for one of the item's own clips, which `field` names.
 */
export function requirementsOf({ content, candidates, listening }) {
  const contentClips = content.map(({ field, clip }) => ({ clip, field, label: null }));
  const candidateClips = candidates.map(({ label, clip }) => ({ clip, field: null, label }));
  return {
    clips: [...contentClips, ...candidateClips]
      .filter(({ clip }) => clip && clip.must_hear > 0)
      .map(({ clip, field, label }) => ({ name: clip.name, field, label, required: clip.must_hear })),
    switches: listening?.min_switches ?? 0,
  };
}

/** Coverage of the requirements; `heardSeconds(name)` and `switches` as the player has them. */
export function coverage(requirements, { heardSeconds, switches }) {
  const clips = requirements.clips.map((clip) => {
    const heard = Math.min(heardSeconds(clip.name), clip.required);
    return { ...clip, heard, isEnough: heard + TOLERANCE_S >= clip.required };
  });
  const switchesLeft = Math.max(0, requirements.switches - switches);
  return { clips, switchesLeft, isEnough: switchesLeft === 0 && clips.every(({ isEnough }) => isEnough) };
}

/** Seconds as a meter shows them, rounded as the players round theirs. */
export function meterSeconds({ heard, required }) {
  return { heard: Math.min(passedSeconds(heard, required), lengthSeconds(required)), required: lengthSeconds(required) };
}

/** What is left of a clip, by what its meter shows; at least one while anything is. */
export function secondsLeft(clip) {
  const shown = meterSeconds(clip);
  return Math.max(1, shown.required - shown.heard);
}

// ── Instruction hold ────────────────────────────────────────────────────────

const TICK_MS = 200;

/**
 * `container` holds the instruction and then the players. Returns the sentence that says why they wait, empty if not. Once
 * the instruction has come into view the time runs while the page is visible, wherever the rater scrolls. `onWaiting(text)`
 * shows what is waited for, by the submit button, where every window has it in view.
 */
export function holdUntilRead({ seconds, player, container, announce, onWaiting = () => {}, page = globalThis.document }) {
  const players = container.querySelector(".players");
  if (!seconds || !players) return { sentence: "", dispose() {} };
  const reading = createReadingTimer(seconds);
  const countdown = h("p", { class: "hold small", "aria-hidden": "true" });
  const sentence = translate("Read the instruction first: you can play the clips in {seconds} s.", { seconds: Math.ceil(seconds) });
  let wasSeen = false;
  let lastTick = performance.now();

  const observer = new IntersectionObserver((entries) => (wasSeen ||= entries.some(({ isIntersecting }) => isIntersecting)));
  observer.observe(container.querySelector(".given-text") ?? container);
  player.locked = true;
  players.classList.add("held");
  players.append(countdown);
  const timer = setInterval(tick, TICK_MS);
  show();

  function tick() {
    const now = performance.now();
    // A timer that came late says nothing about what was on screen meanwhile.
    const elapsed = Math.min(now - lastTick, 2 * TICK_MS) / 1000;
    lastTick = now;
    if (reading.pass(elapsed, wasSeen && page.visibilityState === "visible") > 0) return show();
    dispose();
    player.locked = false;
    announce(translate("You can play the clips now."));
  }

  function show() {
    const text = translate("Read the instruction first: you can play the clips in {seconds} s.", { seconds: Math.ceil(reading.left) });
    if (countdown.textContent === text) return;
    countdown.textContent = text;
    onWaiting(text);
  }

  function dispose() {
    clearInterval(timer);
    observer.disconnect();
    countdown.remove();
    onWaiting("");
    players.classList.remove("held");
  }

  return { sentence, dispose };
}

/** Counts down `seconds` of reading; only time in which the page was visible counts. */
export function createReadingTimer(seconds) {
  let left = seconds;
  return {
    pass(elapsed, isVisible) {
      if (isVisible) left = Math.max(0, left - elapsed);
      return left;
    },
    get left() {
      return left;
    },
  };
}
