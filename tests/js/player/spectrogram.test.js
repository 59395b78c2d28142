import assert from "node:assert/strict";
import test from "node:test";
import { colourMap } from "../../../static/js/player/spectrogram.js";

/** Lightness as in CIELAB, 0 to 100. */
function lightness(rgb) {
  const [r, g, b] = rgb.map((byte) => {
    const share = byte / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  const luminance = 0.2126 * r + 0.7152 * g + 0.0722 * b;
  return luminance > 0.008856 ? 116 * Math.cbrt(luminance) - 16 : 903.3 * luminance;
}

test("every level has a colour of whole bytes", () => {
  const colours = colourMap();
  assert.equal(colours.length, 256);
  assert.ok(colours.flat().every((byte) => Number.isInteger(byte) && byte >= 0 && byte <= 255));
});

test("a higher level is never darker, and equal steps look about equal", () => {
  const levels = colourMap().map(lightness);
  const sixteenths = Array.from({ length: 15 }, (_, n) => levels[17 * (n + 1)] - levels[17 * n]);
  assert.ok(sixteenths.every((step) => step > 3 && step < 9), sixteenths.map((step) => step.toFixed(1)).join(" "));
  assert.ok(levels[0] < 8 && levels[255] > 90);
});
