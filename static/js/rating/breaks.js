/** Breaks: between two tasks the page may suggest one, and after long work it shows no further task for a while. */
import { h } from "../page/dom.js";

/**
 * How long somebody has worked without a pause, over tasks, reloads and windows; when a break is due, and when to stop.
 * Minutes of zero mean never. The state lives in `storage`; without one it lives as long as the page.
 */
const KEY = "concord.work";
const PAUSE_MS = 5 * 60_000; // so long without a sign of work is a pause, and a new stretch begins after it
const PUT_OFF_MS = 5 * 60_000;
const STOP_MS = 10 * 60_000;

export function createWorkClock(storage, { now = Date.now } = {}) {
  let memory = null;

  function read() {
    let state = memory;
    try {
      state = JSON.parse(storage.getItem(KEY)) ?? memory;
    } catch {
      // no storage, or something else under our key
    }
    return Number.isFinite(state?.began) && state.last <= now() ? state : null; // the clock may have been set back
  }

  function write(state) {
    memory = state;
    try {
      storage.setItem(KEY, JSON.stringify(state));
    } catch {
      // full or forbidden: this page still knows
    }
    return state;
  }

  /** The stretch of work that this moment belongs to. */
  function stretch() {
    const state = read();
    if (state?.until) return state.until > now() ? state : begin();
    return state && now() - state.last <= PAUSE_MS ? state : begin();
  }

  const begin = () => ({ began: now(), last: now(), prompted: 0, ask: null, until: null });

  return {
    /** A sign of work: a key, a pointer, sound that plays. */
    touch: () => write({ ...stretch(), last: now() }),

    get seconds() {
      const { began, last } = stretch();
      return Math.round((last - began) / 1000);
    },

    /** What comes before the next task: "work", "break" (may be asked), or "stop" (none is shown until `until`). */
    due({ break_minutes: breakAfter, stop_minutes: stopAfter }) {
      const state = stretch();
      if (state.until > now()) return "stop";
      const worked = state.last - state.began;
      if (stopAfter && worked >= stopAfter * 60_000) return "stop";
      const asks = state.prompted === 0 ? breakAfter && worked >= breakAfter * 60_000 : state.ask && now() >= state.ask;
      return asks ? "break" : "work";
    },

    /** Whether the break that is due can wait: once. */
    get mayPutOff() {
      return stretch().prompted === 0;
    },
    putOff: () => write({ ...stretch(), prompted: 1, ask: now() + PUT_OFF_MS }),
    /** The break is taken; whoever comes back early is not asked again in this stretch. */
    take: () => write({ ...stretch(), prompted: 2, ask: null }),

    /** Begin to stop, or go on with a stop that a reload interrupted: the time at which work may go on. */
    stop() {
      const state = stretch();
      return (state.until > now() ? state : write({ ...state, until: now() + STOP_MS })).until;
    },
  };
}

const LISTENING_MS = 30_000; // sound that plays is work too, without a hand moving

export function createRest({ screen, language, t, isListening, clock = createWorkClock(globalThis.localStorage) }) {
  for (const type of ["pointerdown", "keydown"]) globalThis.addEventListener(type, clock.touch);
  setInterval(() => isListening() && clock.touch(), LISTENING_MS);
  clock.touch();

  /** Before a task: resolves with whether there was a rest, after which the queue should be asked again. */
  async function pass(settings) {
    const due = clock.due(settings);
    if (due === "stop") await stop();
    else if (due === "break") return suggest();
    return due === "stop";
  }

  async function suggest() {
    const minutes = Math.round(clock.seconds / 60);
    const choices = [{ value: "take", text: t("rest.take"), look: "primary" }];
    if (clock.mayPutOff) choices.push({ value: "later", text: t("rest.later") });
    const choice = await ask({ title: t("rest.title"), text: t("rest.why", { minutes }), choices });
    if (choice === "later") {
      clock.putOff();
      return false;
    }
    clock.take();
    const back = { value: "back", text: t("rest.back"), look: "primary" };
    await ask({ title: t("rest.taken"), text: t("rest.waits"), choices: [back] });
    return true;
  }

  function stop() {
    const minutes = Math.round(clock.seconds / 60);
    const until = clock.stop();
    const time = new Intl.DateTimeFormat(language, { timeStyle: "short" }).format(until);
    const choices = [{ value: "on", text: t("rest.back"), look: "primary", from: until }];
    return ask({ title: t("rest.stop"), text: t("rest.until", { minutes, time }), choices });
  }

  function ask({ title, text, choices }) {
    screen.part("rest-title").textContent = title;
    screen.part("rest-text").textContent = text;
    return new Promise((resolve) => {
      const buttons = choices.map((choice) => buttonFor(choice, resolve));
      screen.part("rest-choices").replaceChildren(...buttons);
      screen.show("resting");
      screen.part("rest-title").focus();
    });
  }

  function buttonFor({ value, text, look = "", from = 0 }, resolve) {
    const button = h("button", { type: "button", class: `button ${look}`, onclick: () => resolve(value) }, text);
    button.disabled = from > Date.now();
    if (button.disabled) {
      const timer = setInterval(() => {
        if (from > Date.now()) return;
        clearInterval(timer);
        button.disabled = false;
        screen.announce(t("rest.over"));
      }, 1000);
    }
    return button;
  }

  return {
    pass,
    get seconds() {
      return clock.seconds;
    },
  };
}
