/** Transport: the playback controls that all clips of a task share (switch, loop, volume), and why playback stopped. */
import { h, icon, uniqueId } from "../page/dom.js";
import { clock, translate } from "../page/texts.js";
import { SHORTEST_LOOP_S } from "./mixer.js";

/** Why the player stopped, or did not start. */
const STOPPED = {
  locked: translate("Read the instruction first; then the clips can be played."),
  blocked: translate("Your device blocked the sound. Press play again."),
  hidden: translate("Paused while this page was in the background. Press play to continue."),
  interrupted: translate("Your device interrupted the sound, perhaps for a call. Press play to continue."),
  device: translate("Paused: headphones or speakers were plugged in or out. Check them, then press play."),
  silent: translate("Playback stopped unexpectedly, so the clip was paused. Press play to try again."),
  broken: translate("The player failed. Reload the page: your answers stay."),
};

const SWITCH = "M7 7h11l-3.5-3.5L16 2l6 6-6 6-1.5-1.5L18 9H7zM17 17H6l3.5 3.5L8 22l-6-6 6-6 1.5 1.5L6 15h11z";
const LOOP = "M12 4a8 8 0 0 1 7.75 6h-2.1A6 6 0 1 0 18 13l-3-3h7v7l-2.5-2.5A8 8 0 1 1 12 4z";
const SOUND = "M4 9v6h4l5 4.5v-15L8 9zM15 8.5a4.5 4.5 0 0 1 0 7zM15 4.2a8.2 8.2 0 0 1 0 15.6v-2.2a6.1 6.1 0 0 0 0-11.2z";
const SILENT = "M4 9v6h4l5 4.5v-15L8 9zM16 9l1.4-1.4L19.5 9.7l2.1-2.1L23 9l-2.1 2.1L23 13.2l-1.4 1.4-2.1-2.1-2.1 2.1L16 13.2l2.1-2.1z";

/** `switches`: whether there are clips to switch between. Key hints are filled in by the key dialog. */
export function createTransport({ player, switches }) {
  const volumeId = uniqueId("volume");
  const switchButton = switches ? control(translate("Switch"), "switch", SWITCH, () => player.switchOver()) : null;
  const loopButton = control(translate("Loop"), "loop_start", LOOP, () => advanceLoop(player));
  const loopState = h("span", { class: "soft small number", role: "status" });
  const muteIcon = icon(SOUND);
  const muteAttributes = { type: "button", class: "button mute", "aria-label": translate("Mute"), onclick: toggleMute };
  const muteButton = h("button", muteAttributes, muteIcon.element);
  const volumeSlider = h("input", { type: "range", id: volumeId, min: "0", max: "100", step: "1", oninput: setVolume });
  const notice = h("p", { class: "notice warning player-notice", role: "alert", hidden: true });
  const element = h(
    "div",
    { class: "transport" },
    h("div", { class: "row" }, switchButton, loopButton, loopState),
    h(
      "div",
      { class: "volume" },
      muteButton,
      h("label", { for: volumeId, class: "visually-hidden" }, translate("Volume")),
      volumeSlider,
    ),
    notice,
  );

  function control(text, action, shape, onclick) {
    const hint = h("kbd", { "data-key-of": action });
    return h("button", { type: "button", class: `button ${action}`, onclick }, icon(shape).element, text, hint);
  }

  function setVolume() {
    player.level.volume = Number(volumeSlider.value) / 100;
  }

  function toggleMute() {
    player.level.muted = !player.level.muted;
  }

  function show() {
    if (player.playing) showNotice("");
    muteButton.setAttribute("aria-pressed", String(player.level.muted));
    muteIcon.show(player.level.muted ? SILENT : SOUND);
    volumeSlider.value = String(Math.round(player.level.volume * 100));
    loopButton.setAttribute("aria-pressed", String(player.loop !== null));
    const loopStart = loopStarts.get(player);
    if (player.loop) loopState.textContent = translate("Repeating {from} to {to}", { from: clock(player.loop[0]), to: clock(player.loop[1]) });
    else loopState.textContent = loopStart === undefined ? "" : translate("Loop begins at {from}: press again where it ends", { from: clock(loopStart) });
  }

  function showNotice(text) {
    notice.textContent = text;
    notice.hidden = !text;
  }

  player.addEventListener("change", show);
  player.addEventListener("loop", show);
  player.addEventListener("state", ({ detail }) => showNotice(STOPPED[detail.kind]));
  show();
  return element;
}

// The start of a loop that has no end yet, by player.
const loopStarts = new WeakMap();

/** Start a loop at the playback position, or end it there. One that would be too short stays open. */
export function markLoop(player, which) {
  const position = player.position();
  if (which === "start") loopStarts.set(player, position);
  const start = loopStarts.get(player) ?? player.loop?.[0];
  if (which === "end" && start !== undefined && position - start >= SHORTEST_LOOP_S) {
    loopStarts.delete(player);
    player.loop = [start, position];
  } else player.loop = null;
}

export function clearLoop(player) {
  loopStarts.delete(player);
  player.loop = null;
}

/** The loop button: start, end, off. */
function advanceLoop(player) {
  if (player.loop) clearLoop(player);
  else markLoop(player, loopStarts.has(player) ? "end" : "start");
}
