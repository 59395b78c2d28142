import assert from "node:assert/strict";
import { test } from "node:test";
import { bandOf, insertWord } from "../../../static/js/rating/answer_controls.js";

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

test("a word goes in at the caret with the spaces around it", () => {
  assert.deepEqual(insertWord("", 0, 0, "harsh"), { text: "harsh", caret: 5 });
  assert.deepEqual(insertWord("A is", 4, 4, "harsh"), { text: "A is harsh", caret: 10 });
  assert.deepEqual(insertWord("A is , B is not", 5, 5, "harsh"), { text: "A is harsh, B is not", caret: 10 });
  assert.deepEqual(insertWord("at here", 3, 3, "@0:20"), { text: "at @0:20 here", caret: 9 });
});

test("a word replaces what is selected", () => {
  assert.deepEqual(insertWord("A is xxx now", 5, 8, "harsh"), { text: "A is harsh now", caret: 10 });
});
