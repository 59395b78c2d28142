import assert from "node:assert/strict";
import test from "node:test";
import { bars, decodePeaks } from "../../../static/js/player/waveform.js";

const encode = (bytes) => Buffer.from(Int8Array.from(bytes).buffer).toString("base64");

test("peaks are pairs of signed bytes", () => {
  assert.deepEqual([...decodePeaks(encode([-127, 127, -1, 0]))], [-127, 127, -1, 0]);
});

test("a bar shows the extremes of its columns", () => {
  const peaks = Int8Array.from([-10, 20, -127, 5, 0, 0, -1, 127]);
  assert.deepEqual(bars(peaks, 2), [
    [-1, 20 / 127],
    [-1 / 127, 1],
  ]);
});

test("a clip shorter than its bars repeats columns and leaves none out", () => {
  assert.equal(bars(Int8Array.from([-127, 127]), 4).filter(([low, high]) => low === -1 && high === 1).length, 4);
});

test("a clip without peaks is a flat line", () => {
  assert.deepEqual(bars(new Int8Array(0), 2), [[0, 0], [0, 0]]);
});
