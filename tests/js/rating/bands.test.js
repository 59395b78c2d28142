/** The named stretches of a continuous scale. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { bandOf } from "../../../static/js/rating/bands.js";

const BANDS = [
  { minimum: 50, maximum: 100, label: "High" },
  { minimum: 0, maximum: 50, label: "Low" },
];

test("a value has the name of the stretch it lies in", () => {
  assert.equal(bandOf(BANDS, 12.5).label, "Low");
  assert.equal(bandOf(BANDS, 99).label, "High");
});

test("an edge belongs to the upper of two stretches, whichever comes first", () => {
  assert.equal(bandOf(BANDS, 50).label, "High");
  assert.equal(bandOf([...BANDS].reverse(), 50).label, "High");
  assert.equal(bandOf(BANDS, 0).label, "Low");
  assert.equal(bandOf(BANDS, 100).label, "High");
});

test("what is no value or off the scale has no name", () => {
  for (const value of [undefined, NaN, -1, 101]) assert.equal(bandOf(BANDS, value), null);
});
