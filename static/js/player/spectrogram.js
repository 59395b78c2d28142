/** A clip's spectrogram under its waveform: fetched when it comes into view, with a cursor that follows the player. */
import { colourMap } from "./colour_map.js";
import { h } from "../page/dom.js";

const WIDTH = 800;
const HEIGHT = 128;
const SHOWN = "concord:spectrograms";
let colours = null;

/** `clip.spectrogram` is where its grey levels are: HEIGHT rows of WIDTH bytes. For the eye only. */
export function createSpectrogram({ clip, player, t }) {
  const canvas = h("canvas", { width: WIDTH, height: HEIGHT });
  const cursor = h("div", { class: "spectrogram-cursor" });
  const problem = h("p", { class: "problem", hidden: true }, t("spectrogram.failed"));
  const element = h("div", { class: "spectrogram", dir: "ltr", "aria-hidden": "true" }, canvas, cursor, problem);
  const watch = new IntersectionObserver(([{ isIntersecting }]) => isIntersecting && load());
  watch.observe(element);

  async function load() {
    watch.disconnect();
    try {
      const response = await fetch(clip.spectrogram, { redirect: "error" });
      if (!response.ok) throw new Error(`HTTP ${response.status}`);
      paint(canvas, new Uint8Array(await response.arrayBuffer()));
      problem.hidden = true;
    } catch {
      problem.hidden = false;
      watch.observe(element); // hidden and shown again, it is asked for again
    }
  }

  const follow = () => {
    cursor.style.insetInlineStart = `${clip.duration ? (100 * player.position(clip.name)) / clip.duration : 0}%`;
  };
  player.addEventListener("time", ({ detail }) => detail.name === clip.name && follow());
  follow();
  return element;
}

function paint(canvas, grey) {
  colours ??= colourMap();
  const context = canvas.getContext("2d");
  const image = context.createImageData(WIDTH, HEIGHT);
  grey.forEach((level, at) => image.data.set([...colours[level], 255], 4 * at));
  context.putImageData(image, 0, 0);
}

/** Shows or hides all spectrograms of the page at once, and remembers which. `offer(is)`: whether this task has any. */
export function createSpectrogramSwitch(button, { storage = globalThis.localStorage, root = document.documentElement } = {}) {
  let on = false;
  try {
    on = storage.getItem(SHOWN) === "1";
  } catch {
    // hidden then, as on a first visit
  }

  function show() {
    root.dataset.spectrograms = on ? "shown" : "hidden";
    button.setAttribute("aria-pressed", String(on));
  }

  function toggle() {
    on = !on;
    show();
    try {
      storage.setItem(SHOWN, on ? "1" : "0");
    } catch {
      // the choice then holds for this page only
    }
  }

  button.addEventListener("click", toggle);
  show();
  return {
    toggle,
    offer: (is) => (button.hidden = !is),
    get offered() {
      return !button.hidden;
    },
  };
}

/** Whether a task has any to show. */
export function hasSpectrograms({ content, candidates }) {
  return [...content, ...candidates].some(({ clip }) => clip?.spectrogram);
}
