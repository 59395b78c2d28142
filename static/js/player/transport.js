/** The controls that all clips of a task share: switch, loop, volume; and what happened when sound stopped. */
import { h, icon, uniqueId } from "../page/dom.js";
import { SHORTEST_LOOP_S } from "./mixer.js";
import { clock } from "../page/texts.js";

const SWITCH = "M7 7h11l-3.5-3.5L16 2l6 6-6 6-1.5-1.5L18 9H7zM17 17H6l3.5 3.5L8 22l-6-6 6-6 1.5 1.5L6 15h11z";
const LOOP = "M12 4a8 8 0 0 1 7.75 6h-2.1A6 6 0 1 0 18 13l-3-3h7v7l-2.5-2.5A8 8 0 1 1 12 4z";
const SOUND = "M4 9v6h4l5 4.5v-15L8 9zM15 8.5a4.5 4.5 0 0 1 0 7zM15 4.2a8.2 8.2 0 0 1 0 15.6v-2.2a6.1 6.1 0 0 0 0-11.2z";
const SILENT = "M4 9v6h4l5 4.5v-15L8 9zM16 9l1.4-1.4L19.5 9.7l2.1-2.1L23 9l-2.1 2.1L23 13.2l-1.4 1.4-2.1-2.1-2.1 2.1L16 13.2l2.1-2.1z";

/** `switches` says whether there is something to switch between. Keys' names are written by whoever knows them. */
export function createTransport({ player, switches, t }) {
  const volumeId = uniqueId("volume");
  const change = switches ? control("player.switch", "switch", SWITCH, () => player.switchOver()) : null;
  const loop = control("player.loop", "loop_start", LOOP, () => nextOfLoop(player));
  const loopState = h("span", { class: "soft small number", role: "status" });
  const speaker = icon(SOUND);
  const mute = h("button", { type: "button", class: "button mute", "aria-label": t("player.mute"), onclick: toggleMute }, speaker.element);
  const volume = h("input", { type: "range", id: volumeId, min: "0", max: "100", step: "1", oninput: setVolume });
  const notice = h("p", { class: "notice warning player-notice", role: "alert", hidden: true });
  const element = h(
    "div",
    { class: "transport" },
    h("div", { class: "row" }, change, loop, loopState),
    h("div", { class: "volume" }, mute, h("label", { for: volumeId, class: "visually-hidden" }, t("player.volume")), volume),
    notice,
  );

  function control(text, action, shape, onclick) {
    const hint = h("kbd", { "data-key-of": action });
    return h("button", { type: "button", class: `button ${action}`, onclick }, icon(shape).element, t(text), hint);
  }

  function setVolume() {
    player.level.volume = Number(volume.value) / 100;
  }

  function toggleMute() {
    player.level.muted = !player.level.muted;
  }

  function show() {
    if (player.playing) say("");
    mute.setAttribute("aria-pressed", String(player.level.muted));
    speaker.show(player.level.muted ? SILENT : SOUND);
    volume.value = String(Math.round(player.level.volume * 100));
    loop.setAttribute("aria-pressed", String(player.loop !== null));
    const begun = marks.get(player);
    if (player.loop) loopState.textContent = t("player.loop_on", { from: clock(player.loop[0]), to: clock(player.loop[1]) });
    else loopState.textContent = begun === undefined ? "" : t("player.loop_begun", { from: clock(begun) });
  }

  function say(text) {
    notice.textContent = text;
    notice.hidden = !text;
  }

  player.addEventListener("change", show);
  player.addEventListener("loop", show);
  player.addEventListener("state", ({ detail }) => say(t(`player.stopped.${detail.kind}`)));
  show();
  return element;
}

// Where a loop was begun that has no end yet.
const marks = new WeakMap();

/** Begin a loop here; or end the one begun. Too short to be one, it is begun anew. */
export function markLoop(player, which) {
  const here = player.position();
  if (which === "start") marks.set(player, here);
  const start = marks.get(player) ?? player.loop?.[0];
  if (which === "end" && start !== undefined && here - start >= SHORTEST_LOOP_S) {
    marks.delete(player);
    player.loop = [start, here];
  } else player.loop = null;
}

export function clearLoop(player) {
  marks.delete(player);
  player.loop = null;
}

/** The one button: start, end, off. */
function nextOfLoop(player) {
  if (player.loop) clearLoop(player);
  else markLoop(player, marks.has(player) ? "end" : "start");
}
