import assert from "node:assert/strict";
import test from "node:test";
import { answerRows, choicesOf, pointsOf } from "../../../static/js/rating/protocol.js";

test("tie and both bad are choices only where the protocol has them", () => {
  assert.deepEqual(choicesOf({}), ["A", "B"]);
  assert.deepEqual(choicesOf({ tie: true, both_bad: true }), ["A", "B", "tie", "both_bad"]);
});

test("a short whole-number range becomes points, a long or fractional one does not", () => {
  assert.deepEqual(pointsOf({ minimum: 0, maximum: 10 }).map(({ value }) => value), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  assert.deepEqual(pointsOf({ minimum: 0, maximum: 100 }), []);
  assert.deepEqual(pointsOf({ minimum: 0, maximum: 0.5 }), []);
});

const COMPARISON = { questions: [{ kind: "preference" }], codes: [{ key: "Q" }], candidate: "clip" };
const VERDICT = { questions: [{ kind: "correctness", points: [] }] };

test("the list tells the answers' keys from the protocol alone", () => {
  const texts = (definition) => answerRows(definition).map(({ text }) => text);
  assert.deepEqual(texts(COMPARISON), ["keys.choose", "keys.codes", "keys.candidate"]);
  assert.deepEqual(texts(VERDICT), ["keys.verdict"]);
  const tied = { questions: [{ kind: "preference", tie: true, both_bad: true, confidence: { points: [] } }] };
  assert.deepEqual(texts(tied), ["keys.choose", "answer.tie", "answer.both_bad", "keys.point"]);
  assert.deepEqual(texts({ questions: [{ kind: "rating", minimum: 0, maximum: 10 }] }), ["keys.point", "keys.ten"]);
  assert.deepEqual(texts({ questions: [{ kind: "rating", minimum: 0, maximum: 100 }] }), []);
});
