/** One trial of a listening check: a sound to play and the answers to choose from, once it was heard. */
import { createCheckPlayer } from "./check_player.js";
import { h, uniqueId } from "../page/dom.js";

/** `sound()` promises the trial's bytes; `onHeard()` follows each time it ended, `onChoice(choice)` comes once. */
export function createTrial({ kind, intervals, nChoices, sound, t, onHeard, onChoice, onFailed }) {
  const isLevel = kind === "level";
  const player = createCheckPlayer({ onInterval: light, onEnded: ended });
  const play = h("button", { type: "button", class: "button primary big check-play", onclick: toggle });
  const choices = Array.from({ length: nChoices }, (_, choice) =>
    h(
      "button",
      { type: "button", class: "button big check-choice", disabled: true, onclick: () => choose(choice) },
      t(`check.${kind}.choice.${choice}`),
    ),
  );
  const ask = h("p", { class: "check-ask", id: uniqueId("ask") }, t(`check.${kind}.ask`));
  const element = h(
    "div",
    { class: "check-trial", onkeydown: byDigit },
    play,
    ask,
    h("div", { class: "check-choices", role: "group", "aria-labelledby": ask.id }, choices),
  );
  let heard = false;

  function show() {
    play.textContent = t(player.playing ? `check.${kind}.stop` : heard ? `check.${kind}.again` : `check.${kind}.play`);
  }

  function light(interval) {
    if (!isLevel) choices.forEach((button, n) => button.classList.toggle("sounding", nChoices > 2 && n === interval));
    if (isLevel && interval !== null) ready();
    show();
  }

  function ready() {
    heard = true;
    for (const button of choices) button.disabled = false;
    play.classList.remove("primary");
    if (isLevel) choices[0].classList.add("primary");
  }

  function ended() {
    ready();
    show();
    onHeard();
  }

  /** Only while the focus is here: the page has no keys of its own. */
  function byDigit({ key, ctrlKey, metaKey, altKey }) {
    if (!ctrlKey && !metaKey && !altKey && nChoices > 1) choices[Number(key) - 1]?.click();
  }

  async function toggle() {
    if (player.playing) return player.stop();
    try {
      const started = player.play(sound(), { intervals, loop: isLevel });
      show();
      await started;
    } catch {
      player.stop();
      onFailed();
    }
  }

  function choose(choice) {
    player.stop();
    for (const button of [play, ...choices]) button.disabled = true;
    onChoice(choice);
  }

  show();
  return { element, focus: () => play.focus(), dispose: player.stop };
}
