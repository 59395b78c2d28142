import assert from "node:assert/strict";
import test from "node:test";
import { choicesOf, pointsOf } from "../../../static/js/rating/protocol.js";

test("tie and both bad are choices only where the protocol has them", () => {
  assert.deepEqual(choicesOf({}), ["A", "B"]);
  assert.deepEqual(choicesOf({ tie: true, both_bad: true }), ["A", "B", "tie", "both_bad"]);
});

test("a short whole-number range becomes points, a long or fractional one does not", () => {
  assert.deepEqual(pointsOf({ minimum: 0, maximum: 10 }).map(({ value }) => value), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  assert.deepEqual(pointsOf({ minimum: 0, maximum: 100 }), []);
  assert.deepEqual(pointsOf({ minimum: 0, maximum: 0.5 }), []);
});
