/**
 * Clips in tables, for those who run a study: the buttons of each row (templates/labeling_ui/data/clip.html) play its clips
 * on one clock, and a dock at the foot of the window shows their waveforms. One row has the player at a time; what it plays
 * is fetched when a button of it is first pressed.
 */
import { h } from "../page/dom.js";
import { translate } from "../page/texts.js";
import { createClipLoader, readRange } from "../player/clip_loader.js";
import { createClipRow } from "../player/clip_row.js";
import { createDecoder, createEngine } from "../player/engine.js";
import { createPlayer } from "../player/player.js";

export default function start(element) {
  const clips = createTableClips({ page: document });
  element.classList.add("clips-ready");
  element.addEventListener("click", (event) => {
    const button = event.target.closest("[data-clip]");
    if (button) clips.toggle(button);
  });
  element.playRow = (row) => clips.playRow(row);
}

/** `toggle(button)` plays or pauses a clip; `playRow(row)` the row's current clip, or its first; `stop()` closes the dock. */
export function createTableClips({ page, fetchClips = fetchJson }) {
  let engine = null;
  let decode = null;
  let shown = null; // {element, player, close}

  async function open(element) {
    if (shown?.element === element) return shown;
    stop();
    engine ??= createEngine();
    decode ??= createDecoder();
    const opened = { element, player: null, dock: null };
    shown = opened;
    mark(element, "loading", true);
    try {
      const clips = withLabels((await fetchClips(element.dataset.clips)).clips, element);
      if (shown !== opened) return null;
      const renew = async () => ({});
      const loader = createClipLoader({
        clips: clips.map((clip) => ({ ...clip, eager: false })), read: readRange, decode, renew,
      });
      opened.player = createPlayer({ engine, loader, clips });
      opened.dock = createDock({ clips, player: opened.player, title: element.dataset.clipsTitle ?? "", onClose: stop, page });
      follow(element, opened.player, clips);
    } catch (error) {
      if (shown === opened) stop();
      showFailure(element);
      console.error(error);
      return null;
    } finally {
      mark(element, "loading", false);
    }
    return opened;
  }

  function stop() {
    const closing = shown;
    shown = null;
    closing?.player?.pause();
    closing?.player?.dispose();
    closing?.dock?.remove();
    page.documentElement.classList.remove("has-clip-dock");
  }

  async function toggle(button) {
    const opened = await open(button.closest("[data-clips]"));
    const player = opened?.player;
    if (!player) return;
    const { clip } = button.dataset;
    if (player.current === clip && player.playing) player.pause();
    else player.play(clip);
  }

  async function playRow(row) {
    const element = row.querySelector("[data-clips]");
    const first = element?.querySelector("[data-clip]");
    if (!first) return false;
    if (shown?.element !== element || !shown.player) return toggle(first).then(() => true);
    shown.player.toggle();
    return true;
  }

  return { toggle, playRow, stop };
}

/** The row's buttons name its clips in the reader's language. */
function withLabels(clips, element) {
  return clips.map((clip) => {
    const button = element.querySelector(`[data-clip="${clip.name}"]`);
    return { ...clip, label: button?.dataset.clipLabel ?? clip.label };
  });
}

/** The buttons of the row show what plays, and how far it is. */
function follow(element, player, clips) {
  const buttons = new Map([...element.querySelectorAll("[data-clip]")].map((button) => [button.dataset.clip, button]));
  const durations = new Map(clips.map(({ name, duration }) => [name, duration]));
  const showState = () => {
    for (const [name, button] of buttons) {
      const playing = player.current === name && player.playing;
      button.classList.toggle("playing", playing);
      button.querySelector(".visually-hidden").textContent = playing ? translate("Pause") : translate("Play");
    }
  };
  const showTime = (name) => {
    const share = player.position(name) / (durations.get(name) || 1);
    buttons.get(name)?.style.setProperty("--played", String(Math.min(1, share)));
  };
  player.addEventListener("change", showState);
  player.addEventListener("time", ({ detail }) => showTime(detail.name));
  showState();
}

function createDock({ clips, player, title, onClose, page }) {
  const close = h("button", { type: "button", class: "button", onclick: onClose }, translate("Close"));
  const rows = clips.map((clip) =>
    h("div", { class: "dock-clip" }, h("span", { class: "dock-label" }, clip.label), createClipRow({ clip, mark: "", label: clip.label, player })),
  );
  const dock = h(
    "section",
    { class: "clip-dock", "aria-label": translate("Player") },
    h("div", { class: "dock-head" }, h("b", {}, title), close),
    h("div", { class: "dock-clips" }, rows),
  );
  page.body.append(dock);
  page.documentElement.classList.add("has-clip-dock");
  return dock;
}

function mark(element, name, isOn) {
  element.classList.toggle(name, isOn);
}

function showFailure(element) {
  const notice = h("span", { class: "problem", role: "alert" }, translate("The clips could not be loaded. Try again."));
  element.querySelector(".problem")?.remove();
  element.append(notice);
}

export async function fetchJson(url) {
  const response = await fetch(url, { headers: { Accept: "application/json" }, credentials: "same-origin" });
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  return response.json();
}
