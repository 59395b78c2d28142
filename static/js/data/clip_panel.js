/**
 * All clips of one item on one clock, for those who run the study: a row with a waveform for each, in place. Sound is
 * fetched when a clip is first played.
 */
import { h } from "../page/dom.js";
import { translate } from "../page/texts.js";
import { createClipLoader, readRange } from "../player/clip_loader.js";
import { createClipRow } from "../player/clip_row.js";
import { createDecoder, createEngine } from "../player/engine.js";
import { createPlayer } from "../player/player.js";
import { fetchJson } from "./clips.js";

const TITLES = { reference: translate("Reference clip"), recording: translate("Recording") };

export default async function start(element) {
  let clips;
  try {
    ({ clips } = await fetchJson(element.dataset.clips));
  } catch (error) {
    console.error(error);
    element.replaceChildren(h("p", { class: "problem", role: "alert" }, translate("The clips could not be loaded. Try again.")));
    return;
  }
  const loader = createClipLoader({
    clips: clips.map((clip) => ({ ...clip, eager: false })), read: readRange, decode: createDecoder(), renew: async () => ({}),
  });
  const player = createPlayer({ engine: createEngine(), loader, clips });
  element.replaceChildren(...clips.map((clip) => namedRow(clip, player)));
}

function namedRow(clip, player) {
  const label = TITLES[clip.label] ?? clip.label;
  return h("div", { class: "panel-clip" }, h("span", { class: "panel-clip-name" }, label), createClipRow({ clip, mark: "", label, player }));
}
