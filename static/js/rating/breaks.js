/** Breaks: between two tasks the page may suggest one, and after long work it shows no further task for a while. */
import { h } from "../page/dom.js";
import { safeStorage } from "../page/storage.js";
import { translate } from "../page/texts.js";

const STORAGE_KEY = "concord.work";
const IDLE_MS = 5 * 60_000; // so long without activity is a break, and a new work period begins after it
const POSTPONE_MS = 5 * 60_000;
const STOP_MS = 10 * 60_000;
const PLAYBACK_POLL_MS = 30_000; // playback is activity too, without a hand moving

export function createBreaks({ screen, language, isPlaying, clock = createWorkClock(globalThis.localStorage) }) {
  for (const type of ["pointerdown", "keydown"]) globalThis.addEventListener(type, clock.recordActivity);
  setInterval(() => isPlaying() && clock.recordActivity(), PLAYBACK_POLL_MS);
  clock.recordActivity();

  /** Before a task: resolves with whether there was a break, after which the queue should be asked again. */
  async function beforeTask(listeningRules) {
    const due = clock.due(listeningRules);
    if (due === "stop") await stop();
    else if (due === "break") return suggest();
    return due === "stop";
  }

  async function suggest() {
    const minutes = Math.round(clock.seconds / 60);
    const choices = [{ value: "take", text: translate("Take a break"), look: "primary" }];
    if (clock.mayPostpone) choices.push({ value: "later", text: translate("In five minutes") });
    const choice = await show({ title: translate("Time for a break?"), text: translate("You have been listening for {minutes} minutes without a break. Ears tire before you notice. A few minutes of silence help.", { minutes }), choices });
    if (choice === "later") {
      clock.postpone();
      return false;
    }
    clock.take();
    const back = { value: "back", text: translate("Go on"), look: "primary" };
    await show({ title: translate("Enjoy your break"), text: translate("Everything is stored. Come back when your ears are fresh."), choices: [back] });
    return true;
  }

  function stop() {
    const minutes = Math.round(clock.seconds / 60);
    const until = clock.stop();
    const time = new Intl.DateTimeFormat(language, { timeStyle: "short" }).format(until);
    const choices = [{ value: "on", text: translate("Go on"), look: "primary", from: until }];
    return show({ title: translate("That is enough listening for now"), text: translate("You have worked for {minutes} minutes without a pause, and tired ears judge differently. Everything is stored; there are more tasks from {time}.", { minutes, time }), choices });
  }

  /** Resolves with the value of the choice. */
  function show({ title, text, choices }) {
    screen.part("rest-title").textContent = title;
    screen.part("rest-text").textContent = text;
    return new Promise((resolve) => {
      const buttons = choices.map((choice) => choiceButton(choice, resolve));
      screen.part("rest-choices").replaceChildren(...buttons);
      screen.show("resting");
      screen.part("rest-title").focus();
    });
  }

  function choiceButton({ value, text, look = "", from = 0 }, resolve) {
    const button = h("button", { type: "button", class: `button ${look}`, onclick: () => resolve(value) }, text);
    button.disabled = from > Date.now();
    if (button.disabled) {
      const timer = setInterval(() => {
        if (from > Date.now()) return;
        clearInterval(timer);
        button.disabled = false;
        screen.announce(translate("You can go on now."));
      }, 1000);
    }
    return button;
  }

  return {
    beforeTask,
    get seconds() {
      return clock.seconds;
    },
  };
}

/**
 * Work clock: how long a rater has worked without a break, over tasks, reloads and windows; when a break is due, and when
 * to stop. Minutes of zero mean never. Its state is stored in the browser, else it lasts as long as the page.
 */
export function createWorkClock(localStorage, { now = Date.now } = {}) {
  const storage = safeStorage(localStorage);
  let memory = null;

  function read() {
    const state = storage.getJson(STORAGE_KEY) ?? memory;
    return Number.isFinite(state?.began) && state.last <= now() ? state : null; // the clock may have been set back
  }

  function write(state) {
    memory = state;
    storage.setJson(STORAGE_KEY, state);
    return state;
  }

  const newPeriod = () => ({ began: now(), last: now(), prompted: 0, ask: null, until: null });

  /** The work period that this moment belongs to. */
  function period() {
    const state = read();
    if (state?.until) return state.until > now() ? state : newPeriod();
    return state && now() - state.last <= IDLE_MS ? state : newPeriod();
  }

  return {
    /** Activity is a key, a pointer, or playback. */
    recordActivity: () => write({ ...period(), last: now() }),

    get seconds() {
      const { began, last } = period();
      return Math.round((last - began) / 1000);
    },

    /** What comes before the next task: "work", "break" (suggest one), or "stop" (show none until `until`). */
    due({ break_minutes: breakAfter, stop_minutes: stopAfter }) {
      const state = period();
      if (state.until > now()) return "stop";
      const worked = state.last - state.began;
      if (stopAfter && worked >= stopAfter * 60_000) return "stop";
      const isBreakDue = state.prompted === 0 ? breakAfter && worked >= breakAfter * 60_000 : state.ask && now() >= state.ask;
      return isBreakDue ? "break" : "work";
    },

    /** A break can be postponed once. */
    get mayPostpone() {
      return period().prompted === 0;
    },
    postpone: () => write({ ...period(), prompted: 1, ask: now() + POSTPONE_MS }),
    /** The break is taken; a rater who comes back early gets no second suggestion in this period. */
    take: () => write({ ...period(), prompted: 2, ask: null }),

    /** Start the stop, or continue one that a reload interrupted: the time at which work may go on. */
    stop() {
      const state = period();
      return (state.until > now() ? state : write({ ...state, until: now() + STOP_MS })).until;
    },
  };
}
