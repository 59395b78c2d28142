/** Spectrogram of a clip under its waveform: fetched when it comes into view, with a cursor that follows the player. */
import { h } from "../page/dom.js";
import { safeStorage } from "../page/storage.js";
import { translate } from "../page/texts.js";

const WIDTH = 800;
const HEIGHT = 128;
const STORAGE_KEY = "concord:spectrograms";
let colours = null;

/** `clip.spectrogram` is the address of its grey levels: HEIGHT rows of WIDTH bytes. Hidden from screen readers. */
export function createSpectrogram({ clip, player }) {
  const canvas = h("canvas", { width: WIDTH, height: HEIGHT });
  const cursor = h("div", { class: "spectrogram-cursor" });
  const problem = h("p", { class: "problem", hidden: true }, translate("The spectrogram could not be loaded. Hide it and show it again."));
  const element = h("div", { class: "spectrogram", dir: "ltr", "aria-hidden": "true" }, canvas, cursor, problem);
  const observer = new IntersectionObserver(([{ isIntersecting }]) => isIntersecting && load());
  observer.observe(element);

  async function load() {
    observer.disconnect();
    try {
      const response = await fetch(clip.spectrogram, { redirect: "error" });
      if (!response.ok) throw new Error(`HTTP ${response.status}`);
      paint(canvas, new Uint8Array(await response.arrayBuffer()));
      problem.hidden = true;
    } catch {
      problem.hidden = false;
      observer.observe(element); // hidden and shown again, it is fetched again
    }
  }

  const moveCursor = () => {
    cursor.style.insetInlineStart = `${clip.duration ? (100 * player.position(clip.name)) / clip.duration : 0}%`;
  };
  player.addEventListener("time", ({ detail }) => detail.name === clip.name && moveCursor());
  moveCursor();
  return element;
}

function paint(canvas, levels) {
  colours ??= colourMap();
  const context = canvas.getContext("2d");
  const image = context.createImageData(WIDTH, HEIGHT);
  levels.forEach((level, at) => image.data.set([...colours[level], 255], 4 * at));
  context.putImageData(image, 0, 0);
}

/** Shows or hides all spectrograms of the page, and stores the choice. `setAvailable(is)`: whether this task has any. */
export function createSpectrogramSwitch(button, { localStorage = globalThis.localStorage, root = document.documentElement } = {}) {
  const storage = safeStorage(localStorage);
  let isShown = storage.getText(STORAGE_KEY) === "1";

  function show() {
    root.dataset.spectrograms = isShown ? "shown" : "hidden";
    button.setAttribute("aria-pressed", String(isShown));
  }

  function toggle() {
    isShown = !isShown;
    show();
    storage.setText(STORAGE_KEY, isShown ? "1" : "0");
  }

  button.addEventListener("click", toggle);
  show();
  return {
    toggle,
    setAvailable: (isAvailable) => (button.hidden = !isAvailable),
    get isAvailable() {
      return !button.hidden;
    },
  };
}

/** Whether a task has spectrograms. */
export function hasSpectrograms({ content, candidates }) {
  return [...content, ...candidates].some(({ clip }) => clip?.spectrogram);
}

/**
 * Colour map for grey levels, from night blue over teal to pale yellow. Lightness and hue move evenly in Oklab (Ottosson
 * 2020), so that equal steps of level look equal; lightness alone tells the order, to the colour-blind too. Pure.
 */
const DARKEST = 0.16;
const LIGHTEST = 0.96;
const CHROMA = 0.13;
const [FIRST_HUE, LAST_HUE] = [275, 95]; // degrees

/** 256 colours as [red, green, blue], 0 to 255. */
export function colourMap() {
  return Array.from({ length: 256 }, (_, level) => colour(level / 255));
}

function colour(share) {
  const lightness = DARKEST + (LIGHTEST - DARKEST) * share;
  const hue = ((FIRST_HUE + (LAST_HUE - FIRST_HUE) * share) * Math.PI) / 180;
  // Less colour at both ends, where screens have less to give.
  const chroma = CHROMA * Math.sin(Math.PI * (0.15 + 0.7 * share));
  return fromOklab(lightness, chroma * Math.cos(hue), chroma * Math.sin(hue));
}

function fromOklab(lightness, a, b) {
  const long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const short = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
    -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
    -0.0041960863 * long - 0.7034186147 * medium + 1.707614701 * short,
  ].map(encode);
}

/** Linear light to the byte a screen wants (sRGB). */
function encode(linear) {
  const light = Math.min(1, Math.max(0, linear));
  return Math.round(255 * (light <= 0.0031308 ? 12.92 * light : 1.055 * light ** (1 / 2.4) - 0.055));
}
