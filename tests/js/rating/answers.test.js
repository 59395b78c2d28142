import assert from "node:assert/strict";
import test from "node:test";
import { isComplete, placeOf, problemsOf, toAnswers } from "../../../static/js/rating/answers.js";
import { asksOf } from "../../../static/js/rating/protocol.js";
import { comparison, panel, rating } from "./protocols.js";

const pair = asksOf(comparison, 2);
const complete = {
  alignment: { choice: "A", confidence: 4 },
  musicality: { choice: "B", confidence: 2 },
  evidence: { text: " A keeps time. " },
};
const found = (asks, values, codes = []) => problemsOf(asks, values, codes).map(({ ask, part, message }) => [ask, part, message]);

test("a complete comparison is sent as the API takes it", () => {
  assert.deepEqual(problemsOf(pair, complete, []), []);
  assert.deepEqual(toAnswers(pair, complete), [
    { question: "alignment", choice: "A", confidence: 4 },
    { question: "musicality", choice: "B", confidence: 2 },
    { question: "evidence", text: "A keeps time." },
  ]);
});

test("everything that is missing is named, in the order of the page", () => {
  const values = { alignment: { choice: "A" }, evidence: { text: "  " } };
  assert.deepEqual(found(pair, values), [
    ["alignment", "confidence", "missing.confidence"],
    ["musicality", "main", "missing.choice"],
    ["evidence", "main", "missing.text"],
  ]);
});

test("a confidence without a choice is not sent and asks for the choice", () => {
  const values = { ...complete, alignment: { confidence: 3 } };
  assert.deepEqual(found(pair, values), [["alignment", "main", "missing.choice"]]);
  assert.equal(toAnswers(pair, values).length, 2);
});

test("a code that excuses from a question makes its absence valid", () => {
  const asks = asksOf(rating, 1);
  assert.deepEqual(found(asks, {}, ["A"]), [["correctness", "main", "missing.value_or_code"]]);
  assert.deepEqual(found(asks, {}, ["U"]), []);
  assert.deepEqual(toAnswers(asks, {}), []);
});

test("a question asked of each candidate carries its position", () => {
  const asks = asksOf(panel, 2);
  assert.deepEqual(asks.map(({ id }) => id), ["correct.0", "correct.1", "quality"]);
  const values = { "correct.0": { value: 0 }, "correct.1": { value: 1 } };
  assert.deepEqual(toAnswers(asks, values), [
    { question: "correct", position: 0, value: 0 },
    { question: "correct", position: 1, value: 1 },
  ]);
});

test("a question that may be left out is not missed, but its range is kept", () => {
  const asks = asksOf(panel, 2).slice(2);
  assert.deepEqual(found(asks, {}), []);
  assert.deepEqual(found(asks, { quality: { value: 101 } }), [["quality", "main", "missing.number"]]);
});

test("an ask is complete only with its confidence", () => {
  assert.equal(isComplete(pair[0], { choice: "A" }), false);
  assert.equal(isComplete(pair[0], { choice: "A", confidence: 1 }), true);
  assert.equal(isComplete(pair[2], { text: " " }), false);
});

test("the API's complaints find their place on the page", () => {
  const sent = toAnswers(pair, complete);
  assert.deepEqual(placeOf("answers[1].confidence", sent), { ask: "musicality", part: "confidence" });
  assert.deepEqual(placeOf("answers[0].choice", sent), { ask: "alignment", part: "main" });
  assert.deepEqual(placeOf("answers[0]", [{ question: "correct", position: 1 }]), { ask: "correct.1", part: "main" });
  assert.deepEqual(placeOf("codes[0]", sent), { ask: null, part: "codes" });
  assert.equal(placeOf("answers", sent), null);
  assert.equal(placeOf("telemetry", sent), null);
});
