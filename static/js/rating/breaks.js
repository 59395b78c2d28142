/** Breaks: between two tasks the page may suggest one, and after long work it shows no further task for a while. */
import { createWorkClock } from "./work_clock.js";
import { h } from "../page/dom.js";

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
