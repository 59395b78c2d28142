/** The controls that all clips of a task share: play, switch, loop, volume; and what happened when sound stopped. */
import { h, uniqueId } from "./dom.js";
import { SHORTEST_LOOP_S } from "./player.js";
import { clock } from "./texts.js";

/** `switches` says whether there is something to switch between. Keys' names are written by whoever knows them. */
export function createTransport({ player, switches, t }) {
  const volumeId = uniqueId("volume");
  const play = control("player.play_pause", "play", () => player.toggle());
  const change = switches ? control("player.switch", "switch", () => player.switchOver()) : null;
  const loop = control("player.loop", "loop_start", () => nextOfLoop(player));
  const loopState = h("span", { class: "soft small number", role: "status" });
  const mute = h("button", { type: "button", class: "button", "aria-pressed": "false", onclick: toggleMute }, t("player.mute"));
  const volume = h("input", { type: "range", id: volumeId, min: "0", max: "100", step: "1", oninput: setVolume });
  const notice = h("p", { class: "notice warning player-notice", role: "alert", hidden: true });
  const element = h(
    "div",
    { class: "transport" },
    h("div", { class: "row" }, play, change, loop, loopState),
    h("div", { class: "row volume" }, mute, h("label", { for: volumeId, class: "visually-hidden" }, t("player.volume")), volume),
    notice,
  );

  function control(text, action, onclick) {
    const hint = h("kbd", { "data-key-of": action });
    return h("button", { type: "button", class: `button ${action}`, onclick }, t(text), " ", hint);
  }

  function setVolume() {
    player.volume = Number(volume.value) / 100;
  }

  function toggleMute() {
    player.muted = !player.muted;
  }

  function show() {
    if (player.playing) say("");
    mute.setAttribute("aria-pressed", String(player.muted));
    volume.value = String(Math.round(player.volume * 100));
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
