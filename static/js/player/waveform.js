/** Waveform: a slider drawn from the server's peaks, to seek in and to select a loop. */
import { h } from "../page/dom.js";
import { clockOf } from "../page/texts.js";

const BARS = 160;
const HEIGHT = 100;
const QUIETEST = 0.02; // silence is drawn as a line, not as nothing

/**
 * `onSeek(seconds)` is called for clicks, drags and keys, `onLoop([from, to])` for drags with the shift key held;
 * `show(seconds)` draws the playback position, `showLoop(range)` the loop.
 */
export function createWaveform({ peaks, duration, label, valueText, onSeek, onLoop }) {
  const outline = outlineOf(peaks);
  const playedDrawing = drawing(outline, "heard");
  const region = h("div", { class: "loop-region", hidden: true });
  const element = h(
    "div",
    {
      class: "waveform",
      dir: "ltr", // time runs to the right in every language
      role: "slider",
      tabindex: "0",
      "aria-label": label,
      "aria-valuemin": "0",
      "aria-valuemax": duration.toFixed(1),
      onkeydown: byKey,
      onpointerdown: byPointer,
    },
    region,
    drawing(outline, "whole"),
    playedDrawing,
  );
  let position = 0;
  let announcedSecond = -1;

  function show(seconds) {
    position = seconds;
    const share = duration ? Math.min(1, seconds / duration) : 0;
    playedDrawing.style.clipPath = `inset(0 ${100 * (1 - share)}% 0 0)`;
    if (Math.floor(seconds) === announcedSecond) return;
    announcedSecond = Math.floor(seconds);
    element.setAttribute("aria-valuenow", seconds.toFixed(1));
    element.setAttribute("aria-valuetext", valueText(...clockOf(seconds, duration)));
  }

  function byKey(event) {
    const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in steps) onSeek(position + steps[event.key]);
    else if (event.key === "Home") onSeek(0);
    else if (event.key === "End") onSeek(duration);
    else return;
    event.preventDefault();
  }

  function byPointer(event) {
    if (event.button !== 0) return;
    element.setPointerCapture(event.pointerId);
    const at = ({ clientX }) => {
      const box = element.getBoundingClientRect();
      return Math.min(Math.max(0, (clientX - box.left) / box.width), 1) * duration;
    };
    const start = at(event);
    const selectLoop = (end) => onLoop([Math.min(start, end), Math.max(start, end)]);
    const follow = (move) => (event.shiftKey ? selectLoop(at(move)) : onSeek(at(move)));
    follow(event);
    element.addEventListener("pointermove", follow);
    element.addEventListener("lostpointercapture", () => element.removeEventListener("pointermove", follow), {
      once: true,
    });
  }

  function showLoop(range) {
    region.hidden = !range || !duration;
    if (region.hidden) return;
    const share = (seconds) => (100 * Math.min(seconds, duration)) / duration;
    region.style.insetInlineStart = `${share(range[0])}%`;
    region.style.width = `${share(range[1]) - share(range[0])}%`;
  }

  show(0);
  return { element, show, showLoop };
}

/** One thin rectangle per bar, as SVG path data. */
function outlineOf(peaks) {
  return bars(decodePeaks(peaks), BARS)
    .map(([low, high], index) => {
      const top = (HEIGHT / 2) * (1 - Math.max(high, QUIETEST));
      const bottom = (HEIGHT / 2) * (1 - Math.min(low, -QUIETEST));
      return `M${index + 0.15} ${top.toFixed(1)}h.7V${bottom.toFixed(1)}h-.7z`;
    })
    .join("");
}

function drawing(outline, className) {
  const namespace = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(namespace, "svg");
  const path = document.createElementNS(namespace, "path");
  path.setAttribute("d", outline);
  svg.setAttribute("viewBox", `0 0 ${BARS} ${HEIGHT}`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", className);
  svg.append(path);
  return svg;
}

/** Peaks as the server makes them: pairs of signed bytes (lowest, highest) per column, 127 at full scale. Pure. */
export function decodePeaks(base64) {
  return Int8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

/** `n` bars from any number of columns: the extremes of each bar's columns, as [low, high] from -1 to 1. Pure. */
export function bars(peaks, n) {
  const columns = peaks.length / 2;
  return Array.from({ length: n }, (_, bar) => {
    const from = Math.min(columns - 1, Math.floor((bar * columns) / n));
    const to = Math.max(from + 1, Math.floor(((bar + 1) * columns) / n));
    let low = 127;
    let high = -127;
    for (let column = from; column < to && column < columns; column += 1) {
      low = Math.min(low, peaks[2 * column]);
      high = Math.max(high, peaks[2 * column + 1]);
    }
    return columns ? [low / 127, high / 127] : [0, 0];
  });
}
