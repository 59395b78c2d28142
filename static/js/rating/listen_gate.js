/** Listen before the vote: a meter under each clip, what is left by the submit button, and no vote before that. */
import { h } from "../page/dom.js";

/**
 * `given` holds the clips' rows, `line` the words by the submit button. `refusal()` says why a vote cannot be sent, and
 * focuses what would mend it; null when enough was heard. `onMended` follows once what was refused may be sent.
 */
export function createListenGate({ assignment, player, given, line, language, t, announce, onMended }) {
  const needs = needsOf(assignment);
  const rowOf = (name) => given.querySelector(`[data-clip="${name}"]`);
  const called = ({ label, field }) => label ?? t(`content.${field}`);
  const meterOf = (clip) => createMeter({ title: t("listen.meter_of", { clip: called(clip) }), t });
  const meters = new Map(needs.clips.map((clip) => [clip.name, meterOf(clip)]));
  const done = new Set();
  let refused = false;

  for (const [name, { element }] of meters) rowOf(name)?.append(element);
  for (const type of ["heard", "change"]) player.addEventListener(type, show);
  line.hidden = needs.clips.length === 0 && needs.switches === 0;
  show();

  function now() {
    return standing(needs, { heardSeconds: player.heardSeconds, switches: player.switches });
  }

  function show() {
    const state = now();
    for (const clip of state.clips) {
      meters.get(clip.name).show(clip);
      if (clip.enough && !done.has(clip.name)) {
        done.add(clip.name);
        announce(t("listen.enough_of", { clip: called(clip) }));
      }
    }
    const text = state.enough ? t("listen.enough") : sentence(state);
    if (line.textContent !== text) line.textContent = text;
    line.classList.toggle("done", state.enough);
    if (state.enough && refused) onMended();
    if (state.enough) refused = false;
  }

  /** In words, also which clip by which amount; empty when a vote may be sent. */
  function sentence(state = now()) {
    const left = state.clips.filter(({ enough }) => !enough);
    const what = left.map((clip) => t("listen.seconds_of", { seconds: secondsLeft(clip), clip: called(clip) }));
    const parts = [];
    if (what.length) parts.push(t("listen.left", { what: new Intl.ListFormat(language).format(what) }));
    if (state.switchesLeft === 1) parts.push(t("listen.switch_once"));
    else if (state.switchesLeft) parts.push(t("listen.switch_more", { count: state.switchesLeft }));
    return parts.join(" ");
  }

  /** The words stand by the button already; whoever cannot see them hears them. */
  function point() {
    announce(sentence());
    const missing = now().clips.find(({ enough }) => !enough);
    (missing ? rowOf(missing.name)?.querySelector("button") : given.querySelector(".switch"))?.focus();
  }

  function refusal() {
    refused = !now().enough;
    if (!refused) return null;
    return { text: t("listen.refused"), focus: point };
  }

  return { refusal };
}

/** One line that keeps its height: a bar and words, then a tick. */
function createMeter({ title, t }) {
  const bar = h("progress", { max: "1", value: "0", "aria-label": title });
  const words = h("span", { class: "number" });
  const element = h("div", { class: "listen-meter small soft" }, bar, words);
  return {
    element,
    show({ heard, wanted, enough }) {
      bar.value = enough ? 1 : heard / wanted;
      element.classList.toggle("done", enough);
      const text = enough ? t("listen.meter_done") : t("listen.meter", meter({ heard, wanted }));
      if (words.textContent !== text) words.textContent = text;
    },
  };
}

/** The instruction comes first: the players stay locked until it has been on screen for the study's seconds. */
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

/** What a task still wants heard before a vote: plain values in, plain values out. The server adds up the same way. */
// The end of a clip and the rounding of its log; the server forgives as much and a little more.
const TOLERANCE_S = 0.05;

/**
 * From a briefing: the clips that must be heard, in the order shown, and how often to switch.
 * `label` is the letter of a candidate, null for one of the item's own clips, which `field` names.
 */
export function needsOf({ content, candidates, listening }) {
  const own = content.map(({ field, clip }) => ({ clip, field, label: null }));
  const judged = candidates.map(({ label, clip }) => ({ clip, field: null, label }));
  return {
    clips: [...own, ...judged]
      .filter(({ clip }) => clip && clip.must_hear > 0)
      .map(({ clip, field, label }) => ({ name: clip.name, field, label, wanted: clip.must_hear })),
    switches: listening?.min_switches ?? 0,
  };
}

/** Where a rater stands: `heardSeconds(name)` and `switches` as the player has them. */
export function standing(needs, { heardSeconds, switches }) {
  const clips = needs.clips.map((clip) => {
    const heard = Math.min(heardSeconds(clip.name), clip.wanted);
    return { ...clip, heard, enough: heard + TOLERANCE_S >= clip.wanted };
  });
  const switchesLeft = Math.max(0, needs.switches - switches);
  return { clips, switchesLeft, enough: switchesLeft === 0 && clips.every(({ enough }) => enough) };
}

/** Seconds as a meter shows them: whole where there are many, tenths where there are few; never more than was heard. */
export function meter({ heard, wanted }) {
  const scale = wanted < 5 ? 10 : 1;
  return { heard: Math.floor(heard * scale + 1e-6) / scale, wanted: Math.ceil(wanted * scale - 1e-6) / scale };
}

/** What is left of a clip, in whole seconds; at least one while anything is. */
export const secondsLeft = ({ heard, wanted }) => Math.max(1, Math.ceil(wanted - heard - 1e-6));

/** Counts down `seconds` of reading; only time in which the instruction could be seen counts. */
export function createReading(seconds) {
  let left = seconds;
  return {
    pass(elapsed, visible) {
      if (visible) left = Math.max(0, left - elapsed);
      return left;
    },
    get left() {
      return left;
    },
  };
}
